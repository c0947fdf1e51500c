"""Rows of scores and of paired differences, against numbers computed by hand and a slow loop."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from affect.timeline import Segment, Timeline
from evaluation.metrics import (
    PROTOCOLS,
    Bootstrap,
    Clip,
    compare_clips,
    make_clip,
    score_clips,
)

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


def above_zero(base: list[Clip], other: list[Clip], metric: str, protocol: str) -> float | None:
    rows = compare_clips(("base", base), ("other", other), [protocol])
    return next(row.share_above_zero for row in rows if row.metric == metric)


def test_share_above_zero_equals_a_slow_count() -> None:
    """Other is right on 3 clips that base misses and wrong on 2 that base has."""
    base = clips([True] * 10 + [False] * 10)
    other = clips([True] * 8 + [False] * 2 + [True] * 3 + [False] * 7)
    draws = np.random.default_rng(0).integers(0, 20, size=(2000, 20))
    gains = ((draws >= 10) & (draws < 13)).sum(axis=1)
    losses = ((draws >= 8) & (draws < 10)).sum(axis=1)
    slow = float((gains > losses).mean())
    assert 0.5 < slow < 0.7
    assert above_zero(base, other, "emo_acc", "strict") == slow


def test_share_above_zero_of_equal_better_and_undefined_systems() -> None:
    some = clips([True, False, True, False])
    assert above_zero(some, some, "emo_acc", "strict") == 0.0
    assert above_zero(clips([False] * 4), clips([True] * 4), "emo_acc", "strict") == 1.0
    assert above_zero(clips([True] * 4), clips([False] * 4), "emo_acc", "strict") == 0.0
    lost = [make_clip(clip.id, clip.truth, "no") for clip in some]
    assert above_zero(some, lost, "emo_acc", "released") is None


def test_protocols_together_equal_each_alone() -> None:
    """One set of draws serves all of them, and gives each what it had from its own."""
    some = [*clips([True, False, True]), make_clip("x", joy(), "no"), make_clip("y", joy(), None)]
    alone = [row for name in PROTOCOLS for row in score_clips(some, [name])]
    assert score_clips(some) == alone
    base = [*clips([True, True, False]), make_clip("x", joy(), joy().to_json()), some[4]]
    pairs = ("base", base), ("some", some)
    assert compare_clips(*pairs) == [
        row for name in PROTOCOLS for row in compare_clips(*pairs, protocols=[name])
    ]
