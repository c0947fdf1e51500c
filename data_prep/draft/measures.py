"""What can be measured in the kept frames without any model: light, colour, contrast, motion.

    measures = measure_frames(clip.span(0.0, 8.0, max_frames=128))
    measures.look(3.0, 7.0)     # Look(brightness=0.18, contrast=0.09, ..., motion=0.071)

Frames are compared at 32 pixels, where an encoder's noise has averaged out and motion has not.
"""

import io
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from affect.llm.chat import Frame, Frames
from data_prep.records import StageFailure

SIDE_PIXELS = 32
"""Longer side at which frames are compared; smaller frames stay as they are."""

_LUMA = np.array([0.299, 0.587, 0.114])
"""Rec. 601: how bright red, green and blue look."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Look:
    """How a stretch looks, as shares of the full scale.

    brightness: mean luma, 0 to 1. contrast: spread (standard deviation) of luma within a frame,
    0 to .5. saturation: mean difference of a pixel's strongest and weakest channel, 0 to 1.
    warmth: mean red minus mean blue, -1 to 1. motion: mean change of a pixel's luma from one kept
    frame to the next, 0 to 1; None where the stretch has a single frame.
    """

    brightness: float
    contrast: float
    saturation: float
    warmth: float
    motion: float | None


@dataclass(frozen=True)
class Measures:
    """The same per frame: `times_seconds`, `contrasts`, `saturations` (F,), `colors` (F, 3) in
    0 to 1, and `motions` (F - 1,) between neighbours. There is at least one frame."""

    times_seconds: Floats
    colors: Floats
    contrasts: Floats
    saturations: Floats
    motions: Floats

    def look(self, start_seconds: float, end_seconds: float) -> Look:
        """Of the frames within [start, end); of the one shown at the start where none begins in
        between."""
        inside = self._inside(start_seconds, end_seconds)
        color = self.colors[inside].mean(axis=0)
        motions = self.motions[inside.start : inside.stop - 1]
        return Look(
            brightness=float(color @ _LUMA),
            contrast=float(self.contrasts[inside].mean()),
            saturation=float(self.saturations[inside].mean()),
            warmth=float(color[0] - color[2]),
            motion=float(motions.mean()) if len(motions) else None,
        )

    def color(self, start_seconds: float, end_seconds: float) -> Floats:
        """Mean colour (3,) of the frames that `look` takes."""
        mean: Floats = self.colors[self._inside(start_seconds, end_seconds)].mean(axis=0)
        return mean

    def _inside(self, start_seconds: float, end_seconds: float) -> slice:
        first, stop = np.searchsorted(self.times_seconds, (start_seconds, end_seconds))
        if first < stop:
            return slice(int(first), int(stop))
        shown = max(int(np.searchsorted(self.times_seconds, start_seconds, side="right")) - 1, 0)
        return slice(shown, shown + 1)


def measure_frames(frames: Frames) -> Measures:
    """Measure every frame. Raises StageFailure (`frames_lost`) for one that is no picture."""
    pictures = [_read(frame) for frame in frames.frames]
    lumas = [picture @ _LUMA for picture in pictures]
    return Measures(
        times_seconds=np.array([frame.time_seconds for frame in frames.frames]),
        colors=np.array([picture.mean(axis=(0, 1)) for picture in pictures]),
        contrasts=np.array([luma.std() for luma in lumas]),
        saturations=np.array([(p.max(axis=2) - p.min(axis=2)).mean() for p in pictures]),
        motions=np.array([np.abs(b - a).mean() for a, b in pairwise(lumas)], dtype=float),
    )


def _read(frame: Frame) -> Floats:
    """(height, width, 3) in 0 to 1, the longer side at most SIDE_PIXELS."""
    try:
        with Image.open(io.BytesIO(frame.jpeg)) as image:
            image.draft("RGB", (2 * SIDE_PIXELS, 2 * SIDE_PIXELS))  # decodes fewer coefficients
            scale = min(1.0, SIDE_PIXELS / max(image.size))
            width, height = (max(1, round(side * scale)) for side in image.size)
            small = image.convert("RGB").resize((width, height), Image.Resampling.BOX)
    except OSError as error:
        raise StageFailure(
            "frames_lost",
            f"the frame kept at {frame.time_seconds:g} s is no picture ({error}); remove the "
            "build's frames of this video and run again",
        ) from error
    return np.asarray(small, dtype=np.float64) / 255.0
