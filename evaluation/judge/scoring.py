"""From judgements to score rows: a mean per dimension, their average, and the judge's own total.

    rows = score_judgements("judge_paper", "gpt-4o", clip_ids, judgements, num_unparsed=3, ...)
    rows[-2].dimension, rows[-2].mean, rows[-2].num_judged        # 'average', 3.41, 412

    mean of a column = sum of weight * score / sum of weight, over judged and gated segments
    average of a segment = (VG + CL + VC + TC + AC) / 5

Weights are 1 but for a clip that is gated as a whole, which weighs as its true segments. Unscored
segments enter neither sum. Intervals: bootstrap over clips (`evaluation.metrics.bootstrap`), where
a clip brings all its segments; a clip without any is drawn like the others and brings nothing.
"""

from collections.abc import Sequence

import numpy as np

from affect.judge_dimensions import JUDGE_DIMENSIONS
from evaluation.judge.judgements import (
    AVERAGE,
    JUDGED_COLUMNS,
    OVERALL,
    JudgeScoreRow,
    SegmentJudgement,
)
from evaluation.metrics.bootstrap import Bootstrap, divide, interval, replicate_means


def score_judgements(
    judge: str,
    model: str,
    clip_ids: Sequence[str],
    judgements: Sequence[SegmentJudgement],
    *,
    num_unparsed: int,
    num_missing: int,
    bootstrap: Bootstrap | None = None,
) -> list[JudgeScoreRow]:
    """One row per column, in the order of JUDGED_COLUMNS. clip_ids: of all rows, one or more."""
    bootstrap = bootstrap or Bootstrap()
    place_of = {clip_id: place for place, clip_id in enumerate(clip_ids)}
    sums = np.zeros((len(clip_ids), len(JUDGED_COLUMNS)))
    weights = np.zeros_like(sums)
    for one in judgements:
        columns = _columns(one)
        if columns is not None:
            sums[place_of[one.id]] += one.weight * np.array(columns)
            weights[place_of[one.id]] += one.weight
    means = divide(sums.sum(axis=0), weights.sum(axis=0))
    replicates = replicate_means(sums, weights, bootstrap)
    rows: list[JudgeScoreRow] = []
    for column, dimension in enumerate(JUDGED_COLUMNS):
        bounds = interval(replicates[:, column], bootstrap.confidence)
        rows.append(
            JudgeScoreRow(
                judge=judge,
                model=model,
                dimension=dimension,
                mean=None if np.isnan(means[column]) else float(means[column]),
                low=bounds[0] if bounds else None,
                high=bounds[1] if bounds else None,
                num_judged=_num(judgements, "judged"),
                num_gated=_num(judgements, "gated"),
                num_unscored=_num(judgements, "unscored"),
                num_unparsed=num_unparsed,
                num_missing=num_missing,
            )
        )
    return rows


def _columns(one: SegmentJudgement) -> list[float] | None:
    """In the order of JUDGED_COLUMNS; None of an unscored segment."""
    if one.scores is None or one.overall is None or one.average is None:
        return None
    values = {**one.scores, AVERAGE: one.average, OVERALL: one.overall}
    assert set(values) == {*JUDGE_DIMENSIONS, AVERAGE, OVERALL}
    return [values[column] for column in JUDGED_COLUMNS]


def _num(judgements: Sequence[SegmentJudgement], state: str) -> int:
    """Segments in this state; a clip that is gated as a whole counts as what it weighs."""
    return sum(one.weight for one in judgements if one.state == state)
