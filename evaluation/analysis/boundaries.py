"""How far off the replies' boundaries are.

An inner boundary is where a segment other than the first (in time) starts, strictly inside the
clip. In a clip that counts, true and predicted ones are paired one to one and in order, as many as
the shorter list has, so that the sum of |predicted - true| is lowest; among equal sums the earlier
predicted ones (or true ones, where those are more) are taken. Errors are predicted minus true:
below 0 is too early. What is left over is missed (true) or extra (predicted). A clip that counts
without a usable reply misses all of its boundaries.

Example: true 4.0 and 9.0, predicted 4.5, 6.0 and 8.0: pairs 4.0-4.5 and 9.0-8.0, errors +.5 and
-1.0, one extra; within .5 s: 1 of 2.
"""

import math
import statistics
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from affect.timeline import Segment
from evaluation.analysis.document import Bin, BoundaryErrors, Share
from evaluation.analysis.transitions import in_time_order
from evaluation.metrics import Clip, ClipScore
from evaluation.metrics.bootstrap import FloatArray

WITHIN_SECONDS = (0.1, 0.25, 0.5, 1.0, 2.0)

# .3 s each, symmetric around 0, and no error between times of one decimal lies on an edge.
BIN_EDGES_SECONDS = tuple(round(0.15 + 0.3 * step, 2) for step in range(-10, 10))

# 8.4 - 4.2 and 4.2 differ in their last bit.
_SLACK_SECONDS = 1e-9


def inner_boundaries(segments: Sequence[Segment], duration_seconds: float) -> list[float]:
    """Starts of all segments but the first, ascending, strictly between 0 and the duration."""
    starts = [segment.start_seconds for segment in in_time_order(segments)[1:]]
    return [start for start in starts if 0.0 < start < duration_seconds]


def pair_boundaries(truth: Sequence[float], predicted: Sequence[float]) -> list[tuple[int, int]]:
    """Indices (true, predicted) of the pairs, both ascending; min(len, len) pairs.

    Costs len(truth) * len(predicted) steps.
    """
    if len(truth) > len(predicted):
        return [(i, j) for j, i in pair_boundaries(predicted, truth)]
    # lowest[i][j]: sum of errors that truth[i:] reaches with predicted[j:].
    lowest = [[math.inf] * (len(predicted) + 1) for _ in truth]
    lowest.append([0.0] * (len(predicted) + 1))
    for i in reversed(range(len(truth))):
        for j in reversed(range(len(predicted))):
            paired = abs(truth[i] - predicted[j]) + lowest[i + 1][j + 1]
            lowest[i][j] = min(paired, lowest[i][j + 1])
    pairs: list[tuple[int, int]] = []
    next_predicted = 0
    for i, wanted in enumerate(truth):
        for j in range(next_predicted, len(predicted)):
            reached = abs(wanted - predicted[j]) + lowest[i + 1][j + 1]
            if reached <= lowest[i][next_predicted] + _SLACK_SECONDS:
                pairs.append((i, j))
                next_predicted = j + 1
                break
    assert len(pairs) == len(truth)
    return pairs


class BoundaryCounts:
    """Per clip: true boundaries (clips, 1), and those met within each distance (clips, 5)."""

    def __init__(self, clips: Sequence[Clip], scores: Sequence[ClipScore]) -> None:
        self.truth = np.zeros((len(clips), 1))
        self.met = np.zeros((len(clips), len(WITHIN_SECONDS)))
        self.errors_seconds: list[float] = []
        self.num_predicted = 0
        for row, (clip, score) in enumerate(zip(clips, scores, strict=True)):
            if not score.counted:
                continue
            duration_seconds = clip.truth.duration_seconds
            truth = inner_boundaries(clip.truth.segments, duration_seconds)
            predicted = inner_boundaries(score.predicted, duration_seconds)
            errors = [predicted[j] - truth[i] for i, j in pair_boundaries(truth, predicted)]
            self.truth[row] = len(truth)
            self.num_predicted += len(predicted)
            self.errors_seconds += errors
            self.met[row] = [
                sum(abs(error) <= seconds + _SLACK_SECONDS for error in errors)
                for seconds in WITHIN_SECONDS
            ]

    def columns(self) -> tuple[FloatArray, FloatArray]:
        """Numerators and denominators of `within`."""
        return self.met, np.repeat(self.truth, len(WITHIN_SECONDS), axis=1)

    def document(self, within: Sequence[Share]) -> BoundaryErrors:
        """From the shares of `columns`."""
        errors = self.errors_seconds
        return BoundaryErrors(
            bins=histogram(errors),
            num_paired=len(errors),
            num_missed=int(self.truth.sum()) - len(errors),
            num_extra=self.num_predicted - len(errors),
            mean_absolute_seconds=statistics.fmean(map(abs, errors)) if errors else None,
            median_seconds=statistics.median(errors) if errors else None,
            within={
                str(seconds): share for seconds, share in zip(WITHIN_SECONDS, within, strict=True)
            },
        )


def histogram(errors_seconds: Sequence[float]) -> tuple[Bin, ...]:
    """Counts between `BIN_EDGES_SECONDS`, with an open bin at either end."""
    counts = [0] * (len(BIN_EDGES_SECONDS) + 1)
    for error in errors_seconds:
        counts[bisect_right(BIN_EDGES_SECONDS, error)] += 1
    edges = [None, *BIN_EDGES_SECONDS, None]
    return tuple(
        Bin(from_seconds=low, to_seconds=high, count=count)
        for low, high, count in zip(edges, edges[1:], counts, strict=False)
    )
