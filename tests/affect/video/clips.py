"""Clips written on the spot, whose every frame can be told from its grey value.

Example: `write_clip(tmp_path / "c.mp4", num_frames=31)`; frame i is grey `8 * i`, and
`shown_frames(sampled.frames)` reads the numbers back from the pixels.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt

GREY_STEP = 8
"""31 frames fit into a byte, and lossy coding stays within half a step."""


def write_clip(
    path: Path,
    num_frames: int,
    *,
    size: tuple[int, int] = (64, 48),
    stamps: Sequence[int] | None = None,
    time_base: Fraction = Fraction(1, 25),
    codec: str = "libx264",
    pixel_format: str = "yuv420p",
    codec_options: dict[str, str] | None = None,
    container_options: dict[str, str] | None = None,
    container_format: str | None = None,
) -> Path:
    """Grey frames of `size` (width, height), shown at `stamps` ticks; by default 0, 1, 2, ..."""
    width, height = size
    with av.open(
        str(path), "w", format=container_format, container_options=container_options or {}
    ) as container:
        stream = container.add_stream(codec, rate=1 / time_base)
        stream.width, stream.height, stream.pix_fmt = width, height, pixel_format
        stream.codec_context.time_base = time_base
        stream.options = codec_options or {}
        for i in range(num_frames):
            grey = np.full((height, width, 3), GREY_STEP * i % 256, np.uint8)
            frame = av.VideoFrame.from_ndarray(grey, format="rgb24")
            frame.pts = stamps[i] if stamps else i
            frame.time_base = time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def shown_frames(frames: npt.NDArray[np.uint8]) -> list[int]:
    """Which frame of a written clip each sampled frame is."""
    return [round(float(picture.mean()) / GREY_STEP) for picture in frames]


def remux(source: Path, target: Path, *, shift_ticks: int = 0, **options: str) -> Path:
    """Copy the packets of the first video stream, shifted in time, into another container."""
    with (
        av.open(str(source)) as old,
        av.open(str(target), "w", container_options=options) as new,
    ):
        stream = old.streams.video[0]
        copied = new.add_stream_from_template(stream)
        for packet in old.demux(stream):
            if packet.dts is None or packet.pts is None:
                continue
            packet.pts += shift_ticks
            packet.dts += shift_ticks
            packet.stream = copied
            new.mux(packet)
    return target
