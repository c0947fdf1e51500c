"""Which cuts and fades count in and about black and white."""

import pytest

from data_prep.picture.blank import BlankStretches


def stretches(brightness: list[float], contrast: float = 5.0) -> BlankStretches:
    """Frames 0.1 s apart, all of one contrast."""
    return BlankStretches(
        [n / 10 for n in range(len(brightness))],
        brightness,
        [contrast] * len(brightness),
        black=12,
        white=243,
        jump=27.0,
    )


FADE = [80.0] * 10 + [60, 40, 20, 5, 0, 5, 20, 40, 60] + [80.0] * 10
"""Frames 13 to 15 are black."""


def test_a_flicker_about_a_fade_is_no_cut() -> None:
    blank = stretches(FADE)
    assert [n for n in range(1, 29) if not blank.may_cut(n)] == list(range(9, 20))


def test_a_fade() -> None:
    assert stretches(FADE).may_fade(14, {3})


def test_a_jump_into_black_is_a_cut_and_no_fade() -> None:
    blank = stretches([80.0] * 10 + [0.0] * 6 + [10, 20, 30, 40])
    assert blank.may_cut(10)
    assert not blank.may_fade(13, {10})


def test_a_jump_out_of_white_is_a_cut_and_no_fade() -> None:
    blank = stretches([80, 160, 240, 250, 250, 250, 80, 80])
    assert blank.may_cut(6)
    assert not blank.may_fade(4, {6})
    assert blank.may_fade(4, {7})


def test_black_at_the_start_is_no_fade() -> None:
    assert not stretches([0.0] * 5 + [10, 20, 30, 40]).may_fade(2, set())


def test_a_dark_scene_is_neither_black_nor_a_fade() -> None:
    blank = stretches(FADE, contrast=20.0)
    assert all(blank.may_cut(n) for n in range(len(FADE)))
    assert not blank.may_fade(14, set())


@pytest.mark.parametrize("frame", [0, 1])
def test_the_first_frame_is_no_jump(frame: int) -> None:
    assert stretches([0.0, 100.0]).may_cut(frame) is (frame == 1)
