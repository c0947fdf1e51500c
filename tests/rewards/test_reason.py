"""Equation 8 by hand, and what the hardened term pays for a reason."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards import reason
from rewards.filler import profile_reason
from rewards.reason import length_worth
from rewards.words import distinct_words, jaccard
from tests.rewards.builders import FEAR, JOY, compare, long_reason, reply_text, timeline

DANCE = (
    "Two children spin across the wet grass and fall over each other, and their open laughter is "
    "so free of worry that the viewer shares their joy at once."
)
SHADOW = (
    "The lamp goes out and a tall shadow slides along the wall towards the bed; nobody turns "
    "round, so the viewer is frightened for the sleeper."
)
SHORT_TRUTH = timeline((0.0, 4.0, "Joy", DANCE), (4.0, 9.0, "Fear", SHADOW))


def reasons(first: str, second: str) -> str:
    """The true segments with these reasons."""
    return reply_text((0.0, 4.0, "Joy", first), (4.0, 9.0, "Fear", second))


def words(num_words: int, topic: str) -> str:
    return long_reason(topic, num_words, topic)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (words(120, "a"), words(120, "b"), 1.0),
        # (exp(0) + exp(-|80-120|/40)) / 2 = (1 + .3678794412) / 2
        (words(120, "a"), words(80, "b"), 0.6839397206),
        # (exp(-|160-120|/40) + exp(-|240-120|/40)) / 2 = (.3678794412 + .0497870684) / 2
        (words(160, "a"), words(240, "b"), 0.2088332548),
        # A copy of the neighbour: (1 + 0) / 2
        (words(120, "a"), words(120, "a"), 0.5),
        (words(120, "a"), words(120, "a").upper(), 0.5),
        # {a,b,c} and {a,b,c,d}: Jaccard 3/4, not above .75:
        # (exp(-117/40) + exp(-116/40)) / 2 = (.0536646927 + .0550232201) / 2
        ("a b c", "a b c d", 0.0543439564),
        # {a,b,c,d} and {a,b,c,d,e}: Jaccard 4/5, above: exp(-116/40) / 2
        ("a b c d", "a b c d e", 0.0275116100),
        # Without a word: phi(0) = exp(-3); the second is like the first (Jaccard of two blanks 1)
        ("...", "???", 0.0248935342),  # (exp(-3) + 0) / 2
        ("", words(120, "b"), 0.5248935342),  # (exp(-3) + 1) / 2; blank is unlike words
        # 120 words of nothing
        ("the " * 120, "cat " * 120, 1.0),
    ],
)
def test_equation_8(first: str, second: str, expected: float) -> None:
    assert reason.paper(compare(reasons(first, second))) == pytest.approx(expected, abs=1e-9)


def test_equation_8_only_looks_at_neighbours() -> None:
    text = reply_text(
        (0.0, 3.0, "Joy", words(120, "a")),
        (3.0, 6.0, "Fear", words(120, "b")),
        (6.0, 9.0, "Joy", words(120, "a")),
    )
    assert reason.paper(compare(text)) == 1.0


def test_equation_8_without_segments() -> None:
    assert reason.paper(compare("")) == 0.0
    assert reason.hardened(compare("")) == 0.0


@pytest.mark.parametrize(
    ("num_words", "num_reference_words", "expected"),
    [
        (10, 25, 1.0),
        (25, 25, 1.0),
        (119, 25, 1.0),
        (220, 25, 1.0),
        (9, 25, 0.7165313106),  # exp(-1/3)
        (1, 25, 0.0497870684),  # exp(-9/3)
        (0, 25, 0.0356739934),  # exp(-10/3)
        (260, 25, 0.3678794412),  # exp(-40/40)
        (4, 4, 1.0),  # the reference widens the range
        (3, 4, 0.7165313106),
        (300, 300, 1.0),
        (340, 300, 0.3678794412),
    ],
)
def test_length_worth(num_words: int, num_reference_words: int, expected: float) -> None:
    worth = length_worth(num_words, num_reference_words)
    assert worth == pytest.approx(expected, abs=1e-9)


WORD_LISTS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=5)


@settings(deadline=None)
@given(WORD_LISTS, WORD_LISTS, st.data())
def test_copies_are_found_as_if_each_were_compared_with_all_others(
    word_lists: list[list[str]], true_lists: list[list[str]], data: st.DataObject
) -> None:
    sets = [set(found) for found in word_lists]
    true_sets = [set(found) for found in true_lists]
    positions = st.sets(st.integers(0, len(sets) - 1))
    paired = data.draw(positions)
    true_of = {one: data.draw(st.integers(0, len(true_sets) - 1)) for one in paired}
    asked = sorted(paired & data.draw(positions))

    def is_copy(one: int) -> bool:
        for other in set(range(len(sets))) - {one}:
            similarity = jaccard(sets[one], sets[other])
            allowed = 0.4
            if other in true_of:
                alike = jaccard(true_sets[true_of[one]], true_sets[true_of[other]])
                allowed = max(allowed, alike)
            if similarity > allowed:
                return True
        return False

    copies = reason._copies(
        asked,
        [distinct_words(found) for found in word_lists],
        true_of,
        [profile_reason(" ".join(found), found, "Joy") for found in true_lists],
        0.4,
    )
    assert copies & set(asked) == {one for one in asked if is_copy(one)}


OTHER_DANCE = (
    "Barefoot kids whirl through puddles, tumble in a heap and laugh out loud; nothing could be "
    "more careless, and their delight is catching."
)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (DANCE, SHADOW, 1.0),
        (OTHER_DANCE, SHADOW, 1.0),
        (JOY, FEAR, 1.0),  # 120 distinct words with a cue: no content is compared
        ("the " * 120, "cat " * 120, 0.0),
        ("joy " * 60, SHADOW, 0.5),
        # A sentence over and over: three-word sequences repeat.
        ("Joy is in the bright green garden with dancing children. " * 6, SHADOW, 0.5),
        (DANCE, DANCE, 0.0),  # each is a copy of the other
        (DANCE, DANCE.upper(), 0.0),
        (DANCE, DANCE + " Then comes fear.", 0.0),
        ("The viewer feels joy.", "The viewer feels fear.", 0.0),  # the label and nothing else
        ("Joy", "Fear", 0.0),
        # Says much, but nothing of joy.
        (DANCE.replace("laughter", "steps").replace("joy", "mind"), SHADOW, 0.5),
        ("\u559c\u60a6", SHADOW, 0.5),
        # 6 words, 3 of them specific: exp(-(10-6)/3) = .2635971381; (.2635971381 + 1) / 2
        ("Children whirl through puddles in joy", SHADOW, 0.6317985691),
    ],
)
def test_hardened_by_the_words(first: str, second: str, expected: float) -> None:
    comparison = compare(reasons(first, second), SHORT_TRUTH)
    assert reason.hardened(comparison) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Wrong label on the second: only the first counts, of two.
        (reply_text((0.0, 4.0, "Joy", DANCE), (4.0, 9.0, "Anger", SHADOW)), 0.5),
        # [0,1] has IoU .25 with [0,4]; [1,9] has 5/8 with [4,9].
        (reply_text((0.0, 1.0, "Joy", DANCE), (1.0, 9.0, "Fear", SHADOW)), 0.5),
        # One segment over all: right label at IoU 5/9, of max(1, 2).
        (reply_text((0.0, 9.0, "Fear", SHADOW)), 0.5),
        # A third segment: two right of max(3, 2).
        (
            reply_text(
                (0.0, 4.0, "Joy", DANCE),
                (4.0, 8.0, "Fear", SHADOW),
                (8.0, 9.0, "Joy", OTHER_DANCE),
            ),
            2 / 3,
        ),
        # The third copies the first: the first loses too.
        (
            reply_text(
                (0.0, 4.0, "Joy", DANCE), (4.0, 8.0, "Fear", SHADOW), (8.0, 9.0, "Joy", DANCE)
            ),
            1 / 3,
        ),
        (f"Answer: {reasons(DANCE, SHADOW)}", 0.0),  # fails the strict parse
    ],
)
def test_hardened_by_the_segment(text: str, expected: float) -> None:
    assert reason.hardened(compare(text, SHORT_TRUTH)) == pytest.approx(expected)


def test_a_reason_out_of_the_prompt_earns_nothing() -> None:
    prompt = f"Write segments as JSON. A good reason reads so: {DANCE} Do not write anything else."
    text = reasons(DANCE, SHADOW)
    other_truth = timeline((0.0, 4.0, "Joy", OTHER_DANCE), (4.0, 9.0, "Fear", SHADOW))
    assert reason.hardened(compare(text, other_truth)) == 1.0
    assert reason.hardened(compare(text, other_truth, prompt_text=prompt)) == 0.5
    # Unless the reference itself stands there.
    assert reason.hardened(compare(text, SHORT_TRUTH, prompt_text=prompt)) == 1.0


def test_the_truth_earns_everything_however_its_reasons_are_written() -> None:
    poor = timeline(
        (0.0, 3.0, "Joy", "ok"),
        (3.0, 6.0, "Fear", "the the the the the the the the the the the"),
        (6.0, 8.0, "Joy", "ok"),
        (8.0, 9.0, "Calmness", "\u5b89\u9759"),
        (9.0, 12.0, "Anger", "x " * 400),
    )
    assert reason.hardened(compare(poor.to_json(), poor)) == 1.0
    # What the references of two segments share is no licence for a third.
    copied = poor.to_json().replace("the the the the the the the the the the the", "ok")
    assert reason.hardened(compare(copied, poor)) < 1.0
