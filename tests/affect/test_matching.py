"""Overlap and pairing, against literal cases and a slow search through all matchings."""

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.matching import (
    best_by_intersection,
    best_by_iou,
    intersection_seconds,
    interval_iou,
    match_one_to_one,
)
from affect.timeline import Segment

ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)


def segments(*bounds: tuple[float, float]) -> list[Segment]:
    return [Segment(start, end, "Joy", "why") for start, end in bounds]


@pytest.mark.parametrize(
    ("a", "b", "iou", "seconds"),
    [
        ((0.0, 4.0), (0.0, 4.0), 1.0, 4.0),
        ((0.0, 4.0), (2.0, 6.0), 1 / 3, 2.0),
        ((0.0, 4.0), (1.0, 2.0), 0.25, 1.0),
        ((0.0, 4.0), (4.0, 8.0), 0.0, 0.0),
        ((0.0, 1.0), (5.0, 6.0), 0.0, 0.0),
        ((4.0, 0.0), (0.0, 4.0), 0.0, 0.0),  # reversed
        ((2.0, 2.0), (0.0, 4.0), 0.0, 0.0),  # empty
        ((2.0, 2.0), (2.0, 2.0), 0.0, 0.0),
        ((math.nan, 4.0), (0.0, 4.0), 0.0, 0.0),
        ((0.0, math.nan), (0.0, 4.0), 0.0, 0.0),
        ((-1.0, 1.0), (0.0, 3.0), 0.25, 1.0),
    ],
)
def test_overlap(
    a: tuple[float, float], b: tuple[float, float], iou: float, seconds: float
) -> None:
    assert interval_iou(*a, *b) == interval_iou(*b, *a) == pytest.approx(iou)
    assert intersection_seconds(*a, *b) == intersection_seconds(*b, *a) == seconds


def test_infinite_intervals_have_no_iou() -> None:
    assert interval_iou(0.0, math.inf, 0.0, math.inf) == 0.0
    assert interval_iou(-math.inf, math.inf, 0.0, 4.0) == 0.0
    assert interval_iou(-1e308, 1e308, -1e308, 1e308) == 0.0


@given(ANY_FLOAT, ANY_FLOAT, ANY_FLOAT, ANY_FLOAT)
def test_iou_is_a_share_for_any_floats(a: float, b: float, c: float, d: float) -> None:
    iou = interval_iou(a, b, c, d)
    assert 0.0 <= iou <= 1.0
    assert iou == interval_iou(c, d, a, b)
    assert intersection_seconds(a, b, c, d) >= 0.0


@given(ANY_FLOAT, ANY_FLOAT, ANY_FLOAT, ANY_FLOAT)
def test_iou_is_intersection_over_union(a: float, b: float, c: float, d: float) -> None:
    shared = intersection_seconds(a, b, c, d)
    union = (b - a) + (d - c) - shared
    defined = shared > 0.0 and math.isfinite(union)
    assert interval_iou(a, b, c, d) == (min(1.0, shared / union) if defined else 0.0)


def test_the_two_pairings_differ() -> None:
    # The long truth shares 2.0 s of 10.0 (IoU .2), the short one 1.0 of 2.0 (IoU .5).
    pred, truth = segments((8.0, 10.0)), segments((0.0, 10.0), (9.0, 10.0))
    assert best_by_iou(pred, truth) == [1]
    assert best_by_intersection(pred, truth) == [0]


def test_ties_go_to_the_earlier() -> None:
    # 8.4 - 4.2 exceeds 4.2 in the last bit; that is no reason to choose the later.
    pred, truth = segments((0.0, 8.4)), segments((0.0, 4.2), (4.2, 8.4))
    assert best_by_iou(pred, truth) == [0]
    assert best_by_intersection(pred, truth) == [0]
    assert best_by_intersection(segments((0.1, 0.7)), segments((0.1, 0.4), (0.4, 0.7))) == [0]
    assert match_one_to_one(pred, truth) == [(0, 0)]
    assert match_one_to_one(segments((0.0, 2.0), (0.0, 2.0)), segments((0.0, 2.0))) == [(0, 0)]


def test_without_overlap_there_is_no_pair() -> None:
    pred, truth = segments((5.0, 6.0), (3.0, 1.0)), segments((0.0, 4.0))
    assert best_by_iou(pred, truth) == [None, None]
    assert best_by_intersection(pred, truth) == [None, None]
    assert match_one_to_one(pred, truth) == []
    assert match_one_to_one([], truth) == match_one_to_one(pred, []) == []
    assert best_by_iou(pred, []) == [None, None]


def test_one_truth_is_used_once() -> None:
    truth = segments((0.0, 4.0), (4.0, 9.0))
    assert best_by_iou(segments((0.0, 4.0), (0.0, 4.0)), truth) == [0, 0]
    assert match_one_to_one(segments((0.0, 4.0), (0.0, 4.0)), truth) == [(0, 0)]


def test_the_total_decides_not_the_first_best() -> None:
    # Greedy would give the second truth to the first prediction (IoU .6) and nothing else.
    pred, truth = segments((2.0, 10.0), (8.0, 14.0)), segments((0.0, 5.0), (4.0, 12.0))
    assert interval_iou(2.0, 10.0, 4.0, 12.0) == pytest.approx(0.6)
    assert match_one_to_one(pred, truth) == [(0, 0), (1, 1)]


def test_order_is_kept() -> None:
    # Crossing pairs would give 2.0; in order only one of them can stand, the earlier.
    pred, truth = segments((4.0, 8.0), (0.0, 4.0)), segments((0.0, 4.0), (4.0, 8.0))
    assert match_one_to_one(pred, truth) == [(0, 1)]


GRID = st.tuples(st.integers(0, 8), st.integers(0, 8)).map(lambda b: (b[0] / 2, b[1] / 2))
TIMELINES = st.lists(GRID, max_size=5).map(lambda bounds: segments(*bounds))


def iou(p: Segment, t: Segment) -> float:
    return interval_iou(p.start_seconds, p.end_seconds, t.start_seconds, t.end_seconds)


def all_matchings(pred: list[Segment], truth: list[Segment]) -> list[list[tuple[int, int]]]:
    found = []
    for size in range(min(len(pred), len(truth)) + 1):
        for chosen in combinations(range(len(pred)), size):
            for partners in combinations(range(len(truth)), size):
                pairs = list(zip(chosen, partners, strict=True))
                if all(iou(pred[i], truth[j]) > 0 for i, j in pairs):
                    found.append(pairs)
    return found


@given(TIMELINES, TIMELINES)
def test_one_to_one_against_all_matchings(pred: list[Segment], truth: list[Segment]) -> None:
    totals = [
        (sum(iou(pred[i], truth[j]) for i, j in pairs), pairs)
        for pairs in all_matchings(pred, truth)
    ]
    highest = max(total for total, _ in totals)
    expected = min(pairs for total, pairs in totals if total > highest - 1e-7)
    # Among equal totals a list comes before its own continuation; none has a pair to spare.
    assert all(iou(pred[i], truth[j]) > 0 for i, j in match_one_to_one(pred, truth))
    assert match_one_to_one(pred, truth) == expected


@given(TIMELINES, TIMELINES)
def test_best_against_the_obvious(pred: list[Segment], truth: list[Segment]) -> None:
    def overlap_length(p: Segment, t: Segment) -> float:
        return intersection_seconds(p.start_seconds, p.end_seconds, t.start_seconds, t.end_seconds)

    for choose, value in ((best_by_iou, iou), (best_by_intersection, overlap_length)):
        expected: list[int | None] = []
        for p in pred:
            values = [value(p, t) for t in truth]
            highest = max(values, default=0.0)
            near = [n for n, v in enumerate(values) if v > highest - 1e-7]
            expected.append(near[0] if highest > 0 else None)
        assert choose(pred, truth) == expected
