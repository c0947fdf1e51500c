"""Temporal overlap (tIoU) and the named rules by which predicted segments meet true ones.

    >>> interval_iou(0.0, 4.0, 2.0, 6.0)
    0.3333333333333333

Three rules, because the sources differ: DAR's eq. 6 pairs each prediction with the truth of
highest IoU (`best_by_iou`), its eq. 7 with that of largest intersection (`best_by_intersection`),
and both let two predictions share one truth. `match_one_to_one` does not, and keeps the order.
"""

import math
from collections.abc import Callable, Sequence
from typing import Protocol

_TIE = 1e-9
"""IoUs or seconds closer than this count as equal.

8.4 - 4.2 and 4.2 differ in their last bit, and so do sums added up in another order.
"""


class Interval(Protocol):
    """Anything with a start and an end in seconds, first of all a `Segment`."""

    @property
    def start_seconds(self) -> float: ...

    @property
    def end_seconds(self) -> float: ...


def interval_iou(a_start: float, a_end: float, b_start: float, b_end: float) -> float:
    """Return intersection over union of two intervals, in [0, 1].

    0 for empty, reversed, disjoint or non-finite intervals; never NaN. The union is the length
    covered by either, not the hull.
    """
    # `intersection_seconds`, written out: this is called for every pair of every reply.
    if not (a_end > a_start and b_end > b_start):
        return 0.0
    intersection = (a_end if a_end < b_end else b_end) - (a_start if a_start > b_start else b_start)
    if not intersection > 0.0:
        return 0.0
    union = (a_end - a_start) + (b_end - b_start) - intersection
    return min(1.0, intersection / union) if math.isfinite(union) else 0.0


def intersection_seconds(a_start: float, a_end: float, b_start: float, b_end: float) -> float:
    """Return the length that both intervals cover; 0 for empty, reversed or NaN intervals."""
    if not (a_end > a_start and b_end > b_start):
        return 0.0
    return max(0.0, min(a_end, b_end) - max(a_start, b_start))


def best_by_iou(pred: Sequence[Interval], truth: Sequence[Interval]) -> list[int | None]:
    """Return for each prediction the index of the truth with the highest IoU.

    Ties go to the earlier truth; None where no truth overlaps. A truth may be taken repeatedly.
    """
    return _best(pred, truth, interval_iou)


def best_by_intersection(pred: Sequence[Interval], truth: Sequence[Interval]) -> list[int | None]:
    """Return for each prediction the index of the truth with the largest intersection.

    Ties go to the earlier truth; None where no truth overlaps. A truth may be taken repeatedly.
    """
    return _best(pred, truth, intersection_seconds)


def match_one_to_one(pred: Sequence[Interval], truth: Sequence[Interval]) -> list[tuple[int, int]]:
    """Return the pairs (prediction, truth) of the matching with the highest total IoU.

    Both indices rise from pair to pair, each is used at most once, and every pair overlaps.
    Among equal totals the earlier pairs win: the list that comes first in lexicographic order.
    Costs len(pred) * len(truth) steps.
    """
    true_times = [(t.start_seconds, t.end_seconds) for t in truth]
    overlap = [
        [interval_iou(start, end, true_start, true_end) for true_start, true_end in true_times]
        for start, end in [(p.start_seconds, p.end_seconds) for p in pred]
    ]
    # best[i][j]: highest total that pred[i:] and truth[j:] can reach.
    best = [[0.0] * (len(truth) + 1) for _ in range(len(pred) + 1)]
    for i in reversed(range(len(pred))):
        row, next_row, overlaps = best[i], best[i + 1], overlap[i]
        for j in reversed(range(len(truth))):
            skipping = next_row[j] if next_row[j] > row[j + 1] else row[j + 1]
            pairing = overlaps[j] + next_row[j + 1]
            row[j] = pairing if pairing > skipping else skipping
    pairs = []
    remaining, next_truth = best[0][0], 0
    for i in range(len(pred)):
        for j in range(next_truth, len(truth)):
            reached = overlap[i][j] + best[i + 1][j + 1]
            if overlap[i][j] > 0.0 and reached >= remaining - _TIE:
                pairs.append((i, j))
                remaining, next_truth = best[i + 1][j + 1], j + 1
                break
    return pairs


def _best(
    pred: Sequence[Interval],
    truth: Sequence[Interval],
    overlap: Callable[[float, float, float, float], float],
) -> list[int | None]:
    choices: list[int | None] = []
    for p in pred:
        best_value, best_index = 0.0, None
        for index, t in enumerate(truth):
            value = overlap(p.start_seconds, p.end_seconds, t.start_seconds, t.end_seconds)
            if value > best_value + (0.0 if best_index is None else _TIE):
                best_value, best_index = value, index
        choices.append(best_index)
    return choices
