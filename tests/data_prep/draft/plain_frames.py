"""Frames of plain colours and checkerboards, whose measures can be worked out by hand.

frames = plain_frames([(255, 0, 0)] * 4 + [(0, 0, 255)] * 4)      # four a second
"""

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from affect.llm.chat import Frame, Frames

FRAMES_PER_SECOND = 4

Color = tuple[int, int, int]


def plain_frames(colors: Sequence[Color]) -> Frames:
    pictures = [np.full((24, 32, 3), color, dtype=np.uint8) for color in colors]
    return frames_of(pictures)


def checkerboard(
    low: int, high: int, *, swapped: bool = False
) -> "np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]":
    """Grey squares of 8 pixels, which JPEG keeps exactly."""
    y, x = np.mgrid[0:32, 0:32] // 8
    is_high = (x + y + swapped) % 2 == 1
    return np.repeat(np.where(is_high, high, low).astype(np.uint8)[..., None], 3, axis=2)


def frames_of(pictures: Sequence["np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]"]) -> Frames:
    frames = []
    for number, picture in enumerate(pictures):
        buffer = io.BytesIO()
        Image.fromarray(picture).save(buffer, "JPEG", quality=95, subsampling=0)
        frames.append(Frame(number / FRAMES_PER_SECOND, buffer.getvalue()))
    return Frames("ab" * 32, tuple(frames))
