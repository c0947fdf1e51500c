"""Writes frames as an H.264 file, whole or not at all.

One encoder thread and no B-frames: the same frames give the same bytes with the same versions of
PyAV and x264, and every frame's stamp is its index over the frame rate, starting at 0.

Example:
    write_clip(Path("videos/train/00012.mp4"), frames)   # (T, 56, 56, 3) uint8 at 10 frames/s
"""

import os
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

ENCODER_OPTIONS = {
    "crf": "19",
    "preset": "veryfast",
    "threads": "1",
    "bf": "0",
}


def write_clip(path: Path, frames: NDArray[np.uint8], frame_rate: int) -> None:
    """Encodes `frames` (T, height, width, 3; even sides) as yuv420p H.264 in an MP4 file.

    The file appears under its name only when it is complete; a crash leaves at most a file ending
    in `.part` beside it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _encode(part, frames, frame_rate)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _encode(path: Path, frames: NDArray[np.uint8], frame_rate: int) -> None:
    _, height, width, _ = frames.shape
    # bitexact keeps the library's version and the date out of the header.
    with av.open(str(path), "w", format="mp4", options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("libx264", rate=frame_rate, options=ENCODER_OPTIONS)
        stream.width, stream.height = width, height
        stream.pix_fmt = "yuv420p"
        stream.time_base = Fraction(1, frame_rate)
        for index, pixels in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts = index
            frame.time_base = Fraction(1, frame_rate)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
