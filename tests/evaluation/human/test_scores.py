"""Means, counts and agreement of a small study, by hand."""

from pathlib import Path

import pytest

from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.sheets.ratings import ExpertRatings
from evaluation.human.scores import agree_experts, count_systems, item_means, score_systems
from evaluation.human.sheets import write_study
from evaluation.human.study import StudyItem, StudyKey
from evaluation.metrics.bootstrap import Bootstrap
from evaluation.runs import load_runs
from tests.evaluation.files import reply
from tests.evaluation.human.studies import two_segments, write_runs

BOOTSTRAP = Bootstrap(num_replicates=200)


@pytest.fixture
def key(tmp_path: Path) -> StudyKey:
    """One: two segments of `a`, one of `b`. Two: one of `a`, and `b` without a reply, whose truth
    has two segments. Two experts."""
    replies = {
        "one": {"a": two_segments(), "b": reply([[0, 8, "Joy"]])},
        "two": {"a": reply([[0, 8, "Joy"]]), "b": None},
    }
    runs = load_runs(
        write_runs(tmp_path, replies),
        "test",
        labels={tmp_path / "one": "one", tmp_path / "two": "two"},
    )
    return write_study(tmp_path / "study", runs, 2, 2)


def rated(
    key: StudyKey, logic: list[tuple[int | None, int | None]], others: int = 5
) -> ExpertRatings[StudyItem]:
    """logic: per item, in the key's order, both experts' ratings of causal logic."""
    ratings: dict[str, dict[str, dict[str, int | None]]] = {
        name: {expert: {item.id: others for item in key.items} for expert in key.experts}
        for name in JUDGE_DIMENSIONS
    }
    ratings["causal_logic"] = {
        expert: {item.id: logic[n][place] for n, item in enumerate(key.items)}
        for place, expert in enumerate(key.experts)
    }
    return ExpertRatings(key.experts, key.items, ratings, ())


def test_means_by_hand(key: StudyKey) -> None:
    # Items: a of one (two segments), a of two, b of one.
    assert [(item.row_id, item.system) for item in key.items] == [
        ("a", "one"), ("a", "one"), ("a", "two"), ("b", "one"),
    ]  # fmt: skip
    ratings = rated(key, [(4, 3), (2, None), (1, 1), (0, 5)])
    rows = {
        (row.system, row.dimension): row
        for row in score_systems(key, ratings, "left_out", BOOTSTRAP)
    }
    logic = rows["one", "causal_logic"]
    assert logic.mean == pytest.approx((4 + 3 + 2 + 0 + 5) / 5)
    assert (logic.num_ratings, logic.num_missing, logic.num_videos, logic.num_zeros) == (5, 1, 2, 0)
    # Both videos: 14/5; a alone: 9/3; b alone: 5/2. Nothing else can be drawn.
    assert (logic.low, logic.high) == (2.5, 3.0)
    grounding = rows["one", "visual_grounding"]
    assert (grounding.mean, grounding.low, grounding.high) == (5.0, 5.0, 5.0)
    assert (grounding.num_ratings, grounding.num_missing) == (6, 0)
    # Of the second segment one expert gave all five: (4 * 5 + 2) / 5; the other is missing.
    average = rows["one", "average"]
    assert average.mean == pytest.approx((24 / 5 + 23 / 5 + 22 / 5 + 20 / 5 + 25 / 5) / 5)
    assert (average.num_ratings, average.num_missing) == (5, 1)
    # A video without anything of a system can be all that is drawn: then it has no mean.
    two = rows["two", "causal_logic"]
    assert (two.mean, two.low, two.high, two.num_videos) == (1.0, 1.0, 1.0, 1)


def test_failures_as_zero(key: StudyKey) -> None:
    ratings = rated(key, [(4, 3), (2, None), (1, 1), (0, 5)])
    rows = {
        (row.system, row.dimension): row for row in score_systems(key, ratings, "zero", BOOTSTRAP)
    }
    two = rows["two", "causal_logic"]
    # Two segments of the truth times two experts: four zeros beside two ratings of 1.
    assert two.mean == pytest.approx(2 / 6)
    assert (two.num_ratings, two.num_missing, two.num_zeros, two.num_videos) == (2, 0, 4, 2)
    assert (two.low, two.high) == (0.0, 1.0)
    assert rows["one", "causal_logic"].num_zeros == 0


def test_ratings_left_open_are_missing_and_not_zero(key: StudyKey) -> None:
    nothing: list[tuple[int | None, int | None]] = [(None, None)] * 4
    ratings = rated(key, nothing)
    rows = {
        (row.system, row.dimension): row
        for row in score_systems(key, ratings, "left_out", BOOTSTRAP)
    }
    for column in ("causal_logic", "average"):
        row = rows["one", column]
        assert row.mean is row.low is row.high is None
        assert (row.num_ratings, row.num_missing, row.num_videos) == (0, 6, 0)
    assert rows["one", "visual_grounding"].mean == 5.0
    means = item_means(ratings)[key.items[0].id]
    assert means["causal_logic"] is means["average"] is None
    assert ratings.num_missing() == {"expert_1": 4, "expert_2": 4}


def test_what_there_was_to_rate(key: StudyKey) -> None:
    one, two = count_systems(key)
    assert (one.system, one.num_videos, one.num_segments) == ("one", 2, 3)
    assert (one.num_unparsed, one.num_missing) == (0, 0)
    assert (two.system, two.num_videos, two.num_segments) == ("two", 2, 1)
    assert (two.num_unparsed, two.num_missing) == (0, 1)


def test_experts_by_hand(key: StudyKey) -> None:
    rows = {
        row.dimension: row for row in agree_experts(rated(key, [(4, 3), (2, 2), (1, 1), (0, 0)]))
    }
    logic = rows["causal_logic"]
    # Squared distances: 1 in all observed. Expected over (4, 2, 1, 0) x (3, 2, 1, 0):
    # 1+4+9+16, 1+0+1+4, 4+1+0+1, 9+4+1+0, in all 56: kappa 1 - 4 * 1 / 56.
    assert logic.mean_kappa == pytest.approx(1 - 4 / 56)
    assert (logic.num_pairs, logic.num_undefined_pairs) == (1, 0)
    assert logic.alpha.value is not None and 0.9 < logic.alpha.value < 1
    grounding = rows["visual_grounding"]
    assert grounding.mean_kappa is None
    assert (grounding.num_pairs, grounding.num_undefined_pairs) == (0, 1)
    assert grounding.alpha.reason == "all ratings are the same"
