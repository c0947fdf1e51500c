"""Light, colour and motion of drawn frames, against numbers worked out by hand."""

import pytest

from affect.llm.chat import Frame, Frames
from data_prep.draft.measures import measure_frames
from data_prep.records import StageFailure
from tests.data_prep.draft.plain_frames import checkerboard, frames_of, plain_frames

JPEG_ERROR = 0.01


def test_a_plain_colour_is_measured() -> None:
    look = measure_frames(plain_frames([(255, 102, 51)] * 3)).look(0.0, 1.0)
    # .299 + .587 * .4 + .114 * .2 = .5566; 1 - .2 = .8, both as saturation and as warmth.
    assert look.brightness == pytest.approx(0.5566, abs=JPEG_ERROR)
    assert look.saturation == pytest.approx(0.8, abs=JPEG_ERROR)
    assert look.warmth == pytest.approx(0.8, abs=JPEG_ERROR)
    assert look.contrast == pytest.approx(0.0, abs=JPEG_ERROR)
    assert look.motion == pytest.approx(0.0, abs=JPEG_ERROR)


def test_contrast_is_the_spread_within_a_frame_and_motion_the_change_between_two() -> None:
    one, other = checkerboard(51, 204), checkerboard(51, 204, swapped=True)
    look = measure_frames(frames_of([one, other, one])).look(0.0, 1.0)
    # Half .2, half .8: mean .5, spread .3; each pixel changes by .6.
    assert look.brightness == pytest.approx(0.5, abs=JPEG_ERROR)
    assert look.contrast == pytest.approx(0.3, abs=JPEG_ERROR)
    assert look.motion == pytest.approx(0.6, abs=JPEG_ERROR)
    assert look.saturation == pytest.approx(0.0, abs=JPEG_ERROR)


def test_only_frames_within_the_stretch_count_and_no_change_across_its_ends() -> None:
    measures = measure_frames(plain_frames([(0, 0, 0)] * 4 + [(255, 255, 255)] * 4))
    dark, bright = measures.look(0.0, 1.0), measures.look(1.0, 2.0)
    assert (dark.brightness, dark.motion) == (pytest.approx(0.0), pytest.approx(0.0))
    assert (bright.brightness, bright.motion) == (pytest.approx(1.0), pytest.approx(0.0))


def test_motion_of_a_single_frame_is_not_measured() -> None:
    measures = measure_frames(plain_frames([(0, 0, 0), (255, 255, 255), (0, 0, 0)]))
    assert measures.look(0.25, 0.5).motion is None
    assert measures.look(0.3, 0.4).brightness == pytest.approx(1.0), "the one shown at the start"
    assert measures.look(9.0, 10.0).brightness == pytest.approx(0.0), "the last one"


def test_a_frame_that_is_no_picture_is_a_named_failure() -> None:
    with pytest.raises(StageFailure, match=r"frames_lost.*at 0\.5 s") as raised:
        measure_frames(Frames("ab" * 32, (Frame(0.5, b"\xff\xd8 no picture"),)))
    assert raised.value.kind == "frames_lost"
