"""The published protocol of TSL-300 and ordinary recall, precision and F2 beside it.

At each tIoU of .10, .15, .20, .25 and .30, and as the mean over the five (AVG):

    map                     mean over both polarities of the average precision, ties at their lowest
    map_best_tie_order      the same with ties at their highest: what the order of hits and misses
                            could change
    ap_positive, ap_negative
    mean_running_recall     what the script calls recall: the mean over the ranked list of the
    mean_running_precision  recall (precision) so far, then over both polarities
    published_f2            5PR / (4P + R) of those two
    recall, precision       of the whole list, mean over both polarities
    f2                      5PR / (4P + R) of those two

All are fractions. The mean over polarities is undefined where one has no annotation. Intervals are
percentiles of a bootstrap over videos: matches are made within videos, so a draw of videos needs no
new matching.

Example: `score_rows(labels.subset("test"), found.candidates, Bootstrap())`
"""

from collections.abc import Mapping, Sequence

import numpy as np

from evaluation.metrics import Bootstrap
from evaluation.metrics.bootstrap import draw_counts, interval
from evaluation.suites.tsl300.candidates import Candidate
from evaluation.suites.tsl300.curves import VALUES, f2, values_of
from evaluation.suites.tsl300.labels import POLARITIES, TslVideo
from evaluation.suites.tsl300.matches import FloatArray, Ranked, rank
from evaluation.suites.tsl300.results import METRICS, TIOU_THRESHOLDS, TslScoreRow

TIE_RULE = (
    "equal scores have no order: among them higher tIoU is matched first, which settles hits and "
    "misses; average precision takes the misses before the hits (no order of these gives less), "
    "running means are the expectation over the orders of hits and misses"
)


def score_rows(
    videos: Sequence[TslVideo],
    candidates: Mapping[str, Sequence[Candidate]],
    bootstrap: Bootstrap | None = None,
) -> tuple[TslScoreRow, ...]:
    """Every metric of METRICS at every threshold, then averaged.

    videos without candidates count. Raises ValueError where there is no video or where candidates
    are of a video that is not among these.
    """
    if not videos:
        raise ValueError("there is no video to score")
    known = {video.id for video in videos}
    for video_id in candidates:
        if video_id not in known:
            raise ValueError(
                f"{video_id}: predictions of a video that is not in the subset that is scored"
            )
    bootstrap = bootstrap or Bootstrap()
    ranked = [rank(videos, candidates, polarity) for polarity in POLARITIES]
    whole = _metrics(np.ones((1, len(videos))), ranked)
    blocks = [_metrics(draws, ranked) for draws in draw_counts(len(videos), bootstrap)]
    rows: list[TslScoreRow] = []
    for metric in METRICS:
        replicates = np.concatenate([block[metric] for block in blocks])
        for column, tiou in enumerate((*TIOU_THRESHOLDS, None)):
            mean = whole[metric][0, column]
            bounds = interval(replicates[:, column], bootstrap.confidence)
            undefined = bool(np.isnan(mean)) or bounds is None
            rows.append(
                TslScoreRow(
                    metric=metric,
                    tiou=tiou,
                    mean=None if np.isnan(mean) else float(mean),
                    low=None if undefined or bounds is None else bounds[0],
                    high=None if undefined or bounds is None else bounds[1],
                )
            )
    return tuple(rows)


def _metrics(draws: FloatArray, ranked: Sequence[Ranked]) -> dict[str, FloatArray]:
    """(draws, thresholds + 1) by metric; the last column is AVG."""
    positive, negative = (values_of(draws, one) for one in ranked)
    mean = {name: (positive[name] + negative[name]) / 2 for name in VALUES}
    by_threshold = {
        "map": mean["ap_low"],
        "map_best_tie_order": mean["ap_high"],
        "ap_positive": positive["ap_low"],
        "ap_negative": negative["ap_low"],
        "mean_running_recall": mean["mean_running_recall"],
        "mean_running_precision": mean["mean_running_precision"],
        "published_f2": f2(mean["mean_running_precision"], mean["mean_running_recall"]),
        "recall": mean["recall"],
        "precision": mean["precision"],
        "f2": f2(mean["precision"], mean["recall"]),
    }
    return {
        name: np.concatenate([value, value.mean(axis=1, keepdims=True)], axis=1)
        for name, value in by_threshold.items()
    }
