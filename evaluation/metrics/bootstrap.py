"""Bootstrap over clips: intervals of means and of differences, from the same draws.

A replicate draws as many clips as there are, with replacement, and divides the summed numerators
by the summed denominators. Two systems scored on the same clips are resampled with the same draws
(paired), so what both find hard does not blur their difference. Intervals are percentiles of the
replicates; one that draws no denominator at all has no value and is left out.

Example: `replicate_means(numerators, denominators, Bootstrap())` has shape (2000, metrics).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# 4 million draws at a time hold 32 MB each for the draws and for their counts.
MAX_DRAWS_AT_ONCE = 4_000_000


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """num_replicates draws from one seed; intervals hold `confidence` of the replicates."""

    num_replicates: int = 2000
    seed: int = 0
    confidence: float = 0.95

    def __post_init__(self) -> None:
        if self.num_replicates < 1:
            raise ValueError(f"the bootstrap needs 1 replicate or more, not {self.num_replicates}")
        if self.seed < 0:
            raise ValueError(f"the bootstrap's seed must be 0 or more, not {self.seed}")
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0 and 1, not {self.confidence}")


def draw_counts(num_clips: int, bootstrap: Bootstrap) -> Iterator[FloatArray]:
    """Blocks of (replicates, num_clips): how often each replicate drew each clip."""
    generator = np.random.default_rng(bootstrap.seed)
    block = max(1, MAX_DRAWS_AT_ONCE // num_clips)
    for first in range(0, bootstrap.num_replicates, block):
        num_rows = min(block, bootstrap.num_replicates - first)
        draws = generator.integers(0, num_clips, size=(num_rows, num_clips))
        flat = draws + np.arange(num_rows)[:, None] * num_clips
        counts = np.bincount(flat.ravel(), minlength=num_rows * num_clips)
        yield counts.reshape(num_rows, num_clips).astype(np.float64)


def divide(numerators: FloatArray, denominators: FloatArray) -> FloatArray:
    """numerators / denominators, NaN where a denominator is 0."""
    result = np.full(numerators.shape, np.nan)
    np.divide(numerators, denominators, out=result, where=denominators > 0)
    return result


def replicate_means(
    numerators: FloatArray, denominators: FloatArray, bootstrap: Bootstrap
) -> FloatArray:
    """Means of all replicates, (replicates, metrics), from per-clip parts (clips, metrics)."""
    assert numerators.shape == denominators.shape
    return replicate_all([(numerators, denominators)], bootstrap)[0]


def replicate_all(
    parts: Sequence[tuple[FloatArray, FloatArray]], bootstrap: Bootstrap
) -> list[FloatArray]:
    """`replicate_means` of several pairs over the same clips, from one set of draws."""
    assert len({len(array) for pair in parts for array in pair}) == 1 and len(parts[0][0]) > 0
    blocks = [
        [divide(counts @ numerators, counts @ denominators) for numerators, denominators in parts]
        for counts in draw_counts(len(parts[0][0]), bootstrap)
    ]
    return [np.concatenate(of_one) for of_one in zip(*blocks, strict=True)]


def interval(replicates: FloatArray, confidence: float) -> tuple[float, float] | None:
    """Percentile interval of one metric's replicates; None where none has a value."""
    values = replicates[~np.isnan(replicates)]
    if len(values) == 0:
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)
