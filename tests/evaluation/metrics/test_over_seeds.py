"""Means and differences over runs that differ in their seed, in literal numbers."""

import numpy as np
import pytest

from evaluation.metrics import Bootstrap
from evaluation.metrics.bootstrap import replicate_means
from evaluation.metrics.over_seeds import Parts, difference_over_seeds, mean_over_seeds

BOOTSTRAP = Bootstrap(300, seed=3)


def parts(*values: float) -> Parts:
    """One metric of clips that weigh one each."""
    return np.array(values)[:, None], np.ones((len(values), 1))


def test_a_mean_over_seeds_is_the_mean_of_means() -> None:
    a, b = parts(1.0, 0.0, 1.0, 0.0), parts(1.0, 1.0, 1.0, 0.0)
    (found,) = mean_over_seeds([a, b], BOOTSTRAP)
    assert found.mean == 0.625 and found.by_seed == (0.5, 0.75)
    replicates = (replicate_means(*a, BOOTSTRAP) + replicate_means(*b, BOOTSTRAP)) / 2
    assert (found.low, found.high) == pytest.approx(np.quantile(replicates, [0.025, 0.975]))


def test_one_run_is_its_own_mean() -> None:
    (found,) = mean_over_seeds([parts(1.0, 0.5)], BOOTSTRAP)
    assert found.mean == 0.75 and found.by_seed == (0.75,)
    assert (found.low, found.high) == (0.5, 1.0)


def test_a_difference_is_paired_over_clips() -> None:
    base = [parts(0.1, 0.9, 0.4, 0.6)]
    other = [parts(0.2, 1.0, 0.5, 0.7)]
    (found,) = difference_over_seeds(base, other, BOOTSTRAP)
    # What is hard for both does not blur it: the gain is .1 on every clip.
    assert (found.mean, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))
    assert found.by_seed == pytest.approx((0.1,))


def test_sides_may_have_different_numbers_of_runs() -> None:
    base = [parts(0.0, 0.0), parts(1.0, 1.0)]
    (found,) = difference_over_seeds(base, [parts(1.0, 1.0)], BOOTSTRAP)
    assert found.mean == 0.5 and found.by_seed == ()
    assert (found.low, found.high) == (0.5, 0.5)


def test_a_seed_without_a_value_leaves_the_mean_without_one() -> None:
    empty = (np.zeros((2, 1)), np.zeros((2, 1)))
    (found,) = mean_over_seeds([parts(1.0, 1.0), empty], BOOTSTRAP)
    assert found.mean is None and found.by_seed == (1.0, None) and found.low is None
    (difference,) = difference_over_seeds([empty], [parts(1.0, 1.0)], BOOTSTRAP)
    assert difference.mean is None and difference.by_seed == (None,)
