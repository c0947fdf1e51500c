"""A decoded frame at the two sizes that are needed, each made at most once, upright.

    view.bgr      # (90, 160, 3) uint8: what hash, flow, cuts and stillness are found in
    view.gray     # (90, 160) of the same
    view.rgb      # (252, 448, 3): what models are shown

The decoder's frame (YUV, full size) is scaled and converted in one step, so that no whole-size RGB
picture ever exists: on 720p that conversion costs as much as the decoding.
"""

from functools import cached_property

import av
import cv2
import numpy as np
from av.video.reformatter import Interpolation, VideoReformatter
from numpy.typing import NDArray

from affect.video.decode import DecodePass
from affect.video.open import VideoError, ffmpeg_reason
from data_prep.build.config import PictureSection

Pixels = NDArray[np.uint8]

_SCALING = (
    Interpolation.AREA
    | Interpolation.ACCURATE_RND
    | Interpolation.BITEXACT
    | Interpolation.FULL_CHR_H_INT
)
"""Area averages: the cheapest scaling that does not alias. The flags give the same pixels whatever
vector instructions a machine has."""

_MIN_SIDE_PIXELS = 16
"""Optical flow needs a picture; of a strip 4000 x 10 the shorter side is stretched to this."""


class Viewer:
    """Makes the views of one decode pass. For the analysis every clip is scaled to the same longer
    side, small ones up; models are never shown an enlarged frame."""

    def __init__(self, decode: DecodePass, settings: PictureSection) -> None:
        self._decode = decode
        self._analysis_side, self._frame_side = settings.analysis_side, settings.frame_side
        self._small, self._large = VideoReformatter(), VideoReformatter()

    def small(self, frame: av.VideoFrame) -> Pixels:
        width, height = scaled_size(self._stored_size(), self._analysis_side)
        size = max(width, _MIN_SIDE_PIXELS), max(height, _MIN_SIDE_PIXELS)
        return self._upright(self._small, frame, size, "bgr24")

    def large(self, frame: av.VideoFrame) -> Pixels:
        stored = self._stored_size()
        size = scaled_size(stored, min(self._frame_side, max(stored)))
        return self._upright(self._large, frame, size, "rgb24")

    def _stored_size(self) -> tuple[int, int]:
        """Of the first frame: a stream whose size changes is brought to one size."""
        return self._decode.stored_width, self._decode.stored_height

    def _upright(
        self, scaler: VideoReformatter, frame: av.VideoFrame, size: tuple[int, int], kind: str
    ) -> Pixels:
        """Scaled before it is turned: the small picture is the cheaper one to turn."""
        width, height = size
        try:
            scaled = scaler.reformat(
                frame, width=width, height=height, format=kind, interpolation=_SCALING, threads=1
            )
        except av.FFmpegError as error:
            raise VideoError(
                self._decode.path,
                f"its {frame.format.name} pixels do not convert: {ffmpeg_reason(error)}",
            ) from error
        turned: Pixels = np.rot90(scaled.to_ndarray(), self._decode.rotation_degrees // 90)
        return np.ascontiguousarray(turned)


class View:
    """One frame; an attribute costs nothing until it is asked for."""

    def __init__(self, viewer: Viewer, frame: av.VideoFrame) -> None:
        self._viewer = viewer
        self._frame = frame

    @cached_property
    def bgr(self) -> Pixels:
        return self._viewer.small(self._frame)

    @cached_property
    def gray(self) -> Pixels:
        gray: Pixels = cv2.cvtColor(self.bgr, cv2.COLOR_BGR2GRAY)
        return gray

    @cached_property
    def rgb(self) -> Pixels:
        return self._viewer.large(self._frame)


def scaled_size(size: tuple[int, int], longer_side: int) -> tuple[int, int]:
    """Width and height with this longer side and the same shape, each at least 1 pixel."""
    scale = longer_side / max(size)
    width, height = (max(1, round(side * scale)) for side in size)
    return width, height
