"""The numbers of one polarity at one threshold, for any number of draws of videos at once.

A ranked list has blocks of equal score. Within one nobody knows the order, and the published script
takes whatever its sort leaves. Here (the tie rule) it is known which candidates of a block hit, by
`evaluation.suites.tsl300.matches`, and their order is taken so:

    ap_low    average precision with the misses of each block in front of its hits: no order of
              these gives less, and it is what the block gives as one point of the curve
    ap_high   with the hits in front: no order of these gives more
    mean_running_recall, mean_running_precision
              the expectation over all orders of a block's hits and misses, exactly

With distinct scores all four are the published ones. A list of blocks that hold n candidates and T
hits, behind B candidates with A hits, over N annotated segments (H_k is the k-th harmonic number):

    AP                 sum over blocks of T/N x the highest precision at or after the block's end
                       (VOC 2011's interpolation)
    running recall     mean over the list of (hits so far) / N:
                       each block adds (n A + T (n + 1) / 2) / N
    running precision  mean over the list of (hits so far) / (candidates so far):
                       each block adds T + (A - B T / n) (H_{B+n} - H_B)

A perfect list has AP 1 and running precision 1, but running recall (N + 1) / 2N: about one half.

A polarity without candidates has 0 everywhere: what it did not find counts, and its precision,
which nothing defines, enters as 0 so that silence cannot raise a mean. One without annotations has
NaN everywhere.

Example: `values_of(np.ones((1, num_videos)), ranked)["ap_low"]` has shape (1, thresholds).
"""

import numpy as np

from evaluation.suites.tsl300.matches import FloatArray, Ranked

VALUES = (
    "ap_low", "ap_high", "mean_running_recall", "mean_running_precision", "recall", "precision",
)  # fmt: skip

MAX_CELLS_AT_ONCE = 2_000_000
"""(draws, blocks) arrays of 16 MB; about ten of them live at once."""


def values_of(draws: FloatArray, ranked: Ranked) -> dict[str, FloatArray]:
    """All of VALUES as (draws, thresholds).

    draws: (draws, videos), how often each video counts. A video drawn twice is two videos, whose
    candidates have equal scores and so share their blocks.
    """
    num_blocks = ranked.listed.shape[1]
    rows = max(1, MAX_CELLS_AT_ONCE // max(1, num_blocks))
    parts = [_values(draws[first : first + rows], ranked) for first in range(0, len(draws), rows)]
    return {name: np.concatenate([part[name] for part in parts]) for name in VALUES}


def _values(draws: FloatArray, ranked: Ranked) -> dict[str, FloatArray]:
    num_thresholds = len(ranked.hits)
    num_truth = draws @ ranked.num_truth
    listed = draws @ ranked.listed
    total_listed = listed.sum(axis=1)
    listed_after = listed.cumsum(axis=1)
    listed_before = listed_after - listed
    harmonic = _harmonic_numbers(int(total_listed.max(initial=0)))
    harmonic_share = (
        harmonic[listed_after.astype(np.intp)] - harmonic[listed_before.astype(np.intp)]
    )
    values = {name: np.zeros((len(draws), num_thresholds)) for name in VALUES}
    for t in range(num_thresholds):
        hits = draws @ ranked.hits[t]
        hits_after = hits.cumsum(axis=1)
        hits_before = hits_after - hits
        total_hits = hits.sum(axis=1)
        values["ap_low"][:, t] = _area(hits, _share(hits_after, listed_after), num_truth)
        values["ap_high"][:, t] = _area(hits, _share(hits_after, listed_before + hits), num_truth)
        running_recall = (listed * hits_before + hits * (listed + 1) / 2).sum(axis=1)
        values["mean_running_recall"][:, t] = _share(running_recall, num_truth * total_listed)
        per_place = _share(hits, listed)
        running_precision = hits + (hits_before - listed_before * per_place) * harmonic_share
        values["mean_running_precision"][:, t] = _share(running_precision.sum(axis=1), total_listed)
        values["recall"][:, t] = _share(total_hits, num_truth)
        values["precision"][:, t] = _share(total_hits, total_listed)
    for value in values.values():
        value[num_truth == 0] = np.nan
    return values


def f2(precision: FloatArray, recall: FloatArray) -> FloatArray:
    """5PR / (4P + R), 0 where both are 0: recall weighs four times as much as precision."""
    return np.where(
        np.isnan(precision) | np.isnan(recall),
        np.nan,
        _share(5 * precision * recall, 4 * precision + recall),
    )


def _area(hits: FloatArray, precision: FloatArray, num_truth: FloatArray) -> FloatArray:
    best_from_here_on = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    return _share((hits * best_from_here_on).sum(axis=1), num_truth)


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    result = np.zeros(np.broadcast_shapes(part.shape, whole.shape))
    np.divide(part, whole, out=result, where=whole > 0)
    return result


def _harmonic_numbers(last: int) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(1 / np.arange(1, last + 1))])
