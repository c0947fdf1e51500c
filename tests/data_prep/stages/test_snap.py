"""Snapping: literal cases, and everything compared with a slow choice among all assignments."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_prep.build.config import SnapSection
from data_prep.records import Cut, Proposed, Snapped, Span
from data_prep.stages.lengths import is_long_enough
from data_prep.stages.snap import assign_cuts, snap, snap_targets
from tests.data_prep.stages.clips import looked_at


def snapped(
    duration: float,
    boundaries: Sequence[float],
    cuts: Sequence[float],
    window: float = 0.5,
    fades: Sequence[float] = (),
) -> Snapped:
    times = [0.0, *boundaries, duration]
    spans = tuple(
        Span(start_seconds=start, end_seconds=end, event=f"e{number}")
        for number, (start, end) in enumerate(pairwise(times))
    )
    record = asyncio.run(
        snap.function(
            looked_at(duration, cuts, fades),
            Proposed(spans=spans, author="scripted"),
            SnapSection(window_seconds=window),
        )
    )
    assert isinstance(record, Snapped)
    return record


def outcomes(record: Snapped) -> list[tuple[float, float | None, str]]:
    return [(one.before_seconds, one.after_seconds, one.outcome) for one in record.snaps]


def spans(record: Snapped) -> list[tuple[float, float, str]]:
    return [(span.start_seconds, span.end_seconds, span.event) for span in record.spans]


def test_near_moves_and_far_stays() -> None:
    record = snapped(10.0, [2.8, 6.1], [3.0, 9.4])
    assert outcomes(record) == [(2.8, 3.0, "snapped"), (6.1, 6.1, "kept")]
    assert record.snaps[0].cut == Cut(time_seconds=3.0, kind="cut")
    assert record.snaps[1].cut is None
    assert spans(record) == [(0.0, 3.0, "e0"), (3.0, 6.1, "e1"), (6.1, 10.0, "e2")]


def test_fades_count_and_the_nearest_wins() -> None:
    record = snapped(10.0, [5.0], [4.7], fades=[5.2])
    assert outcomes(record) == [(5.0, 5.2, "snapped")]
    assert record.snaps[0].cut == Cut(time_seconds=5.2, kind="fade")


def test_half_a_second_is_within_the_window() -> None:
    assert outcomes(snapped(10.0, [5.0], [5.5])) == [(5.0, 5.5, "snapped")]
    assert outcomes(snapped(10.0, [5.0], [5.51])) == [(5.0, 5.0, "kept")]
    # 2.3 - 1.8 is a little more than .5 in binary.
    assert outcomes(snapped(10.0, [2.3], [1.8])) == [(2.3, 1.8, "snapped")]


def test_two_boundaries_at_one_cut() -> None:
    """The nearer gets it; what then is too short is joined and told of, never lost unseen."""
    record = snapped(8.0, [2.8, 3.3], [3.0])
    assert outcomes(record) == [(2.8, 3.0, "snapped"), (3.3, None, "merged")]
    assert spans(record) == [(0.0, 3.0, "e0"), (3.0, 8.0, "e1 Then: e2")]


def test_the_other_keeps_its_place_where_there_is_room() -> None:
    record = snapped(8.0, [2.7, 3.45], [3.0])
    assert outcomes(record) == [(2.7, 3.0, "snapped"), (3.45, 3.45, "kept")]


def test_the_other_takes_the_next_free_cut() -> None:
    record = snapped(8.0, [2.8, 3.2], [3.05, 3.6])
    assert outcomes(record) == [(2.8, None, "merged"), (3.2, 3.05, "snapped")]
    record = snapped(8.0, [2.8, 3.3], [3.0, 3.6])
    assert outcomes(record) == [(2.8, 3.0, "snapped"), (3.3, 3.6, "snapped")]


def test_equally_near_goes_to_the_earlier() -> None:
    # .4 from both, although 1.0 - 0.6 is a little more than 1.4 - 1.0 in binary.
    assert outcomes(snapped(8.0, [0.6, 1.4], [1.0])) == [
        (0.6, 1.0, "snapped"),
        (1.4, 1.4, "kept"),
    ]
    assert outcomes(snapped(8.0, [5.0], [4.8, 5.2])) == [(5.0, 4.8, "snapped")]


def test_order_is_kept() -> None:
    """3.3 takes 3.25; then 2.9 may not pass it to 3.38, although that is in its window."""
    targets = [Cut(time_seconds=time, kind="cut") for time in (3.25, 3.38)]
    assert assign_cuts([2.9, 3.3], targets, 0.5) == [None, targets[0]]
    assert assign_cuts([2.9], targets[1:], 0.5) == [targets[1]]


def test_a_cut_near_the_end_of_the_clip_draws_nothing() -> None:
    assert outcomes(snapped(8.0, [0.5], [0.3])) == [(0.5, 0.5, "kept")]
    assert outcomes(snapped(8.0, [7.5], [7.8])) == [(7.5, 7.5, "kept")]
    # 7.62 leaves .38 s; 0.44 is long enough as .4.
    assert outcomes(snapped(8.0, [7.5, 7.59], [7.62], window=0.2))[0][2] == "kept"
    assert outcomes(snapped(8.0, [0.6], [0.44])) == [(0.6, 0.44, "snapped")]


def test_rounding_counts() -> None:
    """The cuts at 0.45 and 0.85 are .4 s apart, but would be written as 0.5 and 0.8."""
    record = snapped(8.0, [0.5, 1.0], [0.45, 0.85], window=0.2)
    assert outcomes(record) == [(0.5, 0.45, "snapped"), (1.0, None, "merged")]


def test_what_is_given_up_is_rather_what_met_no_cut() -> None:
    record = snapped(8.0, [3.0, 3.4], [3.4 - 0.25])
    assert outcomes(record) == [(3.0, 3.15, "snapped"), (3.4, None, "merged")]


def test_a_cut_and_a_fade_at_one_time_are_one() -> None:
    targets = snap_targets(looked_at(8.0, (3.0,), (3.0, 4.0)).cuts, 8.0)
    assert targets == (Cut(time_seconds=3.0, kind="cut"), Cut(time_seconds=4.0, kind="fade"))


def test_one_span_has_nothing_to_snap() -> None:
    record = snapped(5.28, [], [2.0])
    assert spans(record) == [(0.0, 5.28, "e0")]
    assert record.snaps == ()


# Slow reference: of all assignments that keep order and window and share no cut, the one that
# serves the most urgent pair, then the next most urgent, and so on.


def slow_assignment(
    boundaries: Sequence[float], targets: Sequence[Cut], window: float
) -> list[Cut | None]:
    pairs = sorted(
        (round(abs(targets[c].time_seconds - boundaries[b]), 6), b, c)
        for b in range(len(boundaries))
        for c in range(len(targets))
        if round(abs(targets[c].time_seconds - boundaries[b]), 6) <= window
    )
    best: tuple[list[bool], tuple[int | None, ...]] | None = None
    choices: list[int | None] = [None, *range(len(targets))]
    for chosen in product(choices, repeat=len(boundaries)):
        taken = [place for place in chosen if place is not None]
        if taken != sorted(set(taken)):
            continue
        allowed = {(b, c) for _, b, c in pairs}
        if any(c is not None and (b, c) not in allowed for b, c in enumerate(chosen)):
            continue
        served = [chosen[b] == c for _, b, c in pairs]
        if best is None or served > best[0]:
            best = (served, chosen)
    assert best is not None
    return [None if place is None else targets[place] for place in best[1]]


DECIMALS = st.integers(0, 400).map(lambda number: number / 50)  # 0 to 8 s by .02


@st.composite
def proposals(draw: st.DrawFn) -> tuple[float, list[float]]:
    duration = draw(st.integers(40, 900)) / 100
    boundaries: list[float] = []
    for time in sorted(draw(st.lists(DECIMALS, max_size=5, unique=True))):
        start = boundaries[-1] if boundaries else 0.0
        if is_long_enough(start, time) and is_long_enough(time, duration):
            boundaries.append(time)
    return duration, boundaries


@settings(max_examples=150, deadline=None)
@given(proposals(), st.lists(DECIMALS, max_size=5), st.sampled_from([0.0, 0.2, 0.5, 0.9]))
def test_assignment_is_the_slow_one(
    proposal: tuple[float, list[float]], cut_times: list[float], window: float
) -> None:
    duration, boundaries = proposal
    targets = snap_targets(looked_at(duration, cut_times).cuts, duration)
    assert assign_cuts(boundaries, targets, window) == slow_assignment(boundaries, targets, window)


@settings(max_examples=300, deadline=None)
@given(
    proposals(),
    st.lists(DECIMALS, max_size=12),
    st.lists(DECIMALS, max_size=4),
    st.sampled_from([0.0, 0.2, 0.5, 1.5]),
)
def test_what_always_holds(
    proposal: tuple[float, list[float]],
    cut_times: list[float],
    fade_times: list[float],
    window: float,
) -> None:
    duration, boundaries = proposal
    record = snapped(duration, boundaries, cut_times, window, fade_times)
    times = [0.0, *(span.end_seconds for span in record.spans)]
    assert times[-1] == duration
    assert [span.start_seconds for span in record.spans] == times[:-1]
    for start, end in pairwise(times):
        assert end - start >= 0.4 - 1e-6
        assert round(end, 1) - round(start, 1) >= 0.4 - 1e-6
    assert [one.before_seconds for one in record.snaps] == boundaries
    assert [one.after_seconds for one in record.snaps if one.outcome != "merged"] == times[1:-1]
    visual = {*cut_times, *fade_times}
    used = []
    for one in record.snaps:
        if one.outcome == "kept":
            assert one.after_seconds == one.before_seconds and one.cut is None
        if one.outcome == "merged":
            assert one.after_seconds is None
        if one.outcome == "snapped":
            assert one.cut is not None and one.after_seconds == one.cut.time_seconds
            assert abs(one.after_seconds - one.before_seconds) <= window + 1e-6
        if one.cut is not None:
            assert one.cut.time_seconds in visual
            used.append(one.cut.time_seconds)
    assert len(used) == len(set(used))
    # Every event is still told, in order.
    told = " Then: ".join(span.event for span in record.spans).split(" Then: ")
    assert told == [f"e{number}" for number in range(len(boundaries) + 1)]


def test_no_window_moves_nothing() -> None:
    assert outcomes(snapped(8.0, [3.0], [3.1], window=0.0)) == [(3.0, 3.0, "kept")]


@pytest.mark.parametrize("offset", [0.0, 0.01])
def test_merging_goes_on_until_all_is_long_enough(offset: float) -> None:
    record = snapped(8.0, [3.0, 3.4, 3.8], [3.2 + offset, 3.3 + offset, 3.45 + offset])
    assert [one.outcome for one in record.snaps].count("merged") == 2
    assert len(record.spans) == 2
