"""Still time is time on the screen, in stretches of half a second or more."""

from fractions import Fraction

import numpy as np
import pytest

from affect.video.timing import Timing
from data_prep.picture.stillness import Stillness, largest_change
from tests.data_prep.picture.drawn import flat, pan, scene, seen_by, timing_of, view_of


def test_a_slideshow() -> None:
    pictures = [scene(1)] * 50 + [scene(2)] * 50
    assert seen_by(Stillness(), pictures).share(timing_of(100)) == 1.0


def test_a_pause_in_a_clip() -> None:
    """2 s move, 1 s stands, 1 s moves: of the 26 frames of the stand the first belongs to it."""
    moving = pan(1, 76, step=4)
    pictures = moving[:50] + [moving[50]] * 25 + moving[51:]
    share = seen_by(Stillness(), pictures).share(timing_of(100))
    assert share == pytest.approx(25 / 100)


def test_twelve_frames_of_25_are_no_stand_and_13_are() -> None:
    for num_equal, expected in ((12, 0.0), (13, 1.0)):
        pictures = [scene(n // num_equal) for n in range(4 * num_equal)]
        assert seen_by(Stillness(), pictures).share(timing_of(len(pictures))) == expected


def test_a_picture_stored_once_stands_as_long_as_it_is_shown() -> None:
    """At 0, 2, 2.2 and 2.4 s, the last for as long as the one before: 2.0 s of 2.6 s."""
    stamps = [7, 27, 29, 31]
    stillness = seen_by(Stillness(), [scene(n) for n in range(4)], stamps)
    timing = Timing.from_stamps(stamps, Fraction(1, 10))
    assert stillness.share(timing) == pytest.approx(2.0 / 2.6)


def test_slow_movement_adds_up() -> None:
    """Each frame differs from the next by one grey level of 256, from the one before last by 2."""
    pictures = [flat(100 + n) for n in range(50)]
    assert seen_by(Stillness(), pictures).share(timing_of(50)) == 0.0


def test_nothing_ever_changes() -> None:
    assert seen_by(Stillness(), [scene(1)]).share(timing_of(1)) == 1.0
    assert seen_by(Stillness(), [scene(1)] * 3).share(timing_of(3)) == 1.0


def test_a_small_thing_that_moves_is_a_change() -> None:
    before, after = flat(90), flat(90)
    before[80:90, 80:90] = 255
    after[80:90, 100:110] = 255
    assert largest_change(view_of(before).gray, view_of(after).gray) > 10


def test_noise_is_no_change() -> None:
    random = np.random.default_rng(0)
    before = np.clip(random.normal(100, 1, (90, 160)), 0, 255).round().astype(np.uint8)
    after = np.clip(random.normal(100, 1, (90, 160)), 0, 255).round().astype(np.uint8)
    assert largest_change(before, after) < 2
