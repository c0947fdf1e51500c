"""A timeline cannot be built wrong, and its text is a timeline again."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.parsing import parse_reply
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import (
    BOUNDARY_TOLERANCE_SECONDS,
    MAX_SEGMENTS,
    RELEASED_TOLERANCE_SECONDS,
    Segment,
    Timeline,
    timeline_faults,
)

JOY = Segment(0.0, 4.0, "Joy", "They dance, so the viewer is happy.")
FEAR = Segment(4.0, 9.0, "Fear", "A shadow lunges out.")


def names(faults: tuple[str, ...]) -> list[str]:
    return [fault.split(":")[0] for fault in faults]


def moved(segment: Segment, *, start: float | None = None, end: float | None = None) -> Segment:
    return Segment(
        segment.start_seconds if start is None else start,
        segment.end_seconds if end is None else end,
        segment.emotion,
        segment.reason,
    )


def test_constants() -> None:
    assert BOUNDARY_TOLERANCE_SECONDS == 0.05
    assert RELEASED_TOLERANCE_SECONDS == 0.15


def test_a_right_timeline() -> None:
    timeline = Timeline((JOY, FEAR), 9.0)
    assert timeline_faults(timeline.segments, 9.0) == ()
    assert json.loads(timeline.to_json()) == {
        "segments": [
            {
                "start_time": 0.0,
                "end_time": 4.0,
                "emotion": "Joy",
                "reason": "They dance, so the viewer is happy.",
            },
            {
                "start_time": 4.0,
                "end_time": 9.0,
                "emotion": "Fear",
                "reason": "A shadow lunges out.",
            },
        ]
    }
    assert timeline.to_json().startswith('{"segments": [{"start_time": 0.0, "end_time": 4.0, ')


def test_equality_leaves_the_tolerance_out() -> None:
    assert Timeline((JOY, FEAR), 9.0) == Timeline((JOY, FEAR), 9.0, 0.15)
    assert Timeline((JOY, FEAR), 9.0) != Timeline((JOY, FEAR), 9.01)
    as_list = Timeline([JOY, FEAR], 9.0)  # type: ignore[arg-type]
    assert as_list == Timeline((JOY, FEAR), 9.0)
    assert hash(as_list) == hash(Timeline((JOY, FEAR), 9.0))


def test_one_that_was_checked_before_is_like_any_other() -> None:
    timeline = Timeline.already_checked((JOY, FEAR), 9.0, 0.15)
    assert timeline == Timeline((JOY, FEAR), 9.0, 0.15)
    assert timeline.tolerance_seconds == 0.15
    assert hash(timeline) == hash(Timeline((JOY, FEAR), 9.0))
    assert repr(timeline) == repr(Timeline((JOY, FEAR), 9.0, 0.15))


def test_hashes_tell_clips_apart() -> None:
    calm = Segment(0.0, 4.0, "Calmness", "The pond lies still.")
    different = {Timeline((JOY, FEAR), 9.0), Timeline((JOY, FEAR), 9.01), Timeline((calm, FEAR), 9)}
    assert len({hash(timeline) for timeline in different}) == 3


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ((), ["empty"]),
        ((JOY,), ["end"]),
        ((FEAR,), ["start"]),
        ((JOY, moved(FEAR, start=4.1)), ["gap"]),
        ((JOY, moved(FEAR, start=3.9)), ["overlap"]),
        ((moved(JOY, end=0.0), moved(FEAR, start=0.0)), ["no_length"]),
        ((moved(JOY, end=-1.0), moved(FEAR, start=-1.0)), ["no_length"]),
        ((JOY, moved(FEAR, end=9.1)), ["end"]),
        ((moved(JOY, start=-0.1), FEAR), ["start"]),
        ((moved(JOY, start=math.nan), FEAR), ["not_finite"]),
        ((JOY, moved(FEAR, end=math.inf)), ["not_finite"]),
        ((JOY, Segment(4.0, 9.0, "Joy", "Again.")), ["repeated_emotion"]),
        ((JOY, Segment(4.0, 9.0, "Happy", "x")), ["emotion"]),
        ((JOY, Segment(4.0, 9.0, "Awe", "x")), ["emotion"]),
        ((JOY, Segment(4.0, 9.0, "Fear", "")), ["blank_reason"]),
        ((JOY, Segment(4.0, 9.0, "Fear", " \n\u200b ...")), ["blank_reason"]),
        ((JOY, Segment(4.0, 9.0, "Fear", "half \ud83d")), ["not_text"]),
        ((FEAR, JOY), ["start", "overlap", "end"]),
    ],
)
def test_each_fault_has_its_name(segments: tuple[Segment, ...], expected: list[str]) -> None:
    faults = timeline_faults(segments, 9.0)
    assert names(faults) == expected
    with pytest.raises(ValueError, match=r"^not a timeline: ") as caught:
        Timeline(segments, 9.0)
    assert all(fault in str(caught.value) for fault in faults)


def test_a_reason_in_any_script_is_no_blank() -> None:
    reason = "\u753b\u9762\u304c\u6696\u304b\u3044"
    assert timeline_faults((Segment(0.0, 9.0, "Joy", reason),), 9.0) == ()


def test_faults_name_the_segment() -> None:
    assert timeline_faults((JOY, moved(FEAR, start=4.2)), 9.0) == (
        "gap: segments[1] starts 0.2 s after segments[0] ends",
    )


@given(st.text() | st.text(alphabet="a \u00e9\ud83d\udc00", max_size=4))
def test_a_reason_is_text_that_says_something(reason: str) -> None:
    try:
        reason.encode("utf-8")
        expected = []
    except UnicodeEncodeError:
        expected = ["not_text"]
    if not [character for character in reason if character.isalnum()]:
        expected.insert(0, "blank_reason")
    assert names(timeline_faults((Segment(0.0, 9.0, "Joy", reason),), 9.0)) == expected


@pytest.mark.parametrize("duration", [0.0, -1.0, math.nan, math.inf])
def test_a_duration_that_is_none(duration: float) -> None:
    assert names(timeline_faults((JOY,), duration)) == ["duration"]


def test_too_many_segments() -> None:
    many = tuple(
        Segment(float(n), n + 1.0, ("Joy", "Fear")[n % 2], "why") for n in range(MAX_SEGMENTS + 1)
    )
    assert names(timeline_faults(many, MAX_SEGMENTS + 1.0)) == ["too_many"]
    assert timeline_faults(many[:-1], float(MAX_SEGMENTS)) == ()


@pytest.mark.parametrize("tolerance", [BOUNDARY_TOLERANCE_SECONDS, RELEASED_TOLERANCE_SECONDS])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("at", [1.1, 4.0, 4.2, 8.3, 29.9])
def test_the_tolerance_itself_is_allowed(tolerance: float, sign: int, at: float) -> None:
    duration = at + 5.0

    def faults(off: float) -> list[list[str]]:
        first, second = moved(JOY, end=at), moved(FEAR, start=at, end=duration)
        return [
            names(timeline_faults((moved(first, start=sign * off), second), duration, tolerance)),
            names(
                timeline_faults((first, moved(second, start=at + sign * off)), duration, tolerance)
            ),
            names(
                timeline_faults(
                    (first, moved(second, end=duration + sign * off)), duration, tolerance
                )
            ),
        ]

    assert faults(tolerance) == [[], [], []]
    assert faults(tolerance + 0.001) == [["start"], ["gap" if sign > 0 else "overlap"], ["end"]]


def test_rounding_shares_one_boundary() -> None:
    # 4.24 and 4.26 round apart, to a gap of .1 that the strict parse refuses; their middle is 4.2.
    timeline = Timeline((moved(JOY, end=4.24), moved(FEAR, start=4.26, end=9.02)), 9.04)
    rounded = timeline.rounded()
    assert [(s.start_seconds, s.end_seconds) for s in rounded.segments] == [(0.0, 4.2), (4.2, 9.0)]
    assert rounded.rounded() == rounded


def test_rounding_keeps_the_end_at_the_duration() -> None:
    # 5.24 alone would round to 5.2, .08 off; the duration rounds to 5.3, .02 off.
    assert Timeline((moved(JOY, end=5.24),), 5.28).rounded().segments[0].end_seconds == 5.3
    for end in (4.2, 4.3):  # both lie within the tolerance of 4.25, so both stay
        assert Timeline((moved(JOY, end=end),), 4.25).rounded().segments[0].end_seconds == end


def test_rounding_never_writes_minus_zero_or_loses_a_segment() -> None:
    assert '"start_time": 0.0,' in Timeline((moved(JOY, start=-0.04, end=9.0),), 9.0).to_json()
    short = Timeline((moved(JOY, end=0.03), moved(FEAR, start=0.03)), 9.0)
    with pytest.raises(ValueError, match=r"segments\[0\] lasts 0\.030 s .* merge"):
        short.to_json()


@st.composite
def one_decimal_timelines(draw: st.DrawFn) -> Timeline:
    lengths = draw(st.lists(st.integers(1, 300), min_size=1, max_size=12))
    ends = [sum(lengths[: n + 1]) / 10 for n in range(len(lengths))]
    emotions: list[str] = []
    for _ in lengths:
        others = [label for label in DAR_EMOTIONS if not emotions or label != emotions[-1]]
        emotions.append(draw(st.sampled_from(others)))
    text = st.text(max_size=30).map(lambda reason: "x" + reason)
    encodable = text.filter(lambda reason: reason.encode("utf-8", "ignore").decode() == reason)
    segments = [
        Segment(start, end, emotion, draw(encodable))
        for start, end, emotion in zip([0.0, *ends], ends, emotions, strict=False)
    ]
    off = draw(st.sampled_from([0.0, 0.02, -0.03, 0.05, -0.05]))
    return Timeline(tuple(segments), ends[-1] + off)


@given(one_decimal_timelines())
def test_text_and_timeline_undo_each_other(timeline: Timeline) -> None:
    assert timeline.rounded() == timeline
    parsed = parse_reply(timeline.to_json(), timeline.duration_seconds)
    assert parsed.faults == ()
    assert parsed.timeline == timeline
    assert parsed.segments == timeline.segments


@given(
    st.lists(st.floats(0.3, 20.0), min_size=1, max_size=8),
    st.lists(st.floats(-0.15, 0.15), min_size=18, max_size=18),
)
def test_released_timelines_become_strict_ones(lengths: list[float], offs: list[float]) -> None:
    ends = [sum(lengths[: n + 1]) for n in range(len(lengths))]
    segments = tuple(
        Segment(
            (ends[n - 1] + offs[2 * n] if n else offs[16]),
            ends[n],
            ("Joy", "Fear")[n % 2],
            "because",
        )
        for n in range(len(ends))
    )
    timeline = Timeline(segments, ends[-1] + offs[17], RELEASED_TOLERANCE_SECONDS)
    parsed = parse_reply(timeline.to_json(), timeline.duration_seconds)
    assert parsed.timeline == timeline.rounded()
    for before, after in zip(timeline.segments, timeline.rounded().segments, strict=True):
        assert abs(before.start_seconds - after.start_seconds) <= 0.151
        assert abs(before.end_seconds - after.end_seconds) <= 0.2
