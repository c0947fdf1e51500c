"""Each sign of filler alone: repetition, nothing of one's own, silence on the label."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from affect.taxonomy import DAR_AFFECT_CUES, speaks_of
from rewards import filler as filler_module
from rewards.constants import HardenedConstants
from rewards.filler import (
    ReasonProfile,
    is_filler,
    profile_reason,
    prompt_share,
    prompt_share_bound,
)
from rewards.words import split_words

REFERENCE = (
    "A dog leaps after the ball, misses it and slides into the snow, so the viewer laughs at its "
    "surprised face."
)


def filler(reason: str, emotion: str = "Amusement", reference: str = REFERENCE) -> bool:
    return is_filler(
        profile_reason(reason, split_words(reason), emotion),
        profile_reason(reference, split_words(reference), emotion),
    )


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        (REFERENCE, False),
        ("A cat tips the vase over and looks away, which is funny.", False),
        ("the " * 120, True),
        ("", True),
        ("Amusement", True),
        ("The viewer feels amused because the scene makes the audience laugh.", True),
        ("This is the moment in which the video shows something that amuses us.", True),
        ("A cat tips the vase over and looks away.", True),  # silent on amusement
        ("The cat jumps and it is funny. " * 5, True),  # three-word sequences again and again
        # 12 words in 40 places, shuffled so that sequences differ: 12/40 = .3 distinct
        (
            "cat vase funny tips cat away vase tips looks funny away cat looks vase floor tips "
            "red funny floor cat red vase away table looks red cat table tips funny table vase "
            "lamp cat floor lamp red away lamp funny",
            True,
        ),
    ],
)
def test_filler(reason: str, expected: bool) -> None:
    assert filler(reason) is expected


def test_hyphenated_cues_are_heard_although_their_parts_are_single_words() -> None:
    hyphenated = [
        (stem, emotion)
        for emotion, stems in DAR_AFFECT_CUES.items()
        for stem in sorted(stems)
        if "-" in stem
    ]
    assert hyphenated
    for stem, emotion in hyphenated:
        assert profile_reason(stem, split_words(stem), emotion).speaks_of_label, stem


@pytest.mark.parametrize(
    "reference", ["the " * 30, "Amusement", "A cat tips the vase over.", "...", "The cat. " * 9]
)
def test_the_reference_is_never_filler(reference: str) -> None:
    assert filler(reference, reference=reference) is False


def test_a_poor_reference_lowers_only_what_it_lacks() -> None:
    silent = "A cat tips the vase over and looks away."
    assert filler("A dog digs holes near the fence.", reference=silent) is False
    assert filler("the " * 30, reference=silent) is True


def test_profile_of_a_reason() -> None:
    reason = "The dog, the dog laughs."
    found = profile_reason(reason, split_words(reason), "Amusement")
    assert found.num_words == 5
    assert found.word_set == {"the", "dog", "laughs"}
    assert found.distinct_share == 0.6
    # the-dog-the, dog-the-dog, the-dog-laughs: none stands twice, none is of known words alone
    assert found.repeated_share == found.known_share == 0.0
    assert found.num_specific_words == 1  # dog; "the" is a function word, "laughs" the cue
    assert found.speaks_of_label
    assert profile_reason("", [], "Amusement").distinct_share == 0.0


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("one two three four", 1.0),
        ("zero one two three four", 0.5),  # 0123 no, 1234 yes
        ("four three two one", 0.0),
        ("one two three", 0.0),  # too short to have a sequence
        ("", 0.0),
    ],
)
def test_prompt_share(reason: str, expected: float) -> None:
    assert prompt_share(split_words(reason), "One, two, three, four, five!") == expected
    assert prompt_share(split_words(reason), "") == 0.0


WORDS = st.lists(
    st.sampled_from(
        ["the", "a", "viewer", "joy", "rock'n'joy", "fun-loving", "laugh", "dog", "x5"]
    ),
    max_size=14,
).map(" ".join)


def profile(reason: str) -> ReasonProfile:
    return profile_reason(reason, split_words(reason), "Joy")


@settings(deadline=None)
@given(WORDS | st.text(max_size=20))
def test_cues_are_heard_in_the_text_and_in_its_words(reason: str) -> None:
    words = split_words(reason)
    heard = speaks_of(reason, "Joy") or any(speaks_of(word, "Joy") for word in words)
    assert profile(reason).speaks_of_label == heard


@pytest.mark.parametrize("number", range(20))
def test_a_cue_is_heard_among_any_other_words(number: int) -> None:
    filler_module._cue_words.cache_clear()
    others = " ".join(f"dog{number}x{index}" for index in range(12))
    assert profile(f"{others} rock'n'joy").speaks_of_label
    assert profile(f"{others} joy-ride").speaks_of_label
    assert not profile(others).speaks_of_label


def test_cues_are_heard_however_many_words_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filler_module, "_MAX_KNOWN_WORDS", 3)
    filler_module._cue_words.cache_clear()
    cues = filler_module._cue_words("Joy")
    for _ in range(2):
        for reason in ("one two three four five six joy", "one two three four", "joy", "happy one"):
            assert profile(reason).speaks_of_label == ("joy" in reason or "happy" in reason)
            assert len(cues) <= 3
            assert cues.found == {word for word, speaks in cues.items() if speaks}
    filler_module._cue_words.cache_clear()


REPETITIVE = st.lists(st.sampled_from("abcdef"), max_size=20).map(" ".join)


@settings(max_examples=300, deadline=None)
@example("a b c d e f g h a b c i j", "", 0.05)  # 1 of 11 stands twice
@given(REPETITIVE, REPETITIVE, st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.3, 0.5]))
def test_repeats_are_filler_however_they_are_found(reason: str, other: str, limit: float) -> None:
    """Sequences are only compared where known words make it possible; here always."""
    found, reference = profile(reason), profile(other)
    constants = HardenedConstants(
        max_repeated_share=limit, min_distinct_share=0.0, min_specific_words=0
    )
    expected = found.repeated_share > max(limit, reference.repeated_share)
    assert is_filler(found, reference, constants) == expected


def test_bound_of_the_share_in_the_prompt() -> None:
    words = ["one", "two", "three", "four", "nine"]
    assert prompt_share(words, "one two three four") == 0.5
    assert prompt_share_bound(words, "one two three four") == 2.0  # four words, two sequences
    assert prompt_share_bound(words, "nine") == 0.5
    assert prompt_share_bound(words, "") == prompt_share_bound(words[:3], "one") == 0.0


PHRASES = st.lists(st.sampled_from(["one two three four", "two three", "five", "four"]), max_size=6)


@settings(deadline=None)
@given(PHRASES.map(" ".join).map(split_words))
def test_the_share_in_the_prompt_is_bounded(words: list[str]) -> None:
    for prompt in ("", "one two", "One, two, three, four!", "one two three four one two three"):
        assert prompt_share(words, prompt) <= prompt_share_bound(words, prompt)
