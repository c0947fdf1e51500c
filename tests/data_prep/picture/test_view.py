"""Views have the sizes that are asked for, upright, and the right colours."""

import numpy as np
import pytest

from data_prep.build.config import PictureSection
from data_prep.picture.view import scaled_size
from tests.data_prep.picture.drawn import flat, scene, view_of


@pytest.mark.parametrize(
    ("size", "small", "large"),
    [
        ((1280, 720), (160, 90), (448, 252)),
        ((720, 1280), (90, 160), (252, 448)),
        ((100, 50), (160, 80), (100, 50)),
        ((1, 1), (160, 160), (1, 1)),
        ((4000, 10), (160, 16), (448, 1)),
    ],
)
def test_sizes(size: tuple[int, int], small: tuple[int, int], large: tuple[int, int]) -> None:
    view = view_of(flat(50, size))
    assert view.bgr.shape == (small[1], small[0], 3)
    assert view.gray.shape == (small[1], small[0])
    assert view.rgb.shape == (large[1], large[0], 3)


def test_sides_come_from_the_configuration() -> None:
    view = view_of(flat(50, (640, 320)), PictureSection(analysis_side=64, frame_side=32))
    assert view.gray.shape == (32, 64) and view.rgb.shape == (16, 32, 3)


def test_colours() -> None:
    red = flat(0)
    red[..., 0] = 200
    view = view_of(red)
    assert np.abs(view.bgr.astype(int) - (0, 0, 200)).max() <= 2
    assert np.abs(view.rgb.astype(int) - (200, 0, 0)).max() <= 2
    assert np.abs(view.gray.astype(int) - round(0.299 * 200)).max() <= 2


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_turned_upright(turned: int) -> None:
    """Degrees count counterclockwise, as NumPy's quarter turns do."""
    picture = scene(4)
    upright, turned_view = view_of(picture), view_of(picture, turned=turned)
    assert np.array_equal(turned_view.bgr, np.rot90(upright.bgr, turned // 90))
    assert np.array_equal(turned_view.rgb, np.rot90(upright.rgb, turned // 90))


def test_an_area_is_averaged() -> None:
    """Stripes of one pixel, black and white, are grey when 8 become one."""
    stripes = flat(0, (1280, 720))
    stripes[:, ::2] = 255
    assert np.abs(view_of(stripes).gray.astype(int) - 127).max() <= 3


def test_scaled_size_keeps_the_shape() -> None:
    assert scaled_size((1920, 1080), 160) == (160, 90)
    assert scaled_size((3, 1000), 100) == (1, 100)
