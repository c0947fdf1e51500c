"""The contact sheet: frames over bars that show the truth, written as a real PNG."""

import av
import numpy as np

from affect.emotion_colors import emotion_rgb
from affect.timeline import Segment, Timeline
from data_prep.rendered.sheet import contact_sheet, write_png

TIMELINE = Timeline(
    (Segment(0.0, 1.5, "Joy", "a reason"), Segment(1.5, 2.0, "Fear", "another reason")), 2.0
)
FRAMES = np.stack([np.full((56, 56, 3), level, dtype=np.uint8) for level in (10, 200)])


def test_frames_stand_over_bars_that_change_where_the_truth_changes():
    sheet = contact_sheet([(TIMELINE, (0.0, 1.0), FRAMES)])
    assert sheet.shape == (68, 120, 3)
    assert (sheet[:56, :56] == 10).all()
    assert (sheet[:56, 60:116] == 200).all()
    bar = sheet[60]
    assert (bar[:90] == emotion_rgb("Joy")).all()  # 1.5 s of 2 s, 60 pixels a second
    assert (bar[90:] == emotion_rgb("Fear")).all()


def test_a_shorter_clip_leaves_its_row_white():
    sheet = contact_sheet([(TIMELINE, (0.0, 1.0), FRAMES), (TIMELINE, (0.0,), FRAMES[:1])])
    assert (sheet[68:124, 60:] == 255).all()


def test_the_png_holds_the_same_pixels(tmp_path):
    sheet = contact_sheet([(TIMELINE, (0.0, 1.0), FRAMES)])
    write_png(tmp_path / "sheet.png", sheet)
    with av.open(str(tmp_path / "sheet.png")) as container:
        (frame,) = container.decode(video=0)
    assert np.array_equal(frame.to_ndarray(format="rgb24"), sheet)
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.png"]
