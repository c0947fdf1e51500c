"""What kind of answer a reply is to one clip, in the words by which the page filters.

    outcome_of(PROTOCOLS["strict"].score_clip(clip)).kinds      # ('wrong_label', 'too_many')

A clip may be wrong in several ways. `right` is a clip that is wrong in none: as many segments as
the truth has, each pair with the right label and tIoU >= .5.
"""

from dataclasses import dataclass
from typing import Literal

from evaluation.metrics import ClipScore, SegmentPair
from evaluation.metrics.ratios import GOOD_TIOU, THRESHOLD_SLACK

Kind = Literal["right", "wrong_label", "bad_boundary", "too_many", "too_few", "unparsed", "missing"]
KINDS: tuple[tuple[Kind, str, str], ...] = (
    ("right", "right", "as many segments, every label right, every tIoU at least .5"),
    ("wrong_label", "wrong label", "a segment whose partner has another emotion"),
    (
        "bad_boundary",
        "bad boundary",
        "a segment that meets its partner with tIoU below .5, or none although one is left over",
    ),
    ("too_many", "too many", "more segments than the truth has"),
    ("too_few", "too few", "fewer segments than the truth has"),
    ("unparsed", "unparsed", "a reply that is no strict timeline"),
    ("missing", "missing", "no reply"),
)
"""Name, words for buttons, and what it means; in the order of the page."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """kinds: of KINDS, at least one, in their order. mean_tiou, emotion_accuracy: over the clip's
    places, 0 to 1; None where the reply was not scored (the means count it as 0 all the same)."""

    kinds: tuple[Kind, ...]
    mean_tiou: float | None
    emotion_accuracy: float | None


def is_bad_boundary(pair: SegmentPair) -> bool:
    """Whether two segments that found each other meet with tIoU below .5."""
    return pair.tiou < GOOD_TIOU - THRESHOLD_SLACK


def outcome_of(score: ClipScore) -> Outcome:
    """Of a clip scored under `strict`."""
    if score.status != "scored":
        return Outcome((score.status,), None, None)
    both = [
        pair
        for pair in score.pairs
        if pair.truth_index is not None and pair.predicted_index is not None
    ]
    found: set[Kind] = set()
    if any(not pair.same_emotion for pair in both):
        found.add("wrong_label")
    # Both sides can have one left over: the two don't overlap, or would cross a better pair.
    left_over = min(score.num_predicted, score.num_truth) - len(both)
    if left_over or any(is_bad_boundary(pair) for pair in both):
        found.add("bad_boundary")
    if score.num_predicted > score.num_truth:
        found.add("too_many")
    if score.num_predicted < score.num_truth:
        found.add("too_few")
    num_places = len(score.pairs)
    correct = sum(pair.same_emotion and not is_bad_boundary(pair) for pair in score.pairs)
    return Outcome(
        kinds=tuple(kind for kind, _, _ in KINDS if kind in found) or ("right",),
        mean_tiou=sum(pair.tiou for pair in score.pairs) / num_places,
        emotion_accuracy=correct / num_places,
    )
