"""Cuts and fades of a clip, found by PySceneDetect's detectors while the frames pass.

    boundaries = Boundaries(cut_threshold=27.0, fade_threshold=12.0)
    boundaries.see(stamp, view)          # for every frame that passes
    boundaries.cuts(timing)              # (Cut(3.0, "cut"), Cut(4.0, "fade"), ...)

The content detector finds cuts, the threshold detector fades through black, and turned round fades
through white. They are given frame numbers, and the numbers become times through the stamps: the
detectors' own arithmetic takes variable-rate files for constant ones. Their minimum scene length is
off: its default of 15 frames would lose every second cut of a fast edit.

Dissolves are not found: no two neighbouring frames of one differ enough. A flash is, as a cut.
"""

from collections.abc import Sequence

import cv2
import numpy as np
from scenedetect.common import FrameTimecode
from scenedetect.detectors import ContentDetector, ThresholdDetector

from affect.video.timing import Timing
from data_prep.picture.blank import BlankStretches
from data_prep.picture.view import View
from data_prep.records import Cut

MIN_GAP_SECONDS = 0.2
"""A cut so soon after another, or after the start, is the same event seen twice: a flash, a burst
of noise."""

_NUMBERED = 25.0
"""The detectors want a frame rate; with frame numbers in and out nothing depends on it."""


class Boundaries:
    """cut_threshold: of the content detector's score, 0 to 255. fade_threshold: mean brightness,
    0 to 255, under which a frame counts as black, and as far from 255 as white."""

    def __init__(self, *, cut_threshold: float, fade_threshold: float) -> None:
        self._cut_threshold = cut_threshold
        # The detector takes whole numbers, and cuts off what it is given.
        self._black, self._white = int(fade_threshold), 255 - int(fade_threshold)
        self._content = ContentDetector(threshold=cut_threshold, min_scene_len=0)
        self._fades = (
            ThresholdDetector(threshold=self._black, min_scene_len=0),
            ThresholdDetector(
                threshold=self._white, min_scene_len=0, method=ThresholdDetector.Method.CEILING
            ),
        )
        self._stamps: list[int] = []
        self._brightness: list[float] = []
        self._contrast: list[float] = []
        self._cut_frames: list[int] = []
        self._fade_frames: list[int] = []

    def see(self, stamp: int, view: View) -> None:
        number = FrameTimecode(len(self._stamps), _NUMBERED)
        brightness = np.mean(view.bgr)
        self._stamps.append(stamp)
        self._brightness.append(float(brightness))
        self._contrast.append(float(cv2.meanStdDev(view.gray)[1][0, 0]))
        for cut in self._content.process_frame(number, view.bgr):
            self._cut_frames.append(cut.frame_num)
        for detector in self._fades:
            # It takes the mean of what it is given, and a mean's mean is itself.
            for middle in detector.process_frame(number, np.asarray(brightness)):
                self._fade_frames.append(middle.frame_num)

    def cuts(self, timing: Timing) -> tuple[Cut, ...]:
        """In order of time, in seconds after the first frame: the first frame after a cut, the
        middle of a fade's black or white."""
        first = timing.stamps_ticks[0]
        seconds = [float((stamp - first) * timing.time_base) for stamp in self._stamps]
        blank = BlankStretches(
            seconds,
            self._brightness,
            self._contrast,
            black=self._black,
            white=self._white,
            jump=self._cut_threshold,
        )
        cut_frames = {frame for frame in self._cut_frames if blank.may_cut(frame)}
        fade_frames = {frame for frame in self._fade_frames if blank.may_fade(frame, cut_frames)}
        found = [Cut(time_seconds=seconds[frame], kind="cut") for frame in cut_frames]
        found += [Cut(time_seconds=seconds[frame], kind="fade") for frame in fade_frames]
        return _spaced(sorted(found, key=lambda cut: (cut.time_seconds, cut.kind)))


def _spaced(cuts: Sequence[Cut]) -> tuple[Cut, ...]:
    """Without those that come too soon after the start or after the one before."""
    spaced: list[Cut] = []
    before_seconds = 0.0
    for cut in cuts:
        if cut.time_seconds - before_seconds >= MIN_GAP_SECONDS:
            spaced.append(cut)
            before_seconds = cut.time_seconds
    return tuple(spaced)
