"""Means by hand, with weights, intervals over clips, and the counts beside them."""

import numpy as np
import pytest

from affect.judge_dimensions import JUDGE_DIMENSIONS
from evaluation.judge.judgements import JUDGED_COLUMNS, JudgeScoreRow, SegmentJudgement
from evaluation.judge.samples import unscored
from evaluation.judge.scoring import score_judgements
from evaluation.judge.table import column_title, judge_table
from evaluation.metrics import Bootstrap
from evaluation.tables import points


def judged(clip: str, place: int, overall: float, *scores: float) -> SegmentJudgement:
    return SegmentJudgement(
        id=clip,
        segment=place,
        state="judged",
        scores=dict(zip(JUDGE_DIMENSIONS, scores, strict=True)),
        overall=overall,
    )


def gated(clip: str, weight: int) -> SegmentJudgement:
    zeros = dict.fromkeys(JUDGE_DIMENSIONS, 0.0)
    return SegmentJudgement(
        id=clip, segment=None, state="gated", scores=zeros, overall=0.0, weight=weight
    )


def rows(*judgements: SegmentJudgement, clips: str = "abcd") -> dict[str, JudgeScoreRow]:
    found = score_judgements(
        "judge_hardened", "m", list(clips), judgements, num_unparsed=1, num_missing=2
    )
    assert tuple(row.dimension for row in found) == JUDGED_COLUMNS
    return {row.dimension: row for row in found}


def test_means_literally() -> None:
    found = rows(
        judged("a", 0, 5, 1, 2, 3, 4, 5),
        judged("a", 1, 3, 5, 5, 5, 5, 5),
        judged("b", 0, 2, 0, 0, 1, 1, 3),
        gated("c", 3),
        unscored("d", 0, "refused"),
    )
    # Three judged segments and a clip that weighs three: sums over 6.
    assert found["visual_grounding"].mean == pytest.approx((1 + 5 + 0) / 6)
    assert found["answer_consistency"].mean == pytest.approx((5 + 5 + 3) / 6)
    assert found["average"].mean == pytest.approx((3 + 5 + 1) / 6)
    assert found["overall"].mean == pytest.approx((5 + 3 + 2) / 6)
    for row in found.values():
        assert (row.num_judged, row.num_gated, row.num_unscored) == (3, 3, 1)
        assert (row.num_unparsed, row.num_missing) == (1, 2)
        assert row.low is not None and row.high is not None and row.mean is not None
        assert 0 <= row.low <= row.mean <= row.high <= 5
        assert (row.judge, row.model) == ("judge_hardened", "m")


def test_the_average_is_the_mean_of_the_five() -> None:
    found = rows(judged("a", 0, 0, 1, 2, 3, 4, 5), judged("b", 0, 5, 0, 0, 0, 0, 1))
    five = [found[name].mean or 0.0 for name in JUDGE_DIMENSIONS]
    assert found["average"].mean == pytest.approx(sum(five) / 5) == pytest.approx(1.6)


def test_intervals_are_of_clips_and_not_of_segments() -> None:
    """A slow bootstrap of our own: clips drawn with all their segments."""
    judgements = [
        *(judged("a", place, 5, *[5] * 5) for place in range(6)),
        judged("b", 0, 1, *[1] * 5),
        judged("c", 0, 3, *[2] * 5),
    ]
    row = rows(*judgements)["overall"]
    sums, weights = {"a": 30, "b": 1, "c": 3, "d": 0}, {"a": 6, "b": 1, "c": 1, "d": 0}
    bootstrap = Bootstrap()
    draws = np.random.default_rng(bootstrap.seed).integers(0, 4, size=(2000, 4))
    means = []
    for draw in draws:
        drawn = ["abcd"[place] for place in draw]
        if weight := sum(weights[clip] for clip in drawn):
            means.append(sum(sums[clip] for clip in drawn) / weight)
    assert row.mean == pytest.approx(34 / 8)
    assert (row.low, row.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))


def test_nothing_scored_is_no_zero() -> None:
    row = rows(unscored("a", 0, "refused"))["overall"]
    assert (row.mean, row.low, row.high, row.num_unscored) == (None, None, None, 1)
    assert points(row.mean, row.low, row.high) == "-"


def test_the_table_shows_counts() -> None:
    found = list(rows(judged("a", 0, 3, 1, 2, 3, 4, 5), gated("c", 2)).values())
    table = judge_table("judge_hardened.m", found)
    assert [str(column.header) for column in table.columns] == [
        "VG", "CL", "VC", "TC", "AC", "Avg", "overall",
    ]  # fmt: skip
    assert "Segments: 1 judged, 2 gated" in str(table.caption)
    assert "1 unparsed, 2 missing" in str(table.caption)
    assert column_title("average") == "Avg"
    assert points(found[0].mean, found[0].low, found[0].high).startswith("0.33 [")
