"""Term `emo`, equation 7: the right label on the right event.

    R = 1/N_pred * sum_i I(e_i = e_i*) * I(IoU(S_i, S_i*) > .5)

S* is here the true segment of largest *intersection*, the earlier of equals. Range [0, 1].
Example: of two segments with right labels, IoU .8 and IoU .5, only the first counts: R = .5.

The pairing is not that of equation 6: a prediction may share the most seconds with one true segment
and have its highest IoU with another. Where that happens neither IoU is above .5 (an IoU above .5
takes more than half of the prediction, which only one of two disjoint segments can), so R is 0.

Hardened: pairs are one to one, IoU of exactly .5 counts as in the paper's metric, and the sum is
divided by max(N_pred, N_gt).
"""

from affect.matching import best_by_intersection
from rewards.comparison import Comparison, Pair, segment_iou
from rewards.constants import HARDENED, PAPER, ROUNDING, HardenedConstants, PaperConstants


def paper(comparison: Comparison, constants: PaperConstants = PAPER) -> float:
    """Equation 7 over all segments read; 0 where none was."""
    predicted, true = comparison.reply.segments, comparison.truth.segments
    if not predicted:
        return 0.0
    num_right = 0
    for segment, best in zip(predicted, best_by_intersection(predicted, true), strict=True):
        if best is None or segment.emotion != true[best].emotion:
            continue
        num_right += segment_iou(segment, true[best]) > constants.min_label_iou + ROUNDING
    return num_right / len(predicted)


def right_pairs(
    comparison: Comparison, hardened_constants: HardenedConstants = HARDENED
) -> list[Pair]:
    """One-to-one pairs that are the same event (IoU >= .5) and carry the same label."""
    timeline = comparison.reply.timeline
    if timeline is None:
        return []
    predicted, true = timeline.segments, comparison.truth.segments
    return [
        pair
        for pair in comparison.pairs
        if pair.iou >= hardened_constants.min_label_iou - ROUNDING
        and predicted[pair.predicted].emotion == true[pair.true].emotion
    ]


def hardened(comparison: Comparison, hardened_constants: HardenedConstants = HARDENED) -> float:
    """Share of right pairs in the larger of the two counts; 0 for what fails the strict parse."""
    if comparison.reply.timeline is None:
        return 0.0
    return len(right_pairs(comparison, hardened_constants)) / comparison.num_slots
