"""Many shares at once: ratios of sums over clips, with intervals from one set of draws.

    table = ShareTable(num_clips=3)
    handle = table.add(numerators=[[1.0], [0.0], [2.0]], denominators=[[1.0], [1.0], [2.0]])
    table.shares(Bootstrap())[handle][0].mean           # .75

Every number of an analysis is a column here, as every metric is one in `evaluation.metrics`.
Groups of clips are columns too, which are 0 outside the group: a replicate draws from all clips,
so a group's size varies with it, as it would if the clips were gathered anew.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from evaluation.analysis.document import Share
from evaluation.metrics.bootstrap import (
    Bootstrap,
    FloatArray,
    divide,
    interval,
    replicate_means,
)


class ShareTable:
    """Columns of numerators and denominators over the same clips in the same order."""

    def __init__(self, num_clips: int) -> None:
        self._num_clips = num_clips
        self._parts: list[tuple[FloatArray, FloatArray]] = []

    def add(self, numerators: ArrayLike, denominators: ArrayLike) -> int:
        """Both (clips, columns). Returns the handle under which `shares` has these columns."""
        above = np.asarray(numerators, dtype=np.float64)
        below = np.asarray(denominators, dtype=np.float64)
        assert above.shape == below.shape and above.ndim == 2 and len(above) == self._num_clips
        self._parts.append((above, below))
        return len(self._parts) - 1

    def shares(self, bootstrap: Bootstrap) -> list[tuple[Share, ...]]:
        """For each `add`, in order, the shares of its columns."""
        numerators, denominators = (
            np.concatenate(arrays, axis=1) for arrays in zip(*self._parts, strict=True)
        )
        above, below = numerators.sum(axis=0), denominators.sum(axis=0)
        means = divide(above, below)
        replicates = replicate_means(numerators, denominators, bootstrap)
        all_shares = [
            _share(means[i], above[i], below[i], replicates[:, i], bootstrap.confidence)
            for i in range(len(means))
        ]
        widths = [part.shape[1] for part, _ in self._parts]
        ends = np.cumsum(widths).tolist()
        return [
            tuple(all_shares[end - width : end]) for end, width in zip(ends, widths, strict=True)
        ]


def _share(
    mean: float, above: float, below: float, replicates: FloatArray, confidence: float
) -> Share:
    if not below > 0:
        return Share(mean=None, low=None, high=None, numerator=float(above), denominator=0.0)
    bounds = interval(replicates, confidence)
    low, high = bounds if bounds else (None, None)
    return Share(
        mean=float(mean), low=low, high=high, numerator=float(above), denominator=float(below)
    )


def masked(parts: FloatArray, members: Sequence[bool]) -> FloatArray:
    """The parts (clips, columns) of some clips, 0 for the others."""
    return parts * np.asarray(members, dtype=np.float64)[:, None]
