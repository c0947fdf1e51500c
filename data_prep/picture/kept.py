"""The frames that models are shown, as JPEG: evenly spaced, the first and the last among them.

kept = KeptFrames(wanted_stamps, jpeg_quality=85)
kept.see(stamp, view)                # for every frame that passes
kept.of                              # {0: b"\\xff\\xd8...", ...}: stamp -> JPEG
"""

import math
from collections.abc import Collection
from fractions import Fraction

from affect.video.jpeg import jpeg_bytes
from affect.video.timing import Timing
from data_prep.picture.view import View


class KeptFrames:
    """wanted: the stamps, in ticks, of the frames to keep; the first frame with each counts."""

    def __init__(self, wanted: Collection[int], jpeg_quality: int) -> None:
        self._wanted = wanted
        self._jpeg_quality = jpeg_quality
        self.of: dict[int, bytes] = {}

    def see(self, stamp: int, view: View) -> None:
        if stamp in self._wanted and stamp not in self.of:
            self.of[stamp] = jpeg_bytes(view.rgb, self._jpeg_quality)


def kept_frames(timing: Timing, *, fps: float, max_frames: int) -> list[int]:
    """Numbers of the frames to keep, ascending: those nearest to instants that lie evenly from the
    first to the last frame, at most `fps` a second and `max_frames` in all.

    Two at least, if there are two frames and `max_frames` allows it.
    """
    span = (timing.stamps_ticks[-1] - timing.stamps_ticks[0]) * timing.time_base
    num_instants = min(max(math.floor(span * Fraction(fps)) + 1, 2), max_frames)
    return sorted(set(timing.nearest_frames(num_instants)))
