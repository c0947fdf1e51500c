"""Cuts and fades of drawn pictures, at the frames where they were drawn."""

from fractions import Fraction

import pytest

from affect.video.timing import Timing
from data_prep.picture.boundaries import Boundaries
from data_prep.picture.view import Pixels
from data_prep.records import Cut
from tests.data_prep.picture.drawn import faded, flat, pan, scene, seen_by, timing_of


def boundaries_of(pictures: list[Pixels], timing: Timing | None = None) -> list[tuple[float, str]]:
    watcher = seen_by(Boundaries(cut_threshold=27.0, fade_threshold=12.0), pictures)
    found = watcher.cuts(timing or timing_of(len(pictures)))
    return [(cut.time_seconds, cut.kind) for cut in found]


def test_cuts() -> None:
    pictures = pan(1, 30) + pan(2, 8) + pan(3, 40)
    assert boundaries_of(pictures) == [(1.2, "cut"), (1.52, "cut")]


def test_nothing_to_find() -> None:
    assert boundaries_of(pan(1, 60)) == []
    assert boundaries_of([scene(1)]) == []


@pytest.mark.parametrize("level", [0, 255])
def test_a_fade_through_black_or_white(level: int) -> None:
    """Blended into it from frame 15 to 30 and out of it until 45, with another scene behind."""
    pictures = faded(pan(1, 30) + pan(2, 40), level, 15, 30, 45)
    ((time_seconds, kind),) = boundaries_of(pictures)
    assert kind == "fade" and time_seconds == pytest.approx(1.2, abs=0.041)


def test_black_between_two_jumps_is_two_cuts() -> None:
    pictures = pan(1, 20) + [flat(0)] * 25 + pan(2, 20)
    assert boundaries_of(pictures) == [(0.8, "cut"), (1.8, "cut")]


def test_black_at_start_and_end_is_no_boundary() -> None:
    pictures = pan(1, 75)
    into = faded(pictures, 0, -1, 0, 25)
    assert boundaries_of(faded(into, 0, 50, 74, 75)) == []


def test_a_dissolve_is_not_found() -> None:
    before, after = scene(1), scene(2)
    mixed = [
        (before * (1 - n / 25.0) + after * (n / 25.0)).round().astype("uint8") for n in range(26)
    ]
    assert boundaries_of([before] * 25 + mixed + [after] * 25) == []


def test_a_flash_is_one_cut() -> None:
    pictures = pan(1, 50)
    pictures[25:27] = [flat(255)] * 2
    assert boundaries_of(pictures) == [(1.0, "cut")]


def test_a_cut_too_close_to_the_start() -> None:
    assert boundaries_of(pan(1, 4) + pan(2, 30)) == []
    assert boundaries_of(pan(1, 5) + pan(2, 30)) == [(0.2, "cut")]


def test_times_are_the_stamps() -> None:
    """Frames 0 to 4 at 0, 1, 4, 9 and 16 half seconds, the first of them at tick 100."""
    stamps = [100, 101, 104, 109, 116]
    pictures = [scene(seed) for seed in (1, 1, 2, 2, 3)]
    watcher = seen_by(Boundaries(cut_threshold=27.0, fade_threshold=12.0), pictures, stamps)
    found = watcher.cuts(Timing.from_stamps(stamps, Fraction(1, 2)))
    assert found == (Cut(time_seconds=2.0, kind="cut"), Cut(time_seconds=8.0, kind="cut"))


def test_a_higher_threshold_finds_less() -> None:
    pictures = pan(1, 25) + pan(2, 25)
    watcher = seen_by(Boundaries(cut_threshold=250.0, fade_threshold=12.0), pictures)
    assert watcher.cuts(timing_of(50)) == ()
