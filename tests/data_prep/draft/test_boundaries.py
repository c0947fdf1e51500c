"""Where segments meet: cuts and fades first, then large changes, never too near."""

import pytest

from data_prep.build.config import DraftSection
from data_prep.draft.boundaries import find_boundaries
from data_prep.draft.measures import measure_frames
from data_prep.records import Cut
from tests.data_prep.draft.plain_frames import checkerboard, frames_of, plain_frames

GREY, RED, BLUE = (128, 128, 128), (255, 0, 0), (0, 0, 255)
SETTINGS = DraftSection()


def cut(time_seconds: float) -> Cut:
    return Cut(time_seconds=time_seconds, kind="cut")


def test_a_change_of_colour_without_a_cut_is_found_where_it_happens() -> None:
    measures = measure_frames(plain_frames([GREY] * 12 + [RED] * 8))
    (boundary,) = find_boundaries(measures, (), 5.0, SETTINGS)
    assert (boundary.time_seconds, boundary.kind) == (3.0, "colour")
    # Mean of 127, 128 and 128 of 255, over .12.
    assert boundary.strength == pytest.approx(0.5 / 0.12, rel=0.02)


def test_a_change_of_pace_is_found_where_it_happens() -> None:
    still = [checkerboard(51, 204)] * 12
    moving = [checkerboard(51, 204, swapped=n % 2 == 0) for n in range(12)]
    (boundary,) = find_boundaries(measure_frames(frames_of(still + moving)), (), 6.0, SETTINGS)
    assert boundary.kind == "motion"
    assert 2.5 <= boundary.time_seconds <= 3.0


def test_nothing_changes() -> None:
    assert find_boundaries(measure_frames(plain_frames([GREY] * 20)), (), 5.0, SETTINGS) == ()


def test_cuts_go_before_changes_and_keep_their_distance() -> None:
    measures = measure_frames(plain_frames([GREY] * 12 + [RED] * 8))
    cuts = (cut(0.9), cut(2.2), cut(3.1), cut(3.3), cut(4.1))
    found = find_boundaries(measures, cuts, 5.0, SETTINGS)
    # .9 and 4.1 are too near an end, 3.1 too near 2.2, and the change at 3.0 too near both.
    assert [(b.time_seconds, b.kind) for b in found] == [(2.2, "cut"), (3.3, "cut")]


def test_a_dissolve_is_one_boundary() -> None:
    steps = [(128 + 32 * n, 128 - 32 * n, 128 - 32 * n) for n in range(4)]
    measures = measure_frames(plain_frames([GREY] * 12 + steps + [RED] * 12))
    (boundary,) = find_boundaries(measures, (), 7.0, SETTINGS)
    assert 3.25 <= boundary.time_seconds <= 3.75


def test_the_strongest_boundaries_stay() -> None:
    measures = measure_frames(plain_frames([GREY] * 8 + [RED] * 8 + [BLUE] * 8))
    kept = find_boundaries(measures, (), 6.0, DraftSection(max_segments=2))
    assert [b.time_seconds for b in kept] == [4.0], "red to blue is the larger change"
    assert find_boundaries(measures, (), 6.0, DraftSection(max_segments=1)) == ()
    assert len(find_boundaries(measures, (), 6.0, SETTINGS)) == 2
