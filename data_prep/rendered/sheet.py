"""A picture of many clips, one a row, sampled as a model sees them: for looking at the world.

Under each frame lies a bar in the colour of its true emotion; the bar is split where the emotion
changes before the next frame. The command prints what is in each row.

Example:
    python -m data_prep.rendered --out data/rendered --sheet 24      # data/rendered/sheet.png
"""

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from affect.emotion_colors import emotion_rgb
from affect.timeline import Timeline
from data_prep.rendered.drawing import SIDE_PIXELS

GAP_PIXELS = 4
BAR_PIXELS = 8

Pixels = NDArray[np.uint8]


def contact_sheet(clips: Sequence[tuple[Timeline, Sequence[float], Pixels]]) -> Pixels:
    """Rows of frames over their truth.

    Each clip is (its timeline, the frames' times in seconds, frames (T, 56, 56, 3)).
    """
    columns = max(len(times) for _, times, _ in clips)
    cell_width, cell_height = SIDE_PIXELS + GAP_PIXELS, SIDE_PIXELS + BAR_PIXELS + GAP_PIXELS
    sheet = np.full((len(clips) * cell_height, columns * cell_width, 3), 255, dtype=np.uint8)
    for row, (timeline, times, frames) in enumerate(clips):
        top = row * cell_height
        ends = [*times[1:], timeline.duration_seconds]
        for column, (start, end, frame) in enumerate(zip(times, ends, frames, strict=False)):
            left = column * cell_width
            sheet[top : top + SIDE_PIXELS, left : left + SIDE_PIXELS] = frame
            bar = sheet[top + SIDE_PIXELS : top + SIDE_PIXELS + BAR_PIXELS]
            _fill_bar(bar[:, left : left + cell_width], timeline, start, end)
    return sheet


def _fill_bar(bar: Pixels, timeline: Timeline, start: float, end: float) -> None:
    """Colours a bar that stands for the seconds `start` to `end`."""
    width = bar.shape[1]
    for segment in timeline.segments:
        left = round(width * (segment.start_seconds - start) / (end - start))
        right = round(width * (segment.end_seconds - start) / (end - start))
        bar[:, max(left, 0) : max(min(right, width), 0)] = emotion_rgb(segment.emotion)


def write_png(path: Path, pixels: Pixels) -> None:
    """Writes (height, width, 3) uint8 as a PNG file, whole or not at all."""
    height, width, _ = pixels.shape
    encoder = av.CodecContext.create("png", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "rgb24"
    encoder.framerate = Fraction(1)
    picture = av.VideoFrame.from_ndarray(pixels, format="rgb24")
    packets = [*encoder.encode(picture), *encoder.encode(None)]
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(b"".join(bytes(packet) for packet in packets))
    os.replace(part, path)
