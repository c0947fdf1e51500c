"""Rows of scores and of paired differences, against numbers computed by hand and a slow loop."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from affect.timeline import Segment, Timeline
from evaluation.metrics import Bootstrap, Clip, compare_clips, make_clip, score_clips

FIELDS = [
    "protocol",
    "metric",
    "mean",
    "low",
    "high",
    "num_scored",
    "num_unparsed",
    "num_missing",
]


def joy(end_seconds: float = 10.0) -> Timeline:
    return Timeline((Segment(0.0, end_seconds, "Joy", "They dance."),), end_seconds)


def clips(right: list[bool]) -> list[Clip]:
    wrong = joy().to_json().replace("Joy", "Fear")
    return [
        make_clip(str(index), joy(), joy().to_json() if good else wrong)
        for index, good in enumerate(right)
    ]


def test_rows_have_exactly_the_agreed_fields_and_are_json() -> None:
    for row in score_clips(clips([True, False])):
        assert list(row.to_dict()) == FIELDS
        assert json.loads(json.dumps(row.to_dict(), allow_nan=False)) == asdict(row)
        assert row.mean is None or 0.0 <= row.mean <= 1.0


def test_counts_add_up_to_the_clips() -> None:
    mixed = [*clips([True, True]), make_clip("x", joy(), "no"), make_clip("y", joy(), None)]
    for row in score_clips(mixed):
        assert (row.num_scored, row.num_unparsed, row.num_missing) == (2, 1, 1)


def test_difference_of_equal_systems_is_zero_with_no_width() -> None:
    same = clips([True, False, True, False])
    for row in compare_clips(("a", same), ("b", same)):
        assert row.difference in (0.0, None)
        assert (row.low, row.high) in ((0.0, 0.0), (None, None))


def test_difference_is_paired() -> None:
    """Other is right on ten more clips of 40 and wrong on none that base had right."""
    base = clips([True] * 20 + [False] * 20)
    other = clips([True] * 30 + [False] * 10)
    (row,) = [
        row
        for row in compare_clips(("base", base), ("other", other), ["strict"])
        if row.metric == "emo_acc"
    ]
    assert (row.base, row.other, row.num_clips) == ("base", "other", 40)
    assert row.difference == pytest.approx(0.25)
    # 10 of 40 clips differ, always in one direction: the difference is never below 0, and its
    # replicates are binomial(40, 1/4) / 40.
    generator = np.random.default_rng(0)
    draws = generator.integers(0, 40, size=(2000, 40))
    slow = ((draws >= 20) & (draws < 30)).mean(axis=1)
    assert (row.low, row.high) == pytest.approx(tuple(np.quantile(slow, [0.025, 0.975])))
    assert row.low is not None and row.low > 0


def test_same_seed_same_rows() -> None:
    some = clips([True, False, True])
    assert score_clips(some, bootstrap=Bootstrap(seed=4)) == score_clips(
        some, bootstrap=Bootstrap(seed=4)
    )


def test_undefined_side_has_no_difference() -> None:
    base = clips([True, True])
    other = [make_clip("0", joy(), "no"), make_clip("1", joy(), None)]
    (row,) = [
        row
        for row in compare_clips(("base", base), ("other", other), ["released"])
        if row.metric == "miou_segment"
    ]
    assert (row.difference, row.low, row.high) == (None, None, None)
