"""How far things move between the frames that stand for a clip.

    flow = Flow(wanted_stamps)
    flow.see(stamp, view)                # for every frame that passes
    flow.mean_pixels(ordered_stamps)     # 1.3: mean length over all pixels and pairs

The pictures compared are those of the fingerprint, at most 16, so that a long clip costs no more
than a short one, and at the analysis size, so that 4K and 180p move by the same number.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise

import cv2
import numpy as np

from data_prep.picture.view import Pixels, View


class Flow:
    """wanted: the stamps, in ticks, of the frames to compare; the first frame with each counts."""

    def __init__(self, wanted: Collection[int]) -> None:
        self._wanted = wanted
        self._grays: dict[int, Pixels] = {}

    def see(self, stamp: int, view: View) -> None:
        if stamp in self._wanted and stamp not in self._grays:
            self._grays[stamp] = view.gray

    def mean_pixels(self, stamps: Sequence[int]) -> float | None:
        """Mean optical flow between neighbours, in pixels of the analysis size; None for fewer
        than two frames, between which nothing can move."""
        pairs = [(self._grays[one], self._grays[next_one]) for one, next_one in pairwise(stamps)]
        if not pairs:
            return None
        return sum(mean_flow_pixels(*pair) for pair in pairs) / len(pairs)


def mean_flow_pixels(before: Pixels, after: Pixels) -> float:
    """Mean length of the dense optical flow between two grey pictures of one size, in their pixels.

    Farneback's, found at half the size: a quarter of the cost, and it follows shifts twice as long.
    Faster methods see noise on black or on plain grounds as movement.
    """
    half_before, half_after = (
        cv2.resize(picture, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)
        for picture in (before, after)
    )
    flow = cv2.calcOpticalFlowFarneback(
        half_before, half_after, None, pyr_scale=0.5, levels=3, winsize=15, iterations=3,
        poly_n=5, poly_sigma=1.2, flags=0,
    )  # fmt: skip
    return 2 * float(np.hypot(flow[..., 0], flow[..., 1]).mean(dtype=np.float64))
