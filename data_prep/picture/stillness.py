"""How much of a clip's time nothing on the screen changes: what tells a slideshow from a clip.

    stillness = Stillness()
    stillness.see(stamp, view)           # for every frame that passes
    stillness.share(timing)              # 0.96 for pictures shown for 2 s each; 0.0 for a film

The picture that came last is compared with the one that stood there since the last change, not
with its neighbour, so that slow movement adds up. Time counts as it passes on the screen: a picture
that a file stores once and shows for 3 s stands still for 3 s, as 75 equal frames do.
"""

from itertools import pairwise

import cv2

from affect.video.timing import Timing
from data_prep.picture.view import Pixels, View

MIN_STILL_SECONDS = 0.5
"""Shorter stands do not count: films of few frames a second and repeated frames are no slides."""

_MIN_CHANGE_LEVELS = 2.0
"""Grey levels, of 256, by which the most changed of 16 x 9 fields of the picture must change in
the mean. A coder's noise over a still picture stays under 1; a thing of 5 x 5 of 160 x 90 pixels
that moves before a plain ground makes 10."""

_FIELDS = (16, 9)


class Stillness:
    def __init__(self) -> None:
        self._standing: Pixels | None = None
        self._change_stamps: list[int] = []

    def see(self, stamp: int, view: View) -> None:
        if self._standing is None:
            self._standing = view.gray
        elif largest_change(self._standing, view.gray) >= _MIN_CHANGE_LEVELS:
            self._standing = view.gray
            self._change_stamps.append(stamp)

    def share(self, timing: Timing) -> float:
        """Share of the clip's seconds, 0 to 1, within stretches without change of half a second
        or more; 1 for a clip in which nothing ever changes, however short."""
        if not self._change_stamps:
            return 1.0
        first, time_base = timing.stamps_ticks[0], timing.time_base
        changes = sorted((stamp - first) * time_base for stamp in self._change_stamps)
        instants = [0 * time_base, *changes, timing.duration]
        stretches = [float(end - start) for start, end in pairwise(instants)]
        still_seconds = sum(seconds for seconds in stretches if seconds >= MIN_STILL_SECONDS)
        return min(1.0, still_seconds / float(timing.duration))


def largest_change(before: Pixels, after: Pixels) -> float:
    """Mean absolute difference, in grey levels, within the field of 16 x 9 that changes most."""
    fields = cv2.resize(cv2.absdiff(before, after), _FIELDS, interpolation=cv2.INTER_AREA)
    return float(fields.max())
