"""A cell of runs whose scores are known only as means with intervals.

Example: `mean_of_runs([(3.4, 3.1, 3.7), (3.6, 3.3, 3.9)], "nothing scored").mean`     # 3.5
"""

import math
from collections.abc import Sequence

from evaluation.paper_tables.document import Cell

Estimate = tuple[float | None, float | None, float | None]


def mean_of_runs(estimates: Sequence[Estimate], why_none: str) -> Cell:
    """One run's mean and interval as they are; of several the mean, without an interval.

    An interval of the mean would need each run's draws; what is shown instead is the value of each
    run. A run without a value leaves the cell without one.
    """
    means = [mean for mean, _, _ in estimates if mean is not None]
    if len(means) < len(estimates):
        return Cell(why=why_none)
    if len(estimates) == 1:
        mean, low, high = estimates[0]
        return Cell(mean=mean, low=low, high=high)
    return Cell(mean=math.fsum(means) / len(means), by_run=tuple(means))
