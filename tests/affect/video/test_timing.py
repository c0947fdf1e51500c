"""Stamps to durations and nearest frames, against a slow reference that tries every frame.

Timing.from_stamps([0, 100, 400], Fraction(1, 100)).duration == 7
"""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.video.timing import Timing

MILLISECONDS = Fraction(1, 1000)

STAMPS = st.lists(st.integers(-(10**9), 10**9), min_size=2, max_size=60).filter(
    lambda stamps: min(stamps) < max(stamps)
)


def test_the_last_frame_is_held_as_long_as_the_one_before() -> None:
    timing = Timing.from_stamps([2000, 2040, 2080, 2380], MILLISECONDS)
    assert timing.duration == Fraction(380 + 300, 1000)
    assert [timing.seconds(frame) for frame in range(4)] == [0.0, 0.04, 0.08, 0.38]


def test_ntsc_time_stays_exact() -> None:
    timing = Timing.from_stamps([1001 * i for i in range(30)], Fraction(1, 30_000))
    assert timing.duration == Fraction(30 * 1001, 30_000)


def test_stamps_are_sorted() -> None:
    assert Timing.from_stamps([3, 0, 2, 1], MILLISECONDS).stamps_ticks == (0, 1, 2, 3)


def test_the_last_gap_is_between_different_stamps() -> None:
    assert Timing.from_stamps([0, 40, 80, 80], MILLISECONDS).duration == Fraction(120, 1000)


def test_a_single_frame_needs_its_own_length() -> None:
    assert Timing.from_stamps([7], MILLISECONDS, Fraction(1, 25)).duration == Fraction(1, 25)
    with pytest.raises(ValueError, match="a single frame, and neither a length nor a frame rate"):
        Timing.from_stamps([7], MILLISECONDS)
    with pytest.raises(ValueError, match="a single frame"):
        Timing.from_stamps([7], MILLISECONDS, Fraction(0))


def test_what_has_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="no frames"):
        Timing.from_stamps([], MILLISECONDS)
    with pytest.raises(ValueError, match="all 3 frames carry the same time stamp 5"):
        Timing.from_stamps([5, 5, 5], MILLISECONDS)


@pytest.mark.parametrize(
    ("stamps", "num_instants", "frames"),
    [
        ([0, 100, 400], 3, [0, 1, 2]),  # instants 0, 200, 400
        ([0, 100, 400], 5, [0, 1, 1, 2, 2]),  # 0, 100, 200, 300, 400
        ([0, 100, 200], 2, [0, 2]),
        ([0, 100, 200, 300], 3, [0, 1, 3]),  # 150 is as near to 100: the earlier
        ([0, 100], 1, [0]),
        ([0, 100, 100, 200], 3, [0, 1, 3]),  # of equal stamps the first
    ],
)
def test_nearest_frames(stamps: list[int], num_instants: int, frames: list[int]) -> None:
    assert Timing.from_stamps(stamps, MILLISECONDS).nearest_frames(num_instants) == frames


@given(STAMPS, st.integers(2, 40))
def test_nearest_frames_are_those_that_trying_all_finds(stamps: list[int], count: int) -> None:
    timing = Timing.from_stamps(stamps, MILLISECONDS)
    first, last = min(stamps), max(stamps)
    expected = []
    for i in range(count):
        instant = first + Fraction(i * (last - first), count - 1)
        expected.append(
            min(range(len(stamps)), key=lambda f: abs(timing.stamps_ticks[f] - instant))
        )
    # `min` keeps the first of equals, which are in ascending order: the earlier frame.
    assert timing.nearest_frames(count) == expected


@given(STAMPS)
def test_duration_does_not_hang_on_order_or_offset(stamps: list[int]) -> None:
    timing = Timing.from_stamps(stamps, MILLISECONDS)
    shifted = Timing.from_stamps([stamp + 12_345 for stamp in reversed(stamps)], MILLISECONDS)
    assert shifted.duration == timing.duration > 0
