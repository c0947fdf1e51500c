"""Protocol `released`: what the authors' published script computes, quirks and all.

It exists so that published numbers can be set beside ours, not because it measures well. In order:
the text between the first `{` and the last `}` is read as JSON; segments are sorted by start; a
label outside the list becomes the first one in the script's order that contains it or is contained
in it, else "Interest"; equal neighbours merge; the first start becomes 0, the last end becomes the
duration where it is more than half a second off, every other start becomes the end before it.
Then segment k is compared with segment k of the truth for k < min(#predicted, #truth), the pairs
of all clips are pooled, and a label is right whatever the overlap. A clip whose reply the script
cannot read, or stumbles over, is left out of every mean.

Example: truth [0-1 Joy][1-9 Fear], reply [0-9 Joy]: one pair, tIoU 1/9, label right; Emo-Acc 1.
"""

import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from affect.timeline import Segment
from evaluation.metrics.clips import Clip, ClipScore, SegmentPair, failed_clip

# The order decides which label a misspelt one turns into.
LABELS_IN_SCRIPT_ORDER = (
    "Awkwardness",
    "Empathic Pain",
    "Fear",
    "Anger",
    "Sadness",
    "Relief",
    "Boredom",
    "Joy",
    "Aesthetic Appreciation",
    "Adoration",
    "Admiration",
    "Amusement",
    "Satisfaction",
    "Disgust",
    "Sexual Desire",
    "Confusion",
    "Romance",
    "Craving",
    "Horror",
    "Excitement",
    "Nostalgia",
    "Awe (or Wonder)",
    "Interest",
    "Calmness",
    "Surprise",
    "Entrancement",
    "Anxiety",
)
FALLBACK_LABEL = "Interest"
END_SLACK_SECONDS = 0.5

# Types are those of json.loads: the script trusts none of them to be there, nor do we.
RawSegment = dict[str, Any]


def read_object(text: str) -> Any:
    """The JSON value between the first `{` and the last `}`, or None where that is not JSON."""
    body = text.strip()
    if body.startswith("```"):
        first_line_end = body.find("\n")
        if first_line_end != -1:
            body = body[first_line_end + 1 :]
        body = body.removesuffix("```").strip()
    first, last = body.find("{"), body.rfind("}")
    if first == -1 or last <= first:
        return None
    try:
        return json.loads(body[first : last + 1])
    except (ValueError, RecursionError):
        return None


def repair_label(label: str) -> str:
    """The label the script scores in place of `label`; AttributeError where it is no text."""
    if label in LABELS_IN_SCRIPT_ORDER:
        return label
    lowered = label.lower()
    for known in LABELS_IN_SCRIPT_ORDER:
        if known.lower() in lowered or lowered in known.lower():
            return known
    return FALLBACK_LABEL


def merge_equal_neighbours(segments: Sequence[RawSegment]) -> list[RawSegment]:
    """Neighbours with one label become one segment that ends where the last of them ends."""
    merged = [dict(segments[0])]
    for segment in segments[1:]:
        last = merged[-1]
        if segment.get("emotion", "") != last.get("emotion", ""):
            merged.append(dict(segment))
            continue
        last["end_time"] = segment.get("end_time", last["end_time"])
        reason, more = last.get("reason", ""), segment.get("reason", "")
        if more and more not in reason:
            last["reason"] = reason + " " + more
    return merged


def repair_segments(segments: Any, duration_seconds: float) -> list[RawSegment]:
    """The script's repairs, on copies; whatever it stumbles over raises as it does there."""
    if not segments:
        return []
    ordered: list[RawSegment] = [segment.copy() for segment in segments.copy()]
    ordered.sort(key=lambda segment: segment.get("start_time", 0))
    for segment in ordered:
        segment["emotion"] = repair_label(segment.get("emotion", ""))
    repaired = merge_equal_neighbours(ordered)
    if repaired[0].get("start_time", 0) != 0.0:
        repaired[0]["start_time"] = 0.0
    if abs(repaired[-1].get("end_time", 0) - duration_seconds) > END_SLACK_SECONDS:
        repaired[-1]["end_time"] = duration_seconds
    for before, segment in pairwise(repaired):
        if segment["start_time"] != before["end_time"]:
            segment["start_time"] = before["end_time"]
    return repaired


def hull_iou(given: Mapping[str, Any], wanted: Segment) -> float:
    """Intersection over the hull of both intervals, which is their union where they touch.

    The order of the arguments matters for NaN, which `min` and `max` keep only in first place.
    """
    given_start, given_end = given["start_time"], given["end_time"]
    intersection = max(
        0, min(given_end, wanted.end_seconds) - max(given_start, wanted.start_seconds)
    )
    hull = max(given_end, wanted.end_seconds) - min(given_start, wanted.start_seconds)
    return float(intersection / hull) if hull > 0 else 0.0


def index_pairs(
    predicted: Sequence[RawSegment], truth: Sequence[Segment]
) -> tuple[SegmentPair, ...]:
    """Segment k beside segment k, up to the shorter of the two lists."""
    return tuple(
        SegmentPair(k, k, wanted.emotion, given["emotion"].strip(), hull_iou(given, wanted))
        for k, (given, wanted) in enumerate(zip(predicted, truth, strict=False))
    )


def _segment(part: RawSegment) -> Segment:
    return Segment(
        _seconds(part["start_time"]), _seconds(part.get("end_time")), part["emotion"].strip(), ""
    )


def _seconds(value: object) -> float:
    # The script never looks at the times of segments beyond the truth's last.
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.nan


def score_clip(clip: Clip) -> ClipScore:
    """One clip under `released`; a clip without a usable reply is not counted."""
    if clip.reply is None:
        return failed_clip(clip, counted=False)
    value = read_object(clip.reply.text)
    if not value or "segments" not in value:
        return failed_clip(clip, counted=False)
    try:
        predicted = repair_segments(value["segments"], clip.truth.duration_seconds)
        pairs = index_pairs(predicted, clip.truth.segments)
    except (AttributeError, KeyError, OverflowError, TypeError):
        # A label or a time of the wrong type stops the script, in the repair (it then drops the
        # clip) or in the comparison (it then dies); either way the clip has no score there.
        return failed_clip(clip, counted=False)
    if not predicted:
        return failed_clip(clip, counted=False)
    return ClipScore(
        id=clip.id,
        status="scored",
        counted=True,
        num_truth=len(clip.truth.segments),
        num_predicted=len(predicted),
        valid_json=clip.reply.fits_schema,
        valid_timeline=clip.reply.timeline is not None,
        pairs=pairs,
        predicted=tuple(_segment(part) for part in predicted),
    )
