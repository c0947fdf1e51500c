"""The black and white stretches of a clip: where hues are noise, and what fades lie in.

blank = BlankStretches(seconds, brightness, contrast, black=12, white=243, jump=27.0)
blank.may_cut(98)           # False: the hues of a picture that fades away flicker
blank.may_fade(101, {75})   # True: nothing jumps into or out of the black around frame 101
"""

from collections.abc import Collection, Sequence

import numpy as np

from data_prep.records import MIN_SEGMENT_SECONDS

_MAX_BLANK_CONTRAST_LEVELS = 10.0
"""Standard deviation, in grey levels of 256, up to which a black or white frame is blank. A common
picture faded down to a mean of 12 has about 6; a dark scene with a lamp in it has 20."""


class BlankStretches:
    """seconds, brightness, contrast: per frame; mean and standard deviation of its grey levels.
    black, white: brightness under which and from which a frame is black or white. jump: change of
    brightness from one frame to the next that is a cut for sure."""

    def __init__(
        self,
        seconds: Sequence[float],
        brightness: Sequence[float],
        contrast: Sequence[float],
        *,
        black: float,
        white: float,
        jump: float,
    ) -> None:
        times, levels = np.array(seconds), np.array(brightness)
        self._black, self._white = levels < black, levels >= white
        is_plain = np.array(contrast) <= _MAX_BLANK_CONTRAST_LEVELS
        self._is_blank = (self._black | self._white) & is_plain
        before = np.maximum.accumulate(np.where(self._is_blank, times, -np.inf))
        after = np.minimum.accumulate(np.where(self._is_blank, times, np.inf)[::-1])[::-1]
        self._is_near = np.minimum(times - before, after - times) <= MIN_SEGMENT_SECONDS
        self._is_jump = np.abs(np.diff(levels, prepend=levels[:1])) >= jump

    def may_cut(self, frame: int) -> bool:
        """Whether a cut found at this frame is one. In and about a fade the hues of nearly black
        pixels flicker, which the content detector takes for cuts: there only a jump of the
        brightness counts."""
        return bool(self._is_jump[frame] or not self._is_near[frame])

    def may_fade(self, frame: int, cut_frames: Collection[int]) -> bool:
        """Whether the black or white stretch around this frame is a fade's.

        Not where it never gets blank (a dark scene), nor where the picture jumps into it or out of
        it (that boundary is a cut), nor at the start (nothing comes before).
        """
        kind = self._black if self._black[frame] else self._white
        begin, end = frame, frame + 1
        while begin > 0 and kind[begin - 1]:
            begin -= 1
        while end < len(kind) and kind[end]:
            end += 1
        is_cut = begin in cut_frames or end in cut_frames
        return begin > 0 and not is_cut and bool(self._is_blank[begin:end].any())
