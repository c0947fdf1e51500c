"""Term `seg`, equation 6: segments that begin and end where the true ones do.

    r(S) = .5 * IoU(S, S*) + .5 * exp(-(|start - start*| + |end - end*|) / .5 s)
    R = mean of r over the predicted segments

S* is the true segment of highest IoU, the earlier of equals; several predictions may share one.
Range [0, 1]. Example: [0, 4] against [0, 5] earns .5 * .8 + .5 * exp(-1 / .5) = .4677.

Hardened: pairs are one to one, the sum is divided by max(N_pred, N_gt), and the .5 s become .2 of
the true segment's length: half a second is much in a segment of one second, little in one of forty.
The same pair then earns .5 * .8 + .5 * exp(-1 / 1.0) = .5839.
"""

import math

from affect.matching import best_by_iou
from affect.timeline import Segment
from rewards.comparison import Comparison, segment_iou
from rewards.constants import HARDENED, PAPER, HardenedConstants, PaperConstants


def closeness(predicted: Segment, true: Segment, iou: float, share: float, decay: float) -> float:
    """r of equation 6, in [0, 1]: `share` (alpha) of IoU, the rest of the boundaries' distance."""
    distance_seconds = abs(predicted.start_seconds - true.start_seconds) + abs(
        predicted.end_seconds - true.end_seconds
    )
    return share * iou + (1.0 - share) * math.exp(-distance_seconds / decay)


def paper(comparison: Comparison, constants: PaperConstants = PAPER) -> float:
    """Equation 6 over all segments read; 0 where none was."""
    predicted, true = comparison.reply.segments, comparison.truth.segments
    if not predicted:
        return 0.0
    total = 0.0
    for segment, best in zip(predicted, best_by_iou(predicted, true), strict=True):
        nearest = true[best or 0]  # no overlap at all: every IoU is 0, and the earlier of equals
        total += closeness(
            segment,
            nearest,
            segment_iou(segment, nearest),
            constants.overlap_share,
            constants.boundary_decay_seconds,
        )
    return total / len(predicted)


def hardened(
    comparison: Comparison,
    constants: PaperConstants = PAPER,
    hardened_constants: HardenedConstants = HARDENED,
) -> float:
    """One-to-one pairs, divided by the larger count; 0 for what fails the strict parse."""
    timeline = comparison.reply.timeline
    if timeline is None:
        return 0.0
    total = 0.0
    for pair in comparison.pairs:
        true = comparison.truth.segments[pair.true]
        true_seconds = true.end_seconds - true.start_seconds
        total += closeness(
            timeline.segments[pair.predicted],
            true,
            pair.iou,
            constants.overlap_share,
            hardened_constants.boundary_decay_share * true_seconds,
        )
    return total / comparison.num_slots
