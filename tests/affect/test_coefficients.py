"""Coefficients against worked examples of the literature, hand-made ones, and scipy."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.coefficients import (
    Coefficient,
    Metric,
    fleiss_kappa,
    krippendorff_alpha,
    mean_ranks,
    pearson,
    spearman,
    weighted_kappa,
)

stats = pytest.importorskip("scipy.stats")


def value_of(coefficient: Coefficient) -> float:
    assert coefficient.value is not None
    assert coefficient.reason is None
    return coefficient.value


def test_correlation_by_hand() -> None:
    # Deviations (-1, 0, 1) and (-1, 1, 0): covariance 1, squares 2 and 2.
    assert value_of(pearson([1, 2, 3], [1, 3, 2])) == pytest.approx(0.5)
    assert value_of(spearman([1, 2, 30], [1, 300, 2])) == pytest.approx(0.5)
    assert value_of(pearson([1, 2], [5, 3])) == -1.0
    assert mean_ranks([5, 2, 5]).tolist() == [2.5, 1.0, 2.5]


numbers = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=40).filter(
    lambda pairs: all(len({pair[side] for pair in pairs}) > 1 for side in (0, 1))
)


@given(numbers)
def test_correlation_as_scipy(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    assert value_of(pearson(first, second)) == pytest.approx(
        stats.pearsonr(first, second).statistic, abs=1e-12
    )
    assert value_of(spearman(first, second)) == pytest.approx(
        stats.spearmanr(first, second).statistic, abs=1e-12
    )


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20))
def test_a_correlation_with_itself_is_1_or_undefined(values: list[float]) -> None:
    found = pearson(values, values)
    assert (found.value is None) == (found.reason is not None)
    assert found.value is None or -1 <= found.value <= 1
    assert spearman(values, values).value in (None, pytest.approx(1.0))


def test_undefined_is_neither_0_nor_1() -> None:
    assert pearson([], []) == Coefficient(value=None, num=0, reason="fewer than two items")
    assert pearson([1], [1]) == Coefficient(value=None, num=1, reason="fewer than two items")
    for first, second in (([3, 3], [1, 2]), ([1, 2], [3, 3]), ([0.1] * 3, [0.3] * 3)):
        assert pearson(first, second).reason == spearman(first, second).reason
        assert pearson(first, second).reason == "one side is constant"
    same = weighted_kappa([4, 4], [4, 4], (3, 4, 5))
    assert same == Coefficient(
        value=None, num=2, reason="both sides give one and the same rating to all"
    )
    assert weighted_kappa([], [], (0, 1)).reason == "no items"
    # Constant, but not the same: they agree no better than chance would.
    assert weighted_kappa([4, 4], [5, 5], (3, 4, 5)).value == 0.0


def test_cohens_kappa_by_hand() -> None:
    """20 times yes-yes, 5 yes-no, 10 no-yes, 15 no-no: .7 observed, .5 expected."""
    first = [1] * 25 + [0] * 25
    second = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert value_of(weighted_kappa(first, second, (0, 1))) == pytest.approx(0.4)


def test_quadratic_weights_by_hand() -> None:
    """Squared distances 0, 0, 1 sum to 1; the margins' products, over three items, to 9 / 3."""
    found = weighted_kappa([0, 1, 2], [0, 1, 1], categories=(0, 1, 2))
    # Expected: all nine pairs of a rating here and one there: (0-0, 0-1, 0-1, 1-0, 1-1, 1-1,
    # 2-0, 2-1, 2-1) squared make 0+1+1+1+0+0+4+1+1 = 9; observed 1 * 3.
    assert value_of(found) == pytest.approx(1 - 3 / 9)


def slow_kappa(first: Sequence[int], second: Sequence[int]) -> float | None:
    num = len(first)
    observed = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / num
    expected = sum((a - b) ** 2 for a in first for b in second) / num**2
    return None if expected == 0 else 1 - observed / expected


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=30))
def test_weighted_kappa_as_the_plain_sums(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    expected = slow_kappa(first, second)
    found = weighted_kappa(first, second, range(6)).value
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-12))


FLEISS_COUNTS = (
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
)  # fmt: skip
"""The common worked example: 14 raters, 10 items, 5 categories; kappa .210."""


def test_fleiss_worked_example() -> None:
    ratings = [
        [category for category, count in enumerate(counts, 1) for _ in range(count)]
        for counts in FLEISS_COUNTS
    ]
    found = fleiss_kappa(ratings, (1, 2, 3, 4, 5))
    assert found.num == 10
    assert value_of(found) == pytest.approx(0.210, abs=5e-4)


def test_fleiss_leaves_out_what_somebody_left_open() -> None:
    found = fleiss_kappa([[1, 1], [2, 2], [1, None]], (1, 2))
    assert (found.value, found.num) == (1.0, 2)
    assert fleiss_kappa([[1, None]], (1, 2)).reason == "no item was rated by all"
    assert fleiss_kappa([], (1, 2)).reason == "no item was rated by all"
    assert fleiss_kappa([[2, 2], [2, 2]], (1, 2)).reason == "all ratings are the same"
    assert fleiss_kappa([[1], [2]], (1, 2)).reason == "fewer than two raters"


N = None
KRIPPENDORFF = (
    (1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N),
    (1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3),
    (N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N),
    (1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N),
)
"""Krippendorff (2011), section C: four observers, twelve units, some missing."""


@pytest.mark.parametrize(
    ("metric", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_krippendorff_worked_example(metric: Metric, alpha: float) -> None:
    items = list(zip(*KRIPPENDORFF, strict=True))
    found = krippendorff_alpha(items, (1, 2, 3, 4, 5), metric)
    assert value_of(found) == pytest.approx(alpha, abs=5e-4)
    assert found.num == 11  # the last unit has one rating only


def test_krippendorff_undefined() -> None:
    assert krippendorff_alpha([[1, N], [N, 2]], (1, 2), "ordinal").reason == (
        "no item has two ratings"
    )
    assert krippendorff_alpha([[2, 2]], (1, 2), "ordinal").reason == "all ratings are the same"
    assert krippendorff_alpha([[1, 1], [2, 2]], (1, 2), "ordinal").value == 1.0


def slow_alpha(items: list[list[int | None]]) -> float | None:
    """Interval alpha from all pairs: within items, and among all ratings that pair at all."""
    whole = [[rating for rating in item if rating is not None] for item in items]
    whole = [item for item in whole if len(item) > 1]
    pooled = [rating for item in whole for rating in item]
    if len(set(pooled)) < 2:
        return None
    observed = sum(
        sum((a - b) ** 2 for a in item for b in item) / (len(item) - 1) for item in whole
    ) / len(pooled)
    expected = sum((a - b) ** 2 for a in pooled for b in pooled)
    return 1 - observed / (expected / (len(pooled) * (len(pooled) - 1)))


rating = st.one_of(st.none(), st.integers(1, 5))


@given(st.lists(st.lists(rating, min_size=3, max_size=3), max_size=15))
def test_alpha_as_the_plain_sums(items: list[list[int | None]]) -> None:
    expected = slow_alpha(items)
    found = krippendorff_alpha(items, (1, 2, 3, 4, 5), "interval").value
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-9))
    for other in ("nominal", "ordinal"):
        alpha = krippendorff_alpha(items, (1, 2, 3, 4, 5), other).value  # type: ignore[arg-type]
        assert (alpha is None) == (expected is None)
        assert alpha is None or (math.isfinite(alpha) and alpha <= 1 + 1e-12)


def test_values_are_plain_floats() -> None:
    found = fleiss_kappa([[1, 2], [2, 2]], (1, 2))
    assert type(found.value) is float
    assert not isinstance(krippendorff_alpha([[1, 2]], (1, 2), "nominal").value, np.floating)
