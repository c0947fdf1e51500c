"""Replies that try to break the terms: each earns a stated value, any other stays in [0, 1].

The truth is [0, 4] Joy, [4, 9] Fear. `GOOD` is the same with reasons of 120 words, so it earns 1.0
everywhere; each reply of the table spoils one thing in it.
"""

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from affect.parsing import parse_reply
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment, Timeline
from rewards import PRESETS, RewardSet
from rewards.constants import TERMS
from tests.rewards.builders import FEAR, JOY, TRUTH, reply_text

GOOD = reply_text((0.0, 4.0, "Joy", JOY), (4.0, 9.0, "Fear", FEAR))
NO_SEGMENT = (0.3, 0.0, 0.0, 0.0, 0.0)  # psi_len is all that is left: .3 * .10 = .03 in all
ONE_MISSING = (0.5, math.exp(-1 / 1.5), 1.0, 1.0, 1.0)  # .2 + .3; eq. 5 for a difference of 1
SPOILT_FORM = (0.5, 1.0, 1.0, 1.0, 1.0)  # .2 + .3, the rest as it was


def spoilt(**first: object) -> str:
    """`GOOD` with values of the first segment replaced by other JSON values."""
    answer = json.loads(GOOD)
    answer["segments"][0].update(first)
    return json.dumps(answer)


def raw(number: str) -> str:
    """`GOOD` with the first end written as this piece of text."""
    return GOOD.replace('"end_time": 4.0', f'"end_time": {number}', 1)


CASES: dict[str, tuple[str, tuple[float, ...]]] = {
    "empty": ("", NO_SEGMENT),
    "white space": (" \n\t ", NO_SEGMENT),
    "prose": ("I cannot view videos.", NO_SEGMENT),
    "empty object": ("{}", NO_SEGMENT),
    "empty list": ('{"segments": []}', NO_SEGMENT),
    "null list": ('{"segments": null}', NO_SEGMENT),
    "list of numbers": ('{"segments": [1, 2]}', NO_SEGMENT),
    "only the list": (json.dumps(json.loads(GOOD)["segments"]), NO_SEGMENT),
    "trailing comma": (GOOD.replace("}]}", "},]}"), NO_SEGMENT),
    "cut off": (GOOD[:-20], NO_SEGMENT),
    "curly quotes": (GOOD.replace('"', "\u201c"), NO_SEGMENT),
    "integer of 10,001 digits": (raw("1" + "0" * 10_000), ONE_MISSING),
    "many brackets": ("[" * 100_000, NO_SEGMENT),
    "many open objects": ('{"segments": [' * 20_000, NO_SEGMENT),
    "all NaN": (GOOD.replace("4.0", "NaN").replace("0.0", "NaN").replace("9.0", "NaN"), NO_SEGMENT),
    "nan as strings": (spoilt(start_time="nan", end_time="nan"), ONE_MISSING),
    "NaN end": (raw("NaN"), ONE_MISSING),
    "Infinity end": (raw("Infinity"), ONE_MISSING),
    "-Infinity end": (raw("-Infinity"), ONE_MISSING),
    "1e999 end": (raw("1e999"), ONE_MISSING),
    "number as string": (spoilt(end_time="4.0"), ONE_MISSING),
    "boolean end": (spoilt(end_time=True), ONE_MISSING),
    "boolean start": (spoilt(start_time=False), ONE_MISSING),
    "null end": (spoilt(end_time=None), ONE_MISSING),
    "list as end": (spoilt(end_time=[4.0]), ONE_MISSING),
    "null reason": (spoilt(reason=None), ONE_MISSING),
    "number as label": (spoilt(emotion=7), ONE_MISSING),
    "fence": (f"```json\n{GOOD}\n```", SPOILT_FORM),
    "prose before": (f"Here it is: {GOOD}", SPOILT_FORM),
    "prose after": (f"{GOOD} Done.", SPOILT_FORM),
    "think block": (f"<think>{{a}}</think>{GOOD}", SPOILT_FORM),
    "two objects": (f"{GOOD}\n{GOOD}", SPOILT_FORM),
    "extra key": (spoilt(confidence=1.0), SPOILT_FORM),
    "extra top key": (GOOD[:-1] + ', "note": "x"}', SPOILT_FORM),
    "duplicate key": (GOOD[:-1] + ", " + GOOD[1:], SPOILT_FORM),
    # .2 + .3; the unknown label matches nothing: emo 1/2
    "lower-case label": (spoilt(emotion="joy"), (0.5, 1.0, 1.0, 0.5, 1.0)),
    "unknown label": (spoilt(emotion="Happy"), (0.5, 1.0, 1.0, 0.5, 1.0)),
    "two labels": (spoilt(emotion="Joy/Fear"), (0.5, 1.0, 1.0, 0.5, 1.0)),
    # phi(0) = exp(-3) for the first: (exp(-3) + 1) / 2
    "blank reason": (spoilt(reason=" "), (0.5, 1.0, 1.0, 1.0, (math.exp(-3) + 1) / 2)),
    # Neither has a length: IoU 0 with both, the earlier truth is 8 and 9 s away
    "both reversed": (
        reply_text((4.0, 0.0, "Joy", JOY), (9.0, 4.0, "Fear", FEAR)),
        (0.3, 1.0, (math.exp(-16) + math.exp(-18)) / 4, 0.0, 1.0),
    ),
    # [4, 0] has IoU 0 with both, the earlier is 8 s away: (.5 * exp(-16) + 1) / 2; .3 for length
    "reversed": (
        spoilt(start_time=4.0, end_time=0.0),
        (0.3, 1.0, (math.exp(-16) / 2 + 1) / 2, 0.5, 1.0),
    ),
    "out of order": (
        reply_text((4.0, 9.0, "Fear", FEAR), (0.0, 4.0, "Joy", JOY)),
        SPOILT_FORM,
    ),
    # [0, 8] has IoU 4/8 with [0,4], 4/9 with [4,9]: .5 * .5 + .5 * exp(-4/.5) for it;
    # its largest intersection is with [0,4] (4 s, as with [4,9]; the earlier), IoU .5: no label
    "overlap": (
        spoilt(end_time=8.0),
        (0.5, 1.0, (0.25 + math.exp(-8) / 2 + 1) / 2, 0.5, 1.0),
    ),
    "first segment twice": (
        reply_text((0.0, 4.0, "Joy", JOY), (0.0, 4.0, "Joy", FEAR)),
        SPOILT_FORM,
    ),
    # The second copies the first: reason 1/2
    "the very same twice": (
        reply_text((0.0, 4.0, "Joy", JOY), (0.0, 4.0, "Joy", JOY)),
        (0.5, 1.0, 1.0, 1.0, 0.5),
    ),
    "only the first": (reply_text((0.0, 4.0, "Joy", JOY)), ONE_MISSING),
    # Finite, but absurd: IoU 0 and no closeness
    "huge times": (spoilt(start_time=-1e308, end_time=1e308), (0.5, 1.0, 0.5, 0.5, 1.0)),
    "integers": (GOOD.replace(".0,", ","), (1.0, 1.0, 1.0, 1.0, 1.0)),
    "white space around": (f"\n {GOOD}\n", (1.0, 1.0, 1.0, 1.0, 1.0)),
}


@pytest.mark.parametrize("name", CASES)
def test_paper_earns_what_the_equations_say(name: str) -> None:
    text, expected = CASES[name]
    scores = RewardSet.from_preset("paper").score(parse_reply(text, 9.0, 300), TRUTH)
    assert [scores[term] for term in TERMS] == pytest.approx(list(expected), abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_hardened_earns_all_or_nothing_here(name: str) -> None:
    text, expected = CASES[name]
    parsed = parse_reply(text, 9.0, 300)
    scores = RewardSet.from_preset("hardened").score(parsed, TRUTH)
    value = 1.0 if expected == (1.0,) * 5 else 0.0
    assert [scores[term] for term in TERMS] == [value] * 5
    assert scores.total == value


def test_no_segment_earns_three_hundredths_under_paper() -> None:
    scores = RewardSet.from_preset("paper").score(parse_reply("", 9.0, 0), TRUTH)
    assert scores.total == pytest.approx(0.03)


def test_ten_thousand_segments_are_finished_with_quickly() -> None:
    segment = json.loads(GOOD)["segments"][0]
    parsed = parse_reply(json.dumps({"segments": [segment] * 10_000})[:390_000] + "]}", 9.0, 2000)
    many = parse_reply(json.dumps({"segments": [{**segment, "reason": "joy"}] * 5_000}), 9.0, 2000)
    for preset in PRESETS:
        for reply in (parsed, many):
            assert_sound(RewardSet.from_preset(preset).score(reply, TRUTH))


def assert_sound(scores: Any) -> None:
    for name, value in scores.items():
        assert isinstance(value, float), (name, value)
        assert math.isfinite(value), (name, value)
        assert 0.0 <= value <= 1.0, (name, value)


numbers = st.one_of(
    st.floats(),
    st.integers(),
    st.sampled_from([0, 0.0, -0.0, 4.0, 9.0, 1e308, -1e308, 5e-324, True, False, None, "4.0", []]),
)
labels = st.one_of(st.sampled_from(DAR_EMOTIONS), st.text(max_size=8), st.none())
reasons = st.one_of(st.text(), st.sampled_from([JOY, FEAR, "", " ", "'", "the " * 50]), st.none())
entries = st.one_of(
    st.fixed_dictionaries(
        {},
        optional={"start_time": numbers, "end_time": numbers, "emotion": labels, "reason": reasons},
    ),
    numbers,
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The good reply with a few pieces cut out, doubled, or replaced."""
    text = GOOD
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 60)))
        piece = draw(
            st.one_of(
                st.just(""),
                st.just(text[start:end] * 2),
                st.sampled_from(
                    ['"', "}", "]", "{", ",", "NaN", "-", "1e999", "\\u0000", "e", "9"]
                ),
                st.text(max_size=5),
            )
        )
        text = text[:start] + piece + text[end:]
    return text


replies = st.one_of(
    st.text(),
    mutated(),
    st.lists(entries, max_size=5).map(lambda found: json.dumps({"segments": found})),
    st.binary(max_size=200).map(lambda data: data.decode("utf-8", "surrogateescape")),
)


@st.composite
def truths(draw: st.DrawFn) -> Timeline:
    """Any valid timeline in tenths of a second, with any reasons that are not blank."""
    ends = sorted(draw(st.sets(st.integers(1, 300), min_size=1, max_size=5)))
    segments: list[Segment] = []
    for start, end in zip([0, *ends], ends, strict=False):
        before = segments[-1].emotion if segments else None
        emotion = draw(st.sampled_from([label for label in DAR_EMOTIONS if label != before]))
        reason = draw(
            st.one_of(
                st.sampled_from([JOY, FEAR, "the " * 50, "ok", "joy"]),
                st.text(st.characters(codec="utf-8"), min_size=1).filter(
                    lambda text: any(character.isalnum() for character in text)
                ),
            )
        )
        segments.append(Segment(start / 10, end / 10, emotion, reason))
    return Timeline(tuple(segments), ends[-1] / 10)


any_scored_reply = given(text=replies, truth=truths(), num_tokens=st.integers(0, 3000))


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@any_scored_reply
def test_every_reply_earns_finite_terms_between_0_and_1(
    text: str, truth: Timeline, num_tokens: int
) -> None:
    assert_sound_everywhere(text, truth, num_tokens)


@pytest.mark.slow
@pytest.mark.timeout(900)
@settings(max_examples=3_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@any_scored_reply
def test_thousands_of_replies_earn_finite_terms_between_0_and_1(
    text: str, truth: Timeline, num_tokens: int
) -> None:
    assert_sound_everywhere(text, truth, num_tokens)


def assert_sound_everywhere(text: str, truth: Timeline, num_tokens: int) -> None:
    """Beside its own truth and another, with the one's duration and the other's."""
    for preset in PRESETS:
        for parsed in (
            parse_reply(text, truth.duration_seconds, num_tokens),
            parse_reply(text, 9.0, num_tokens),
        ):
            for against in (truth, TRUTH):
                scores = RewardSet.from_preset(preset).score(parsed, against, prompt_text=text)
                assert_sound(scores)
                if preset == "hardened" and parsed.timeline is None:
                    assert set(scores.values()) == {0.0}


@settings(max_examples=200, deadline=None)
@given(truth=truths(), prompt_text=st.sampled_from(["", JOY, "ok"]))
def test_under_hardened_every_truth_earns_one_so_nothing_can_earn_more(
    truth: Timeline, prompt_text: str
) -> None:
    parsed = parse_reply(truth.to_json(), truth.duration_seconds, 300)
    scores = RewardSet.from_preset("hardened").score(parsed, truth, prompt_text)
    assert dict(scores) == dict.fromkeys((*TERMS, "total"), 1.0)
