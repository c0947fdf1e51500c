"""Coefficients of agreement: correlation, Cohen's and Fleiss' kappa, Krippendorff's alpha.

    >>> weighted_kappa([0, 1, 2], [0, 1, 1], categories=(0, 1, 2)).value
    0.6666666666666667
    >>> pearson([3, 3, 3], [1, 2, 3])
    Coefficient(value=None, num=3, reason='one side is constant')

A coefficient that its data does not determine is None and says why: it is neither 0, which would be
no agreement, nor 1. Ratings that are missing are None and never a number.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from affect.frozen import Frozen

Metric = Literal["nominal", "ordinal", "interval"]
Floats = NDArray[np.float64]


class Coefficient(Frozen):
    """value: None where `reason` says why not. num: items that it rests on."""

    value: float | None
    num: int
    reason: str | None = None


def pearson(first: Sequence[float], second: Sequence[float]) -> Coefficient:
    """Linear correlation, -1 to 1."""
    assert len(first) == len(second), (len(first), len(second))
    num = len(first)
    if num < 2:
        return _undefined(num, "fewer than two items")
    a, b = _deviations(first), _deviations(second)
    # Compared as given: after the mean is taken, equal numbers may differ in a last digit.
    if min(first) == max(first) or min(second) == max(second) or not (a.any() and b.any()):
        return _undefined(num, "one side is constant")
    value = float(a @ b) / float(np.sqrt((a @ a) * (b @ b)))
    return Coefficient(value=min(1.0, max(-1.0, value)), num=num)


def _deviations(values: Sequence[float]) -> Floats:
    """From the mean, the largest being 1 or -1, so that no square leaves the range of a float."""
    deviations: Floats = np.asarray(values, dtype=float) - np.mean(values)
    largest = np.abs(deviations).max()
    return deviations / largest if largest > 0 else deviations


def spearman(first: Sequence[float], second: Sequence[float]) -> Coefficient:
    """Correlation of the ranks, equal values sharing their mean rank; -1 to 1."""
    return pearson(mean_ranks(first).tolist(), mean_ranks(second).tolist())


def mean_ranks(values: Sequence[float]) -> Floats:
    """Ranks from 1; equal values share the mean of theirs: [5, 2, 5] -> [2.5, 1, 2.5]."""
    array = np.asarray(values, dtype=float)
    _, places, counts = np.unique(array, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[places]
    return ranks


def weighted_kappa(
    first: Sequence[int], second: Sequence[int], categories: Sequence[int]
) -> Coefficient:
    """Cohen's kappa with quadratic weights: 1 - observed / expected squared distance of places in
    `categories`. At most 1. With two categories it is the plain kappa."""
    assert len(first) == len(second), (len(first), len(second))
    num = len(first)
    if num == 0:
        return _undefined(num, "no items")
    place = {category: index for index, category in enumerate(categories)}
    table = np.zeros((len(categories), len(categories)))
    for one, other in zip(first, second, strict=True):
        table[place[one], place[other]] += 1
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    index = np.arange(len(categories))
    weights = (index[:, None] - index[None, :]) ** 2
    # Whole numbers throughout, so that 0 is 0: both sides times num and num squared.
    expected = float((weights * np.outer(rows, columns)).sum())
    if expected == 0:
        return _undefined(num, "both sides give one and the same rating to all")
    observed = float((weights * table).sum()) * num
    return Coefficient(value=1 - observed / expected, num=num)


def fleiss_kappa(ratings: Sequence[Sequence[int | None]], categories: Sequence[int]) -> Coefficient:
    """Fleiss' kappa, which takes categories as mere names. At most 1.

    ratings: per item one rating per rater; items that somebody left open do not count, since the
    coefficient needs equally many ratings of each.
    """
    whole = [[rating for rating in item if rating is not None] for item in ratings]
    whole = [item for item, given in zip(whole, ratings, strict=True) if len(item) == len(given)]
    num = len(whole)
    if num == 0:
        return _undefined(num, "no item was rated by all")
    num_raters = len(whole[0])
    if num_raters < 2:
        return _undefined(num, "fewer than two raters")
    counts = np.array([[item.count(category) for category in categories] for item in whole])
    assert (counts.sum(axis=1) == num_raters).all(), "raters differ in number, or a strange rating"
    agreeing = (counts * (counts - 1)).sum(axis=1) / (num_raters * (num_raters - 1))
    shares = counts.sum(axis=0) / (num * num_raters)
    if (shares == 1).any():
        return _undefined(num, "all ratings are the same")
    expected = float((shares**2).sum())
    return Coefficient(value=(float(agreeing.mean()) - expected) / (1 - expected), num=num)


def krippendorff_alpha(
    ratings: Sequence[Sequence[int | None]], categories: Sequence[int], metric: Metric
) -> Coefficient:
    """Krippendorff's alpha: 1 - observed / expected disagreement. At most 1.

    ratings: per item one rating per rater; what is missing is left out, and items with a single
    rating, which can agree with none, do not count. metric: how far two categories, listed in
    ascending order, lie apart (Krippendorff 2011, "Computing Krippendorff's alpha-reliability").
    """
    place = {category: index for index, category in enumerate(categories)}
    coincidences = np.zeros((len(categories), len(categories)))
    num = 0
    for item in ratings:
        given = [place[rating] for rating in item if rating is not None]
        if len(given) < 2:
            continue
        num += 1
        counts = np.bincount(given, minlength=len(categories)).astype(float)
        pairs = np.outer(counts, counts) - np.diag(counts)
        coincidences += pairs / (len(given) - 1)
    if num == 0:
        return _undefined(num, "no item has two ratings")
    totals = coincidences.sum(axis=1)
    if np.count_nonzero(totals) == 1:
        return _undefined(num, "all ratings are the same")
    distances = _distances(metric, categories, totals)
    observed = float((coincidences * distances).sum())
    expected = float((np.outer(totals, totals) * distances).sum()) / (totals.sum() - 1)
    return Coefficient(value=1 - observed / expected, num=num)


def _distances(metric: Metric, categories: Sequence[int], totals: Floats) -> Floats:
    """Squared distance of each pair of categories. totals: how often each was given."""
    values = np.asarray(categories, dtype=float)
    if metric == "nominal":
        apart: Floats = (values[:, None] != values[None, :]).astype(float)
        return apart
    if metric == "ordinal":
        # As many ratings lie between two categories, half of both included.
        values = np.cumsum(totals) - totals / 2
    squares: Floats = (values[:, None] - values[None, :]) ** 2
    return squares


def _undefined(num: int, reason: str) -> Coefficient:
    return Coefficient(value=None, num=num, reason=reason)
