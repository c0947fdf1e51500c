"""Pearson and Spearman of pairs that stem from videos, with intervals from a bootstrap over videos.

    pearson, spearman = correlate([0, 0, 1], [3, 4, 2], [2.5, 4, 1], num_videos=2, Bootstrap())

A replicate draws videos with replacement, each with all its pairs, since segments of one video
are rated alike for reasons of that video. A replicate in which one side is constant has no value
and is left out of the interval. Spearman's ranks are taken anew within each replicate.
"""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from affect.coefficients import Coefficient, Floats, pearson, spearman
from evaluation.human.results import Correlation
from evaluation.metrics.bootstrap import Bootstrap, draw_counts, interval

Places: TypeAlias = NDArray[np.intp]

MIN_SYSTEMS = 3
"""Two points lie on a line whatever they say: their correlation is 1 or -1."""

MAX_WEIGHTS_AT_ONCE = 1_000_000
"""8 MB each for them and for what is made of them."""

_CONSTANT = 1e-12
"""A variance below this share of the squared values is rounding."""


def correlate(
    videos: Sequence[int],
    first: Sequence[float],
    second: Sequence[float],
    num_videos: int,
    bootstrap: Bootstrap,
) -> tuple[Correlation, Correlation]:
    """Over pairs (first, second), each of the video at that place; Pearson's, then Spearman's."""
    found = pearson(first, second), spearman(first, second)
    if found[0].value is None:
        return _without_interval(found[0]), _without_interval(found[1])
    place: Places = np.asarray(videos, dtype=np.intp)
    ranked = _Ranks(first), _Ranks(second)
    blocks: list[tuple[Floats, Floats]] = []
    for weights in _pair_weights(place, num_videos, bootstrap):
        raw = weighted_pearson(weights, np.asarray(first), np.asarray(second))
        of_ranks = weighted_pearson(weights, ranked[0].within(weights), ranked[1].within(weights))
        blocks.append((raw, of_ranks))
    replicates = [np.concatenate(of_one) for of_one in zip(*blocks, strict=True)]
    return (
        _with_interval(found[0], replicates[0], bootstrap),
        _with_interval(found[1], replicates[1], bootstrap),
    )


def correlate_systems(
    first: Floats,
    second: Floats,
    counts: Floats,
    bootstrap: Bootstrap,
) -> tuple[Correlation, Correlation]:
    """Over systems, each with the mean of its pairs; Pearson's, then Spearman's.

    first, second: (videos, systems), sums over the pairs of a video. counts: (videos, systems),
    how many pairs. A replicate without a pair of some system has no value.
    """
    with_pairs = counts.sum(axis=0) > 0
    first, second, counts = first[:, with_pairs], second[:, with_pairs], counts[:, with_pairs]
    num_systems = counts.shape[1]
    if num_systems < MIN_SYSTEMS:
        few = Correlation(
            value=None,
            low=None,
            high=None,
            num=num_systems,
            reason=f"fewer than {MIN_SYSTEMS} systems",
        )
        return few, few
    totals = counts.sum(axis=0)
    one, other = first.sum(axis=0) / totals, second.sum(axis=0) / totals
    found = pearson(one.tolist(), other.tolist()), spearman(one.tolist(), other.tolist())
    if found[0].value is None:
        return _without_interval(found[0]), _without_interval(found[1])
    blocks: list[tuple[Floats, Floats]] = []
    for drawn in draw_counts(len(counts), bootstrap):
        denominators = drawn @ counts
        whole = (denominators > 0).all(axis=1)
        one = (drawn @ first)[whole] / denominators[whole]
        other = (drawn @ second)[whole] / denominators[whole]
        even = np.ones_like(one)
        raw = weighted_pearson(even, one, other)
        blocks.append((raw, weighted_pearson(even, _row_ranks(one), _row_ranks(other))))
    replicates = [np.concatenate(of_one) for of_one in zip(*blocks, strict=True)]
    return (
        _with_interval(found[0], replicates[0], bootstrap),
        _with_interval(found[1], replicates[1], bootstrap),
    )


def _pair_weights(place: Places, num_videos: int, bootstrap: Bootstrap) -> Iterator[Floats]:
    """Blocks of (replicates, pairs): how often each replicate drew each pair's video."""
    num_rows = max(1, MAX_WEIGHTS_AT_ONCE // len(place))
    for counts in draw_counts(num_videos, bootstrap):
        for first in range(0, len(counts), num_rows):
            yield counts[first : first + num_rows, place]


def weighted_pearson(weights: Floats, first: Floats, second: Floats) -> Floats:
    """One coefficient per row of `weights` (rows, pairs); NaN where a side is constant.

    first, second: (pairs) or (rows, pairs). Equal to Pearson's over a list that holds each pair as
    often as its weight says.
    """
    totals = weights.sum(axis=1, keepdims=True)
    first, second = np.broadcast_to(first, weights.shape), np.broadcast_to(second, weights.shape)
    # A draw of videos that have no pair at all has no mean.
    safe = np.where(totals > 0, totals, 1.0)
    a = first - (weights * first).sum(axis=1, keepdims=True) / safe
    b = second - (weights * second).sum(axis=1, keepdims=True) / safe
    squares_a, squares_b = (weights * a * a).sum(axis=1), (weights * b * b).sum(axis=1)
    floor_a = _CONSTANT * (weights * first * first).sum(axis=1)
    floor_b = _CONSTANT * (weights * second * second).sum(axis=1)
    is_defined = (squares_a > floor_a) & (squares_b > floor_b)
    result = np.full(len(weights), np.nan)
    covariances = (weights * a * b).sum(axis=1)
    np.divide(covariances, np.sqrt(squares_a * squares_b), out=result, where=is_defined)
    clipped: Floats = np.clip(result, -1.0, 1.0)
    return clipped


class _Ranks:
    """Mean ranks of one side's values within weighted copies of it."""

    def __init__(self, values: Sequence[float]) -> None:
        distinct, self._place = np.unique(np.asarray(values, dtype=float), return_inverse=True)
        self._is_value = np.zeros((len(self._place), len(distinct)))
        self._is_value[np.arange(len(self._place)), self._place] = 1.0

    def within(self, weights: Floats) -> Floats:
        """(rows, pairs): the rank of each pair's value where it stands as often as `weights`
        says; equal values share the mean of their ranks."""
        of_value = weights @ self._is_value
        ranks: Floats = np.cumsum(of_value, axis=1) - of_value / 2 + 0.5
        of_pairs: Floats = ranks[:, self._place]
        return of_pairs


def _row_ranks(values: Floats) -> Floats:
    """Mean ranks from 1 within each row, (rows, systems)."""
    lower = (values[:, None, :] < values[:, :, None]).sum(axis=2)
    equal = (values[:, None, :] == values[:, :, None]).sum(axis=2)
    ranks: Floats = lower + (equal + 1) / 2
    return ranks


def _without_interval(found: Coefficient) -> Correlation:
    return Correlation(value=found.value, low=None, high=None, num=found.num, reason=found.reason)


def _with_interval(found: Coefficient, replicates: Floats, bootstrap: Bootstrap) -> Correlation:
    low, high = interval(replicates, bootstrap.confidence) or (None, None)
    return Correlation(value=found.value, low=low, high=high, num=found.num, reason=found.reason)
