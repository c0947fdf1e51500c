"""Correlations of pairs in videos: by hand, and against resampling written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affect.coefficients import pearson, spearman
from evaluation.human.correlations import correlate, correlate_systems, weighted_pearson
from evaluation.metrics.bootstrap import Bootstrap, draw_counts, interval

BOOTSTRAP = Bootstrap(num_replicates=60, seed=3)


def test_by_hand() -> None:
    """Deviations -1.5 -.5 .5 1.5 and -2 0 1 1: products 3 + 0 + .5 + 1.5 = 5, squares 5 and 6.
    Ranks 1 2 3 4 and 1 2 3.5 3.5: products 2.25 + .25 + .5 + 1.5 = 4.5, squares 5 and 4.5."""
    found = correlate([0, 1, 2, 3], [1, 2, 3, 4], [1, 3, 4, 4], 4, BOOTSTRAP)
    assert found[0].value == pytest.approx(5 / np.sqrt(30))
    assert found[1].value == pytest.approx(4.5 / np.sqrt(5 * 4.5))
    assert found[0].num == found[1].num == 4


def test_what_is_undefined_says_why() -> None:
    for found in correlate([0, 0, 1], [3, 3, 3], [1, 2, 3], 2, BOOTSTRAP):
        assert found.value is found.low is found.high is None
        assert (found.num, found.reason) == (3, "one side is constant")
    for found in correlate([], [], [], 2, BOOTSTRAP):
        assert (found.value, found.num, found.reason) == (None, 0, "fewer than two items")


pairs = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 5), st.sampled_from([0.0, 1 / 3, 2.5, 4.0, 5.0])),
    min_size=2,
    max_size=14,
)


@given(pairs)
@settings(max_examples=60, deadline=None)
def test_the_interval_is_that_of_lists_written_out(
    given_pairs: list[tuple[int, int, float]],
) -> None:
    videos = [one[0] for one in given_pairs]
    first = [float(one[1]) for one in given_pairs]
    second = [one[2] for one in given_pairs]
    found = correlate(videos, first, second, 5, BOOTSTRAP)
    (counts,) = draw_counts(5, BOOTSTRAP)
    for measure, correlation in zip((pearson, spearman), found, strict=True):
        expected = measure(first, second)
        assert correlation.value == expected.value
        if expected.value is None:
            continue
        replicates = []
        for drawn in counts:
            copies = [place for place, video in enumerate(videos) for _ in range(int(drawn[video]))]
            one = measure([first[n] for n in copies], [second[n] for n in copies])
            replicates.append(np.nan if one.value is None else one.value)
        low, high = interval(np.array(replicates), 0.95) or (None, None)
        assert (correlation.low, correlation.high) == (
            pytest.approx(low, abs=1e-9),
            pytest.approx(high, abs=1e-9),
        )


def test_many_replicates_are_done_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    given_pairs = [0, 1, 1, 2], [1, 2, 3, 4], [1, 3, 4, 4]
    whole = correlate(*given_pairs, 3, BOOTSTRAP)
    monkeypatch.setattr("evaluation.human.correlations.MAX_WEIGHTS_AT_ONCE", 28)
    assert correlate(*given_pairs, 3, BOOTSTRAP) == whole


def test_systems_by_hand() -> None:
    """Two videos, three systems; the second video has no pair of the third system. Means of the
    experts 2, 3, 4 and of the judge 1, 4, 3: deviations -1 0 1 and -5/3 4/3 1/3, so
    2 / sqrt(2 * 14/3); ranks 1 2 3 and 1 3 2, so 1 / 2."""
    experts = np.array([[2.0, 6.0, 4.0], [4.0, 3.0, 0.0]])
    judge = np.array([[1.0, 8.0, 3.0], [2.0, 4.0, 0.0]])
    counts = np.array([[1.0, 2.0, 1.0], [2.0, 1.0, 0.0]])
    found = correlate_systems(experts, judge, counts, BOOTSTRAP)
    assert found[0].value == pytest.approx(2 / np.sqrt(2 * 14 / 3))
    assert found[1].value == pytest.approx(0.5)
    assert found[0].num == 3
    replicates: dict[str, list[float]] = {"pearson": [], "spearman": []}
    (drawn,) = draw_counts(2, BOOTSTRAP)
    for weights in drawn:
        if not (weights @ counts).all():
            continue  # only the second video was drawn: nothing of the third system
        one = (weights @ experts / (weights @ counts)).tolist()
        other = (weights @ judge / (weights @ counts)).tolist()
        replicates["pearson"].append(pearson(one, other).value or np.nan)
        replicates["spearman"].append(spearman(one, other).value or np.nan)
    for name, correlation in zip(replicates, found, strict=True):
        low, high = interval(np.array(replicates[name]), 0.95) or (None, None)
        assert (correlation.low, correlation.high) == (pytest.approx(low), pytest.approx(high))


def test_two_systems_are_too_few() -> None:
    values = np.array([[1.0, 2.0, 0.0]])
    counts = np.array([[1.0, 1.0, 0.0]])
    for found in correlate_systems(values, values, counts, BOOTSTRAP):
        assert (found.value, found.num, found.reason) == (None, 2, "fewer than 3 systems")


def test_constant_within_a_replicate_is_no_number() -> None:
    weights = np.array([[0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    # A third is not exact: the mean of three of them is off by a last digit.
    found = weighted_pearson(weights, np.array([1.0, 2.0, 1 / 3]), np.array([2.0, 4.0, 0.1]))
    assert np.isnan(found[:2]).all()
    assert 0.99 < found[2] <= 1
