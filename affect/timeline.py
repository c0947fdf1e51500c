"""What an emotional timeline is: segments that cover a clip without gaps, and their invariants.

A `Timeline` cannot be built wrong, so whatever holds one need not check it again:

    >>> calm = Segment(0.0, 4.2, "Calmness", "The pond lies still, so the viewer is calm.")
    >>> fear = Segment(4.2, 9.0, "Fear", "A shadow lunges out, and the viewer takes fright.")
    >>> print(Timeline((calm, fear), duration_seconds=9.0).to_json()[:60])
    {"segments": [{"start_time": 0.0, "end_time": 4.2, "emotion"

A model's reply that breaks the invariants is read by `affect.parsing`, which names what is wrong.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from affect.taxonomy import DAR_EMOTIONS

BOUNDARY_TOLERANCE_SECONDS = 0.05
"""How far a start, a joint or the end may lie off: half of the one decimal that targets have."""

RELEASED_TOLERANCE_SECONDS = 0.15
"""The same for reading the released data, as its authors' validator has it."""

MAX_SEGMENTS = 256
"""A timeline has at most so many segments; pairing costs grow with their number squared."""

_FLOAT_NOISE_SECONDS = 1e-6
"""4.25 - 4.2 is not .05 in binary; differences below a microsecond are no differences."""

_EMOTIONS = frozenset(DAR_EMOTIONS)

_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of the clip in which the viewer feels one emotion, and why.

    Holds what was written, right or wrong; only a `Timeline` promises anything about it.
    """

    start_seconds: float
    end_seconds: float
    emotion: str
    reason: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """The segments of one clip of `duration_seconds`, in order, from its begin to its end.

    Raises ValueError naming every broken invariant (see `timeline_faults`). Two timelines are
    equal when segments and duration are; the tolerance they were checked with does not count.
    """

    segments: tuple[Segment, ...]
    duration_seconds: float
    tolerance_seconds: float = field(default=BOUNDARY_TOLERANCE_SECONDS, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "segments", tuple(self.segments))
        faults = timeline_faults(self.segments, self.duration_seconds, self.tolerance_seconds)
        if faults:
            raise ValueError("not a timeline: " + "; ".join(faults))

    def __hash__(self) -> int:
        """Equal for equal timelines; does not walk all the text, because truths are cache keys."""
        return hash((self.duration_seconds, len(self.segments), self.segments[0].reason))

    @classmethod
    def already_checked(
        cls, segments: tuple[Segment, ...], duration_seconds: float, tolerance_seconds: float
    ) -> "Timeline":
        """A timeline of segments for which the caller has seen `timeline_faults` return ()."""
        timeline = object.__new__(cls)
        object.__setattr__(timeline, "segments", segments)
        object.__setattr__(timeline, "duration_seconds", duration_seconds)
        object.__setattr__(timeline, "tolerance_seconds", tolerance_seconds)
        return timeline

    def rounded(self) -> "Timeline":
        """Return the timeline in one decimal, with neighbours sharing one boundary exactly.

        Starts at 0.0. Where an end and the next start round apart, both become their rounded
        midpoint; a last end that would round away from the duration becomes the rounded duration.
        Raises ValueError naming a segment too short to keep a length in one decimal.
        """
        boundaries = [0.0]
        for left, right in pairwise(self.segments):
            end, start = _one_decimal(left.end_seconds), _one_decimal(right.start_seconds)
            middle = (left.end_seconds + right.start_seconds) / 2
            boundaries.append(end if end == start else _one_decimal(middle))
        end = _one_decimal(self.segments[-1].end_seconds)
        if _exceeds(end - self.duration_seconds, BOUNDARY_TOLERANCE_SECONDS):
            end = _one_decimal(self.duration_seconds)
        boundaries.append(end)
        for index, (start, end) in enumerate(pairwise(boundaries)):
            if not end > start:
                length = self.segments[index].end_seconds - self.segments[index].start_seconds
                raise ValueError(
                    f"segments[{index}] lasts {length:.3f} s and has no length left in one "
                    "decimal: merge it with a neighbour or leave the clip out"
                )
        rounded = tuple(
            Segment(boundaries[index], boundaries[index + 1], segment.emotion, segment.reason)
            for index, segment in enumerate(self.segments)
        )
        return Timeline(rounded, self.duration_seconds)

    def to_json(self) -> str:
        """Write the timeline as the one-line JSON text that models are trained to answer.

        Times are those of `rounded`, so the text always passes the strict parse again.
        """
        return segments_to_json(self.rounded().segments)


def segments_to_json(segments: Sequence[Segment]) -> str:
    """Write any segments, right or wrong, as a reply's one-line JSON text, times as they are."""
    written = [
        {
            "start_time": segment.start_seconds,
            "end_time": segment.end_seconds,
            "emotion": segment.emotion,
            "reason": segment.reason,
        }
        for segment in segments
    ]
    return json.dumps({"segments": written}, ensure_ascii=False)


def timeline_faults(
    segments: Sequence[Segment],
    duration_seconds: float,
    tolerance_seconds: float = BOUNDARY_TOLERANCE_SECONDS,
) -> tuple[str, ...]:
    """Return what keeps the segments from being a timeline, one text per fault; () when nothing.

    Each text begins with the fault's name and a colon: `duration`, `empty`, `too_many`,
    `not_finite`, `start`, `gap`, `overlap`, `no_length`, `end`, `emotion`, `repeated_emotion`,
    `blank_reason`, `not_text`. Distances of exactly the tolerance are allowed.
    """
    if not (math.isfinite(duration_seconds) and duration_seconds > 0):
        return (f"duration: a clip cannot last {duration_seconds!r} s",)
    if not segments:
        return ("empty: there is no segment",)
    if len(segments) > MAX_SEGMENTS:
        return (f"too_many: {len(segments)} segments, at most {MAX_SEGMENTS} are allowed",)
    return (
        *_time_faults(segments, duration_seconds, tolerance_seconds),
        *_word_faults(segments),
    )


def reply_tolerance_seconds(truth: Timeline) -> float:
    """With which tolerance a reply is read against this truth: `BOUNDARY_TOLERANCE_SECONDS`, but
    for a truth of the released data that does not hold at it, and that must itself be a right
    reply. Rewards (`rewards.trl_adapter.read_truth`) and metrics have the same."""
    if timeline_faults(truth.segments, truth.duration_seconds, BOUNDARY_TOLERANCE_SECONDS):
        return truth.tolerance_seconds
    return BOUNDARY_TOLERANCE_SECONDS


def _time_faults(
    segments: Sequence[Segment], duration_seconds: float, tolerance_seconds: float
) -> Iterator[str]:
    infinite = [
        index
        for index, segment in enumerate(segments)
        if not (math.isfinite(segment.start_seconds) and math.isfinite(segment.end_seconds))
    ]
    if infinite:
        for index in infinite:
            yield f"not_finite: segments[{index}] has a time that is no finite number"
        return
    first, last = segments[0], segments[-1]
    if _exceeds(first.start_seconds, tolerance_seconds):
        yield f"start: segments[0] starts at {first.start_seconds:g} s instead of 0"
    for index, segment in enumerate(segments):
        if index:
            gap = segment.start_seconds - segments[index - 1].end_seconds
            if _exceeds(gap, tolerance_seconds):
                name, side = ("gap", "after") if gap > 0 else ("overlap", "before")
                yield (
                    f"{name}: segments[{index}] starts {abs(gap):g} s {side} "
                    f"segments[{index - 1}] ends"
                )
        if not segment.end_seconds > segment.start_seconds:
            yield (
                f"no_length: segments[{index}] ends at {segment.end_seconds:g} s, "
                f"not after its start at {segment.start_seconds:g} s"
            )
    if _exceeds(last.end_seconds - duration_seconds, tolerance_seconds):
        yield (
            f"end: segments[{len(segments) - 1}] ends at {last.end_seconds:g} s, "
            f"the clip at {duration_seconds:g} s"
        )


def _word_faults(segments: Sequence[Segment]) -> Iterator[str]:
    for index, segment in enumerate(segments):
        if segment.emotion not in _EMOTIONS:
            yield f"emotion: segments[{index}] has {segment.emotion[:40]!r}, none of the 27"
        if index and segment.emotion == segments[index - 1].emotion:
            yield f"repeated_emotion: segments[{index}] has the emotion of the one before"
        if is_blank(segment.reason):
            yield f"blank_reason: segments[{index}] gives no reason"
        if holds_half_character(segment.reason):
            yield f"not_text: the reason of segments[{index}] holds half a character"


def is_blank(text: str) -> bool:
    """Whether there is no letter or digit of any script: punctuation and invisible characters say
    nothing."""
    return not any(map(str.isalnum, text))


def holds_half_character(text: str) -> bool:
    """Whether there is a lone surrogate, which can be written as a JSON escape but not stored as
    UTF-8."""
    return not text.isascii() and _SURROGATE.search(text) is not None


def _exceeds(difference_seconds: float, tolerance_seconds: float) -> bool:
    return abs(difference_seconds) > tolerance_seconds + _FLOAT_NOISE_SECONDS


def _one_decimal(seconds: float) -> float:
    return round(seconds, 1) + 0.0  # + 0.0 turns -0.0 into 0.0
