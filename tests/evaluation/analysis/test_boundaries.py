"""Boundaries: pairs against all that are possible, and numbers by hand."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.analysis.analyse import analyse
from evaluation.analysis.boundaries import (
    BIN_EDGES_SECONDS,
    histogram,
    inner_boundaries,
    pair_boundaries,
)
from evaluation.analysis.document import BoundaryErrors
from evaluation.metrics import PROTOCOLS, Bootstrap
from tests.evaluation.analysis.drawn import Written, load, written_clips
from tests.evaluation.metrics.test_protocols import timeline

FEW = Bootstrap(num_replicates=20)
THREE = [[0, 4, "Joy"], [4, 9, "Fear"], [9, 12, "Relief"]]


def boundaries(written: list[Written], protocol: str = "strict") -> BoundaryErrors:
    return analyse(*load(written), protocol, FEW).boundaries


def slow_pairs(truth: list[int], predicted: list[int]) -> list[tuple[int, int]]:
    """Of all ways to give each of the fewer one of the others, in order: the cheapest, earliest."""
    if len(truth) > len(predicted):
        return [(i, j) for j, i in slow_pairs(predicted, truth)]
    choices = combinations(range(len(predicted)), len(truth))
    _, best = min(
        (sum(abs(truth[i] - predicted[j]) for i, j in enumerate(chosen)), chosen)
        for chosen in choices
    )
    return list(enumerate(best))


_whole_seconds = st.lists(st.integers(0, 12), max_size=6).map(sorted)


@given(_whole_seconds, _whole_seconds)
def test_pairs_equal_the_cheapest_of_all(truth: list[int], predicted: list[int]) -> None:
    assert pair_boundaries(truth, predicted) == slow_pairs(truth, predicted)


@given(st.lists(st.integers(1, 120), max_size=6), st.lists(st.integers(1, 120), max_size=6))
def test_pairs_in_tenths_cost_no_more_than_the_cheapest(
    truth_tenths: list[int], predicted_tenths: list[int]
) -> None:
    truth_tenths.sort()
    predicted_tenths.sort()
    truth = [tenths / 10 for tenths in truth_tenths]
    predicted = [tenths / 10 for tenths in predicted_tenths]
    pairs = pair_boundaries(truth, predicted)
    slow = slow_pairs(truth_tenths, predicted_tenths)
    assert sum(abs(truth_tenths[i] - predicted_tenths[j]) for i, j in pairs) == sum(
        abs(truth_tenths[i] - predicted_tenths[j]) for i, j in slow
    )
    assert pairs == slow


def test_pairs_by_hand() -> None:
    assert pair_boundaries([4.0, 9.0], [4.5, 6.0, 8.0]) == [(0, 0), (1, 2)]
    assert pair_boundaries([4.5, 6.0, 8.0], [4.0, 9.0]) == [(0, 0), (2, 1)]
    assert pair_boundaries([5.0], [4.0, 6.0]) == [(0, 0)]
    assert pair_boundaries([5.0, 6.0], [9.0, 1.0][::-1]) == [(0, 0), (1, 1)]
    assert pair_boundaries([], [1.0]) == pair_boundaries([1.0], []) == []


def test_inner_boundaries_lie_inside_the_clip() -> None:
    assert inner_boundaries(timeline(THREE, 12.0).segments, 12.0) == [4.0, 9.0]
    loose = load(
        [("a", THREE, [[5, 1e300, "Joy"], [-1, 2, "Joy"], [1e300, 3, "Joy"], [12, 13, ""]])]
    )
    assert loose[1][0].reply is not None
    assert inner_boundaries(loose[1][0].reply.segments, 12.0) == [5.0]


def test_bins_are_symmetric_and_hold_three_tenths_each() -> None:
    assert len(BIN_EDGES_SECONDS) == 20 and BIN_EDGES_SECONDS[-1] == 2.85
    assert [-edge for edge in reversed(BIN_EDGES_SECONDS)] == list(BIN_EDGES_SECONDS)
    bins = histogram([tenths / 10 for tenths in range(-40, 41)])
    assert [one.count for one in bins] == [12, *[3] * 19, 12]
    middle = bins[10]
    assert (middle.from_seconds, middle.to_seconds) == (-0.15, 0.15)
    assert (bins[0].from_seconds, bins[0].to_seconds) == (None, -2.85)
    assert (bins[-1].from_seconds, bins[-1].to_seconds) == (2.85, None)
    assert [one.count for one in histogram([0.15])][11] == 1


def test_by_hand() -> None:
    found = boundaries(
        [
            ("right", THREE, THREE),
            (
                "extra",
                THREE,
                [[0, 4.5, "Joy"], [4.5, 6, "Fear"], [6, 8, "Relief"], [8, 12, "Joy"]],
            ),
            ("one", THREE, [[0, 3.8, "Joy"], [3.8, 12, "Fear"]]),
            ("lost", THREE, "no"),
        ]
    )
    # Errors 0, 0, +.5, -1.0, -.2; "one" misses one boundary, "lost" two; one is extra.
    assert (found.num_paired, found.num_missed, found.num_extra) == (5, 3, 1)
    assert found.mean_absolute_seconds == pytest.approx(1.7 / 5)
    assert found.median_seconds == pytest.approx(0.0)
    met = {seconds: share.numerator for seconds, share in found.within.items()}
    assert met == {"0.1": 2, "0.25": 3, "0.5": 4, "1.0": 5, "2.0": 5}
    assert {share.denominator for share in found.within.values()} == {8}
    counts = {one.from_seconds: one.count for one in found.bins if one.count}
    assert counts == {-0.15: 2, 0.45: 1, -1.05: 1, -0.45: 1}


def test_a_tenth_that_floats_miss_still_lies_within_a_tenth() -> None:
    assert 1.1 - 1.0 > 0.1
    truth = [[0, 1.0, "Joy"], [1.0, 8, "Fear"]]
    found = boundaries([("a", truth, [[0, 1.1, "Joy"], [1.1, 8, "Fear"]])])
    assert found.within["0.1"].mean == 1.0


def test_released_leaves_failures_and_its_boundaries_out() -> None:
    written: list[Written] = [("right", THREE, THREE), ("lost", THREE, "no")]
    assert boundaries(written, "released").num_missed == 0
    assert boundaries(written, "paper").num_missed == 2


def test_nothing_to_measure_has_no_value() -> None:
    found = boundaries([("a", [[0, 8, "Joy"]], [[0, 8, "Joy"]])])
    assert (found.num_paired, found.mean_absolute_seconds, found.median_seconds) == (0, None, None)
    assert {share.mean for share in found.within.values()} == {None}


@given(written_clips())
@settings(max_examples=25, deadline=None)
def test_counts_add_up(written: list[Written]) -> None:
    for name in PROTOCOLS:
        found = boundaries(written, name)
        assert sum(one.count for one in found.bins) == found.num_paired
        shares = list(found.within.values())
        assert {share.denominator for share in shares} == {found.num_paired + found.num_missed}
        met = [share.numerator for share in shares]
        assert met == sorted(met) and (not met or met[-1] <= found.num_paired)
        assert min(found.num_missed, found.num_extra) >= 0
