"""Which frames are kept for models, and how."""

import io
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from affect.video.jpeg import jpeg_bytes
from affect.video.timing import Timing
from data_prep.picture.kept import KeptFrames, kept_frames
from tests.data_prep.picture.drawn import scene, seen_by, timing_of


@pytest.mark.parametrize(
    ("num_frames", "fps", "max_frames", "expected"),
    [
        (101, 1.0, 128, [0, 25, 50, 75, 100]),  # 4 s from the first to the last frame
        (101, 1.0, 3, [0, 50, 100]),
        (101, 1.0, 1, [0]),
        (3, 1.0, 128, [0, 2]),  # under a second: still the first and the last
        (1, 4.0, 128, [0]),
        (5, 30.0, 128, [0, 1, 2, 3, 4]),  # no more than there are
    ],
)
def test_frames_kept(num_frames: int, fps: float, max_frames: int, expected: list[int]) -> None:
    assert kept_frames(timing_of(num_frames), fps=fps, max_frames=max_frames) == expected


def test_even_in_time_not_in_number() -> None:
    """30 frames a second for 1 s, then one a second for 3 s: at most two a second, 9 instants."""
    stamps = [*range(30), 30, 60, 90, 120]
    timing = Timing.from_stamps(stamps, Fraction(1, 30))
    assert kept_frames(timing, fps=2.0, max_frames=128) == [0, 15, 30, 31, 32, 33]


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=50, unique=True),
    st.floats(0.01, 30),
    st.integers(1, 20),
)
def test_bounds(stamps: list[int], fps: float, max_frames: int) -> None:
    timing = Timing.from_stamps(stamps, Fraction(1, 1000), Fraction(1, 25))
    kept = kept_frames(timing, fps=fps, max_frames=max_frames)
    assert kept == sorted(set(kept)) and 1 <= len(kept) <= max_frames
    assert kept[0] == 0
    if max_frames > 1:
        assert kept[-1] == len(stamps) - 1


def test_jpeg() -> None:
    picture = scene(1)
    data = jpeg_bytes(picture, 85)
    assert data == jpeg_bytes(picture, 85)
    with Image.open(io.BytesIO(data)) as image:
        assert (image.format, image.size, image.mode) == ("JPEG", (320, 180), "RGB")
        assert np.abs(np.asarray(image).astype(int) - picture).mean() < 3
    assert len(jpeg_bytes(picture, 30)) < len(data)


def test_only_what_is_wanted() -> None:
    kept = seen_by(KeptFrames({1, 3}, 85), [scene(n) for n in range(5)])
    assert set(kept.of) == {1, 3} and all(data[:2] == b"\xff\xd8" for data in kept.of.values())
