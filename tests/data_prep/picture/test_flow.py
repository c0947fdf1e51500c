"""Flow is in pixels of the analysis size, whatever the clip's."""

import numpy as np
import pytest

from data_prep.picture.flow import Flow, mean_flow_pixels
from tests.data_prep.picture.drawn import pan, scene, seen_by, view_of


@pytest.mark.parametrize(("step", "detail", "expected"), [(2, 4, 4.0), (1, 4, 2.0), (2, 1, 4.0)])
def test_a_known_shift(step: int, detail: int, expected: float) -> None:
    """Four steps of 2 pixels in a picture 320 wide are 4 in one 160 wide."""
    first, *_, fifth = pan(3, 5, step=step, detail=detail)
    measured = mean_flow_pixels(view_of(first).gray, view_of(fifth).gray)
    assert measured == pytest.approx(expected, rel=0.1)


def test_noise_does_not_move() -> None:
    random = np.random.default_rng(0)
    grounds = (np.full((90, 160), 8.0), np.full((90, 160), 245.0), view_of(scene(1)).gray)
    for ground in grounds:
        noisy = [
            np.clip(ground + random.normal(0, 2, ground.shape), 0, 255).round().astype(np.uint8)
            for _ in range(2)
        ]
        assert mean_flow_pixels(*noisy) < 0.1


def test_twice_the_size_moves_the_same() -> None:
    small = pan(3, 3, step=2, detail=4)
    large = [np.repeat(np.repeat(picture, 2, axis=0), 2, axis=1) for picture in small]
    assert seen_by(Flow({0, 2}), large).mean_pixels([0, 2]) == pytest.approx(
        seen_by(Flow({0, 2}), small).mean_pixels([0, 2]), rel=0.05
    )


def test_nothing_moves() -> None:
    assert seen_by(Flow({0, 1, 2}), [scene(1)] * 3).mean_pixels([0, 1, 2]) == pytest.approx(
        0, abs=0.01
    )


def test_mean_over_pairs() -> None:
    pictures = [scene(1), scene(1), *pan(1, 2)]
    flow = seen_by(Flow({0, 1, 3}), pictures)
    moved = mean_flow_pixels(view_of(pictures[1]).gray, view_of(pictures[3]).gray)
    assert flow.mean_pixels([0, 1, 3]) == pytest.approx((0 + moved) / 2, abs=0.01)


def test_one_frame_does_not_move() -> None:
    assert seen_by(Flow({0}), [scene(1)]).mean_pixels([0]) is None
