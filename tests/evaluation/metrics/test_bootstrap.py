"""Resampling: seeds, equality with a slow loop, and intervals that cover what they should."""

import numpy as np
import pytest

from evaluation.metrics import bootstrap
from evaluation.metrics.bootstrap import Bootstrap, draw_counts, interval, replicate_means


def slow_means(
    numerators: list[float], denominators: list[float], settings: Bootstrap
) -> list[float]:
    """One replicate at a time, clip by clip, from the same generator."""
    generator = np.random.default_rng(settings.seed)
    num_clips = len(numerators)
    draws = generator.integers(0, num_clips, size=(settings.num_replicates, num_clips))
    means = []
    for row in draws.tolist():
        total = sum(denominators[clip] for clip in row)
        means.append(sum(numerators[clip] for clip in row) / total if total else float("nan"))
    return means


def test_equals_a_slow_loop() -> None:
    numerators, denominators = [0.5, 2.0, 0.0, 0.0, 1.0], [1.0, 3.0, 0.0, 2.0, 1.0]
    settings = Bootstrap(num_replicates=300, seed=3)
    fast = replicate_means(np.array([numerators]).T, np.array([denominators]).T, settings)
    assert fast.shape == (300, 1)
    np.testing.assert_allclose(
        fast[:, 0], slow_means(numerators, denominators, settings), rtol=0, atol=1e-12
    )


def test_each_replicate_draws_as_many_clips_as_there_are() -> None:
    for counts in draw_counts(17, Bootstrap(num_replicates=50, seed=1)):
        assert (counts.sum(axis=1) == 17).all()


def test_same_seed_same_means_other_seed_others() -> None:
    values = np.arange(20.0)[:, None]
    ones = np.ones_like(values)
    first = replicate_means(values, ones, Bootstrap(seed=5))
    np.testing.assert_array_equal(first, replicate_means(values, ones, Bootstrap(seed=5)))
    assert not np.array_equal(first, replicate_means(values, ones, Bootstrap(seed=6)))


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.arange(20.0)[:, None]
    ones = np.ones_like(values)
    whole = replicate_means(values, ones, Bootstrap(num_replicates=101))
    monkeypatch.setattr(bootstrap, "MAX_DRAWS_AT_ONCE", 20 * 7)
    np.testing.assert_array_equal(
        whole, replicate_means(values, ones, Bootstrap(num_replicates=101))
    )


def test_interval_is_the_percentiles_of_what_has_a_value() -> None:
    replicates = np.array([np.nan, *np.arange(101.0), np.nan])
    assert interval(replicates, 0.9) == pytest.approx((5.0, 95.0))
    assert interval(np.array([np.nan, np.nan]), 0.95) is None


def test_coverage_of_a_known_mean() -> None:
    """95 % intervals of 200 samples of 100 coins with p = .4: 190 are expected to hold .4.

    The 1-in-10,000 tail of a binomial around the percentile bootstrap's true coverage (about
    94 % here) begins below 174.
    """
    generator = np.random.default_rng(11)
    covered = 0
    for trial in range(200):
        coins = (generator.random((100, 1)) < 0.4).astype(float)
        bounds = interval(
            replicate_means(coins, np.ones_like(coins), Bootstrap(500, seed=trial))[:, 0], 0.95
        )
        assert bounds is not None
        covered += bounds[0] <= 0.4 <= bounds[1]
    assert 174 <= covered <= 199


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_replicates": 0}, "1 replicate or more"),
        ({"seed": -1}, "0 or more"),
        ({"confidence": 1.0}, "between 0 and 1"),
    ],
)
def test_settings_out_of_range(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bootstrap(**settings)  # type: ignore[arg-type]
