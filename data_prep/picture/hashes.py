"""Perceptual hashes of the frames that stand for a clip.

hashes = Hashes(wanted_stamps)
hashes.see(stamp, view)                  # for every frame that passes
hashes.of                                # {0: 0xb1c3..., 4096: ...}: stamp -> 64 bits
hashes.mean_distance(ordered_stamps)     # 6.4 of 64
"""

from collections.abc import Collection, Sequence
from itertools import pairwise

import imagehash
from PIL import Image

from data_prep.picture.view import Pixels, View

_MIN_CONTRAST_LEVELS = 2.0
"""Standard deviation, in grey levels of 256, under which a picture counts as one colour."""


class Hashes:
    """wanted: the stamps, in ticks, of the frames to hash; the first frame with each counts."""

    def __init__(self, wanted: Collection[int]) -> None:
        self._wanted = wanted
        self.of: dict[int, int] = {}

    def see(self, stamp: int, view: View) -> None:
        if stamp in self._wanted and stamp not in self.of:
            self.of[stamp] = perceptual_hash(view.gray)

    def mean_distance(self, stamps: Sequence[int]) -> float | None:
        """Mean Hamming distance between neighbours, 0 to 64; None for fewer than two frames."""
        pairs = list(pairwise(self.of[stamp] for stamp in stamps))
        if not pairs:
            return None
        return sum((one ^ other).bit_count() for one, other in pairs) / len(pairs)


def perceptual_hash(gray: Pixels) -> int:
    """imagehash's `phash` of a grey picture (h, w) as a number, first bit highest; 0 for a picture
    of one colour, whose bits would be its coder's noise."""
    if float(gray.std()) < _MIN_CONTRAST_LEVELS:
        return 0
    return int(str(imagehash.phash(Image.fromarray(gray))), 16)
