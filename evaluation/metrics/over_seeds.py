"""Means over runs that differ in their seed, and differences of such means.

A mean is one over seeds of the metric's mean over clips. Its interval is a percentile bootstrap
over the clips: one draw of clips serves all seeds and both sides of a difference (paired). The
interval therefore says how far the clips carry; how far the seeds lie apart stands beside it, seed
by seed.

Example:
    mean_over_seeds([(numerators, denominators), ...], Bootstrap())[0].by_seed    # (.41, .45, .43)
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.metrics.bootstrap import (
    Bootstrap,
    FloatArray,
    divide,
    interval,
    replicate_all,
)

Parts = tuple[FloatArray, FloatArray]
"""One run's numerators and denominators, each (clips, metrics)."""


@dataclass(frozen=True, slots=True)
class SeedMean:
    """One metric; None where a seed gives it no value. by_seed: in the order of the runs."""

    mean: float | None
    low: float | None
    high: float | None
    by_seed: tuple[float | None, ...]


def mean_over_seeds(runs: Sequence[Parts], bootstrap: Bootstrap) -> list[SeedMean]:
    """One value per metric, of runs on the same clips in the same order."""
    replicates = _mean_of(replicate_all(runs, bootstrap))
    by_seed = [_means(parts) for parts in runs]
    return [
        _seed_mean([means[column] for means in by_seed], replicates[:, column], bootstrap)
        for column in range(replicates.shape[1])
    ]


def difference_over_seeds(
    base: Sequence[Parts], other: Sequence[Parts], bootstrap: Bootstrap
) -> list[SeedMean]:
    """Other minus base, one value per metric; by_seed pairs the runs in order.

    The two sides may have different numbers of runs; then by_seed is ().
    """
    drawn = replicate_all([*base, *other], bootstrap)
    replicates = _mean_of(drawn[len(base) :]) - _mean_of(drawn[: len(base)])
    base_means, other_means = ([_means(parts) for parts in side] for side in (base, other))
    differences: list[SeedMean] = []
    for column in range(replicates.shape[1]):
        before = [means[column] for means in base_means]
        after = [means[column] for means in other_means]
        paired = (
            [b - a for a, b in zip(before, after, strict=True)] if len(before) == len(after) else []
        )
        whole = math.fsum(after) / len(after) - math.fsum(before) / len(before)
        bounds = interval(replicates[:, column], bootstrap.confidence)
        differences.append(
            SeedMean(
                _number(whole),
                bounds[0] if bounds else None,
                bounds[1] if bounds else None,
                tuple(_number(value) for value in paired),
            )
        )
    return differences


def _mean_of(replicates: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.stack(replicates).mean(axis=0), dtype=np.float64)


def _means(parts: Parts) -> list[float]:
    numerators, denominators = parts
    means: list[float] = divide(numerators.sum(axis=0), denominators.sum(axis=0)).tolist()
    return means


def _seed_mean(by_seed: list[float], replicates: FloatArray, bootstrap: Bootstrap) -> SeedMean:
    bounds = interval(replicates, bootstrap.confidence)
    return SeedMean(
        _number(math.fsum(by_seed) / len(by_seed)),
        bounds[0] if bounds else None,
        bounds[1] if bounds else None,
        tuple(_number(value) for value in by_seed),
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
