"""Equation 7 by hand: right label and IoU above .5, mean over predictions."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.matching import best_by_intersection, best_by_iou, interval_iou
from affect.timeline import Segment
from rewards import emotion
from rewards.comparison import segment_iou
from tests.rewards.builders import FEAR, JOY, compare, reply_text, timeline, times


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (times(0.0, 4.0, 9.0), 1.0),
        (times(0.0, 5.0, 9.0), 1.0),  # IoU 4/5 twice
        (times(0.0, 4.0, 9.0, emotions=("Joy", "Anger")), 0.5),
        (times(0.0, 4.0, 9.0, emotions=("Fear", "Joy")), 0.0),
        (times(0.0, 2.0, 9.0), 0.5),  # [0,2] has IoU 2/4 = .5, not above; [2,9] has 5/7
        (times(0.0, 9.0, emotions=("Fear",)), 1.0),  # IoU 5/9 with [4,9]
        (times(0.0, 9.0, emotions=("Joy",)), 0.0),  # [4,9] shares more than [0,4]
        (times(0.0, 4.0, 6.5, 9.0, emotions=("Joy", "Fear", "Anger")), 1 / 3),  # 1, .5, wrong
        (reply_text((0.0, 4.0, "joy", JOY), (4.0, 9.0, "FEAR", FEAR)), 0.0),
        (reply_text((0.0, 4.0, "Joy", JOY), (0.0, 4.0, "Joy", FEAR)), 1.0),
        ("", 0.0),
    ],
)
def test_equation_7(text: str, expected: float) -> None:
    assert emotion.paper(compare(text)) == pytest.approx(expected)


def test_a_listed_spelling_is_the_same_label() -> None:
    truth = timeline((0.0, 4.0, "Awe (or Wonder)", JOY))
    text = reply_text((0.0, 4.0, "Awe", JOY))
    assert emotion.paper(compare(text, truth)) == 1.0
    assert emotion.hardened(compare(text, truth)) == 1.0


def test_equation_7_pairs_by_intersection_where_iou_would_pair_differently() -> None:
    truth = timeline((0.0, 2.0, "Joy", JOY), (2.0, 10.0, "Fear", FEAR))
    predicted = [Segment(0.0, 5.0, "Joy", JOY)]
    # [0,5]: with [0,2] 2 s and IoU .4; with [2,10] 3 s and IoU .3.
    assert best_by_intersection(predicted, truth.segments) == [1]
    assert best_by_iou(predicted, truth.segments) == [0]
    # Paired with Fear at IoU .3, Joy is wrong and Fear not enough: 0 for either label.
    for label in ("Joy", "Fear"):
        assert emotion.paper(compare(reply_text((0.0, 5.0, label, JOY)), truth)) == 0.0


@given(
    st.lists(st.integers(0, 90), min_size=2, max_size=2, unique=True),
    st.lists(st.integers(1, 89), max_size=3, unique=True),
)
def test_where_the_two_pairings_differ_neither_clears_one_half(
    interval: list[int], cuts: list[int]
) -> None:
    boundaries = [0, *sorted(cuts), 90]
    truth = [
        Segment(start / 10, end / 10, "Joy", "x") for start, end in itertools.pairwise(boundaries)
    ]
    predicted = Segment(min(interval) / 10, max(interval) / 10, "Joy", "x")
    (by_iou,), (by_seconds,) = (
        best_by_iou([predicted], truth),
        best_by_intersection([predicted], truth),
    )
    if by_iou != by_seconds:
        assert all(segment_iou(predicted, segment) <= 0.5 + 1e-9 for segment in truth)


def test_exactly_one_half_is_not_lost_or_won_in_floats() -> None:
    # The predicted [low, middle] is exactly half of the true [low, high] in tenths of a second; in
    # floats its IoU comes out below a half for some and above for others.
    errors = set()
    for start in range(1, 60):
        for half in (1, 2, 3, 7, 11):
            low, middle, high = start / 10, (start + half) / 10, (start + 2 * half) / 10
            errors.add(interval_iou(low, middle, low, high) - 0.5)
            truth = timeline(
                (0.0, low, "Anger", JOY), (low, high, "Joy", JOY), (high, 9.0, "Fear", FEAR)
            )
            text = times(0.0, low, middle, high, 9.0, emotions=("Anger", "Joy", "Awe", "Fear"))
            # Anger and Fear are right; the half labelled Joy is not above .5, but it is .5.
            assert emotion.paper(compare(text, truth)) == pytest.approx(2 / 4)
            assert emotion.hardened(compare(text, truth)) == pytest.approx(3 / 4)
    assert min(errors) < 0.0 < max(errors)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (times(0.0, 4.0, 9.0), 1.0),
        (times(0.0, 2.0, 9.0), 1.0),  # IoU .5 is enough here, as in the metric
        (times(0.0, 9.0, emotions=("Fear",)), 0.5),  # one right of max(1, 2)
        (times(0.0, 4.0, 6.5, 9.0, emotions=("Joy", "Fear", "Anger")), 2 / 3),  # of max(3, 2)
        (times(0.0, 4.0, 9.0, emotions=("Fear", "Joy")), 0.0),
        (reply_text((0.0, 4.0, "Joy", JOY), (0.0, 4.0, "Joy", FEAR)), 0.0),  # not strict
        ("", 0.0),
    ],
)
def test_hardened(text: str, expected: float) -> None:
    assert emotion.hardened(compare(text)) == pytest.approx(expected)
