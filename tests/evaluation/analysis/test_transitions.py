"""Changes from one emotion to the next, and the distance between two habits."""

import pytest
from hypothesis import given, settings

from affect.timeline import Segment
from evaluation.analysis.document import NOTHING, Transitions
from evaluation.analysis.labels import LabelSet
from evaluation.analysis.transitions import in_time_order, transitions_of
from evaluation.metrics import PROTOCOLS
from tests.evaluation.analysis.drawn import Written, load, written_clips

TWO = [[0, 4, "Joy"], [4, 8, "Fear"]]


def transitions(written: list[Written], protocol: str = "strict") -> Transitions:
    _, clips = load(written)
    scores = [PROTOCOLS[protocol].score_clip(clip) for clip in clips]
    labels = LabelSet.of(segment.emotion for score in scores for segment in score.predicted)
    return transitions_of(clips, scores, labels)


def entries(found: Transitions, counts: tuple[tuple[int, ...], ...]) -> dict[tuple[str, str], int]:
    return {
        (found.labels[i], found.labels[j]): count
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if count
    }


def test_by_hand() -> None:
    found = transitions(
        [
            ("a", TWO, TWO),
            ("b", TWO, [[0, 4, "Fear"], [4, 6, "Joy"], [6, 8, "Relief"]]),
            ("c", TWO, "no"),
            ("d", [[0, 8, "Joy"]], None),
        ]
    )
    assert NOTHING not in found.labels
    assert entries(found, found.truth) == {("Joy", "Fear"): 3}
    assert entries(found, found.predicted) == {
        ("Joy", "Fear"): 1,
        ("Fear", "Joy"): 1,
        ("Joy", "Relief"): 1,
    }
    assert (found.num_truth, found.num_predicted) == (3, 3)
    assert found.distance == pytest.approx((2 / 3 + 1 / 3 + 1 / 3) / 2)


def test_equal_habits_and_disjoint_ones() -> None:
    assert transitions([("a", TWO, TWO)]).distance == 0.0
    swapped = [[0, 4, "Fear"], [4, 8, "Joy"]]
    assert transitions([("a", TWO, swapped)]).distance == 1.0


def test_a_side_without_a_change_has_no_distance() -> None:
    assert transitions([("a", TWO, [[0, 8, "Joy"]])]).distance is None
    assert transitions([("a", [[0, 8, "Joy"]], TWO)]).distance is None
    assert transitions([("a", TWO, None)]).num_predicted == 0


def test_lenient_segments_are_taken_in_time_order_and_equal_neighbours_are_no_change() -> None:
    loose = [[6, 8, "Relief"], [0, 2, "Joy"], [2, 6, "Joy"]]
    found = transitions([("a", TWO, loose)], "paper")
    assert entries(found, found.predicted) == {("Joy", "Relief"): 1}
    order = [
        Segment(float("nan"), 1, "Joy", ""),
        Segment(3, 4, "Fear", ""),
        Segment(0, 1, "Awe", ""),
    ]
    assert [one.emotion for one in in_time_order(order)] == ["Awe", "Fear", "Joy"]


@given(written_clips())
@settings(max_examples=25, deadline=None)
def test_counts_add_up(written: list[Written]) -> None:
    for name in PROTOCOLS:
        found = transitions(written, name)
        assert sum(map(sum, found.truth)) == found.num_truth
        assert found.num_truth == sum(len(spans) - 1 for _, spans, _ in written)
        assert sum(map(sum, found.predicted)) == found.num_predicted
        assert all(found.predicted[i][i] == 0 for i in range(len(found.labels)))
        assert found.distance is None or 0.0 <= found.distance <= 1.0 + 1e-12
