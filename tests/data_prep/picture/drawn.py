"""Clips with known pictures at known times, and views of single pictures.

Example: `write_frames(tmp_path / "c.mp4", [scene(1)] * 50 + [scene(2)] * 50)` has a cut at 2.0 s.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import av
import cv2
import numpy as np

from affect.video.decode import DecodePass
from affect.video.timing import Timing
from data_prep.build.config import PictureSection
from data_prep.picture.view import Pixels, View, Viewer
from data_prep.picture.watch import Watcher

SIZE = 320, 180
WatcherT = TypeVar("WatcherT", bound=Watcher)


def scene(seed: int, size: tuple[int, int] = SIZE, detail: int = 1) -> Pixels:
    """A cloudy picture (h, w, 3), RGB, unlike that of any other seed; `detail` times as many
    clouds a side."""
    random = np.random.default_rng(seed)
    clouds = random.uniform(0, 255, (5 * detail, 8 * detail, 3))
    picture = cv2.resize(clouds, size, interpolation=cv2.INTER_CUBIC)
    return np.clip(picture, 0, 255).astype(np.uint8)


def flat(level: int, size: tuple[int, int] = SIZE) -> Pixels:
    return np.full((size[1], size[0], 3), level, np.uint8)


def pan(seed: int, num_frames: int, step: int = 4, detail: int = 1) -> list[Pixels]:
    """A scene that drifts `step` pixels to the left from one frame to the next."""
    width, height = SIZE
    wide = scene(seed, (width + step * num_frames, height), detail)
    return [wide[:, step * n : step * n + width] for n in range(num_frames)]


def faded(
    pictures: Sequence[Pixels], level: int, start: int, middle: int, end: int
) -> list[Pixels]:
    """The pictures, blended into one grey `level` from frame `start` to `middle` and back."""
    shares = np.interp(np.arange(len(pictures)), [start, middle, end], [0.0, 1.0, 0.0])
    return [
        np.rint(picture * (1 - share) + level * share).astype(np.uint8)
        for picture, share in zip(pictures, shares, strict=True)
    ]


def write_frames(
    path: Path,
    pictures: Sequence[Pixels],
    *,
    stamps: Sequence[int] | None = None,
    time_base: Fraction = Fraction(1, 25),
    codec: str = "libx264",
    **options: str,
) -> Path:
    """One frame per picture, shown at `stamps` ticks, by default 0, 1, 2, ..."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=1 / time_base)
        stream.height, stream.width = pictures[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = time_base
        stream.options = {"preset": "ultrafast", **options} if codec == "libx264" else options
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
            frame.pts = stamps[number] if stamps else number
            frame.time_base = time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def view_of(picture: Pixels, settings: PictureSection | None = None, turned: int = 0) -> View:
    """As if a decoder handed this RGB picture out, to be shown turned by so many degrees."""
    decode = DecodePass("drawn.mp4")
    decode.stored_height, decode.stored_width = picture.shape[:2]
    decode.rotation_degrees = turned
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture), format="rgb24")
    return View(Viewer(decode, settings or PictureSection()), frame)


def seen_by(
    watcher: WatcherT, pictures: Sequence[Pixels], stamps: Sequence[int] | None = None
) -> WatcherT:
    """The watcher, after the pictures passed with these stamps, by default 0, 1, 2, ..."""
    for stamp, picture in zip(stamps or range(len(pictures)), pictures, strict=True):
        watcher.see(stamp, view_of(picture))
    return watcher


def timing_of(num_frames: int, frame_rate: int = 25) -> Timing:
    return Timing.from_stamps(range(num_frames), Fraction(1, frame_rate), Fraction(1, frame_rate))
