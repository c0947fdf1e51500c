"""What is scored: a clip, and the pairs of segments that a protocol makes of it.

Example:
    clip = make_clip("a", truth, '{"segments": [...]}')
    score = PROTOCOLS["strict"].score_clip(clip)
    score.status, [pair.tiou for pair in score.pairs]     # 'scored', [0.82, 1.0]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from affect.matching import interval_iou
from affect.parsing import ParsedReply, parse_reply
from affect.timeline import Segment, Timeline, reply_tolerance_seconds

Status = Literal["scored", "unparsed", "missing"]


@dataclass(frozen=True, slots=True)
class Clip:
    """One clip: its annotated timeline, and the parsed reply or None where there is no reply."""

    id: str
    truth: Timeline
    reply: ParsedReply | None


@dataclass(frozen=True, slots=True)
class SegmentPair:
    """A place in a metric's denominator: two segments, or one that found no partner.

    Indices count from 0 in the order of the timeline; None stands for the partner that is not
    there, and then `tiou` is 0. `tiou` is in [0, 1].
    """

    truth_index: int | None
    predicted_index: int | None
    truth_emotion: str | None
    predicted_emotion: str | None
    tiou: float

    @property
    def same_emotion(self) -> bool:
        """True where both segments exist and carry the same label."""
        return self.truth_emotion is not None and self.truth_emotion == self.predicted_emotion


@dataclass(frozen=True, slots=True)
class ClipScore:
    """One clip under one protocol.

    status: `scored`, `unparsed` (a reply, but nothing in it that the protocol reads) or
        `missing` (no reply at all).
    counted: whether the clip stands in the means. A clip that is counted without being scored
        weighs in with zeros: its pairs are truth segments without a partner.
    num_predicted: number of predicted segments after the protocol's own reading of the reply.
    valid_json: whether the reply is one JSON object in the schema.
    valid_timeline: whether it is a strict timeline too.
    predicted: the segments that the protocol read, `num_predicted` of them, for analyses. Where a
        time is no number (only `released` gets so far with one) it is NaN.
    """

    id: str
    status: Status
    counted: bool
    num_truth: int
    num_predicted: int
    valid_json: bool
    valid_timeline: bool
    pairs: tuple[SegmentPair, ...]
    predicted: tuple[Segment, ...] = ()


def make_clip(
    clip_id: str, truth: Timeline, reply: str | None, num_tokens: int | None = None
) -> Clip:
    """Parse a reply against the truth's duration; a reply of None stays None (missing).

    It is read as rewards read it, so that the truth's own text is a strict timeline.
    """
    if reply is None:
        return Clip(clip_id, truth, None)
    parsed = parse_reply(
        reply,
        truth.duration_seconds,
        num_tokens,
        tolerance_seconds=reply_tolerance_seconds(truth),
    )
    return Clip(clip_id, truth, parsed)


def pair_of(
    truth_index: int, wanted: Segment, predicted_index: int | None, predicted: Sequence[Segment]
) -> SegmentPair:
    """A true segment and the predicted one at that index, or alone where it is None."""
    if predicted_index is None:
        return SegmentPair(truth_index, None, wanted.emotion, None, 0.0)
    given = predicted[predicted_index]
    tiou = interval_iou(
        given.start_seconds, given.end_seconds, wanted.start_seconds, wanted.end_seconds
    )
    return SegmentPair(truth_index, predicted_index, wanted.emotion, given.emotion, tiou)


def unpaired_truth(truth: Timeline) -> tuple[SegmentPair, ...]:
    """Every segment of the truth without a partner: what a counted failure weighs."""
    return tuple(pair_of(index, segment, None, ()) for index, segment in enumerate(truth.segments))


def failed_clip(clip: Clip, *, counted: bool) -> ClipScore:
    """The score of a clip without a usable reply: zeros where it is counted, else left out."""
    return ClipScore(
        id=clip.id,
        status="missing" if clip.reply is None else "unparsed",
        counted=counted,
        num_truth=len(clip.truth.segments),
        num_predicted=0,
        valid_json=clip.reply is not None and clip.reply.fits_schema,
        valid_timeline=False,
        pairs=unpaired_truth(clip.truth) if counted else (),
    )
