"""What a video is: frames, seconds, size. Found by decoding all of it, never from its header.

Example:
    probe_video("rotated_90.mp4")
    -> VideoInfo(num_frames=132, duration_seconds=5.28, width=180, height=320, ...)
"""

from dataclasses import dataclass
from fractions import Fraction

from affect.video.decode import DecodePass
from affect.video.open import VideoPath
from affect.video.timing import Timing


@dataclass(frozen=True, slots=True)
class VideoInfo:
    """A video that decodes whole.

    timing: every frame's stamp, exact.
    stored_width, stored_height: pixels as encoded; `width` and `height` are after rotation.
        Pixels are taken as square: a stated sample aspect ratio is not applied.
    rotation_degrees: 0, 90, 180 or 270, counterclockwise, already applied in sampled frames.
    codec: name of the decoder that read it.
    num_corrupt_frames: frames that the decoder patched up after damage; they count as frames.
    """

    timing: Timing
    stored_width: int
    stored_height: int
    rotation_degrees: int
    codec: str
    num_corrupt_frames: int

    @property
    def num_frames(self) -> int:
        return self.timing.num_frames

    @property
    def duration(self) -> Fraction:
        """Seconds of picture, exact."""
        return self.timing.duration

    @property
    def duration_seconds(self) -> float:
        return float(self.timing.duration)

    @property
    def first_stamp_seconds(self) -> float:
        """The first frame's stamp, which is subtracted from all times."""
        return float(self.timing.stamps_ticks[0] * self.timing.time_base)

    @property
    def stamps_seconds(self) -> tuple[float, ...]:
        """When each frame is shown, after the first one; starts with 0.0."""
        return tuple(self.timing.seconds(frame) for frame in range(self.num_frames))

    @property
    def width(self) -> int:
        return self.stored_height if self.rotation_degrees % 180 else self.stored_width

    @property
    def height(self) -> int:
        return self.stored_width if self.rotation_degrees % 180 else self.stored_height


def probe_video(path: VideoPath) -> VideoInfo:
    """Decode the whole file and describe it.

    Raises VideoError with the path and the reason when it does not decode to what it promises.
    """
    decode = DecodePass(path)
    for _ in decode:
        pass
    return describe(decode)


def describe(decode: DecodePass) -> VideoInfo:
    """The description of the file behind a finished pass."""
    return VideoInfo(
        timing=decode.timing,
        stored_width=decode.stored_width,
        stored_height=decode.stored_height,
        rotation_degrees=decode.rotation_degrees,
        codec=decode.codec,
        num_corrupt_frames=decode.num_corrupt_frames,
    )
