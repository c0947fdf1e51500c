"""One pass over every frame of a file, at the end of which its timing is known and whole.

Whoever needs pictures takes them while they pass: only the frame at hand is in memory.

Example:
    decode = DecodePass("clip.mp4")
    brightness = {stamp: frame.to_ndarray(format="gray").mean() for stamp, frame in decode}
    decode.timing.duration, decode.promise.num_frames     # Fraction(132, 25), 132
"""

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import av.container
import av.video.stream

from affect.video.open import VideoError, VideoPath, ffmpeg_reason, open_video
from affect.video.promise import Promise, broken_promise, read_promise
from affect.video.timing import Timing

Frames = Iterator[tuple[int, av.VideoFrame]]


class DecodePass:
    """Iterate once for (stamp in ticks, frame), in the decoder's order; the attributes below hold
    from the first frame on, `timing` after the last.

    stored_width, stored_height: of the first frame, in pixels, before rotation.
    rotation_degrees: 0, 90, 180 or 270, counterclockwise, to be applied before showing.
    codec: the decoder's name. num_corrupt_frames: frames the decoder patched after damage.

    Raises VideoError while iterating: not a video, damage, no time stamps, fewer frames than the
    header promises. Frames that were handed out before are then not to be used.
    """

    def __init__(self, path: VideoPath) -> None:
        self.path = path
        self.promise = Promise()
        self.codec = ""
        self.stored_width = 0
        self.stored_height = 0
        self.rotation_degrees = 0
        self.num_corrupt_frames = 0
        self._num_bytes = 0
        self._timing: Timing | None = None

    @property
    def timing(self) -> Timing:
        assert self._timing is not None, "known after the last frame: iterate to the end first"
        return self._timing

    def __iter__(self) -> Frames:
        with open_video(self.path) as (container, stream):
            self._num_bytes = container.size
            self.promise = read_promise(Path(self.path), container, stream)
            self.codec = stream.codec_context.name
            yield from self._frames(container, stream)

    def _frames(
        self, container: av.container.InputContainer, stream: av.video.stream.VideoStream
    ) -> Frames:
        time_base = stream.time_base
        assert time_base is not None, "an opened stream has a time base"
        # avi stores no presentation stamps, only chunk numbers in decoding order, and those that
        # FFmpeg makes up for reordered frames are wrong. Pictures come out in the order of
        # showing, so the k-th picture is shown at the k-th chunk's time.
        chunk_stamps: deque[int] = deque()
        stamps: list[int] = []
        end_seconds = 0.0
        only_frame_seconds = None
        try:
            # All streams pass, since the header's duration is the longest one's.
            for packet in container.demux():
                if packet.pts is not None and packet.time_base is not None:
                    end_ticks = packet.pts + (packet.duration or 0)
                    end_seconds = max(end_seconds, float(end_ticks * packet.time_base))
                if packet.stream.index != stream.index:
                    continue
                if packet.size and is_dts_only(container) and packet.dts is not None:
                    chunk_stamps.append(packet.dts)
                for frame in stream.decode(packet):
                    if not stamps:
                        self._describe(frame)
                        only_frame_seconds = _stated_length(frame, stream, time_base)
                    own = frame.pts if frame.pts is not None else frame.dts
                    stamp = chunk_stamps.popleft() if chunk_stamps else own
                    if stamp is None:
                        raise VideoError(
                            self.path,
                            f"frame {len(stamps)} carries no time stamp; remux it into mp4 or mkv",
                        )
                    stamps.append(stamp)
                    self.num_corrupt_frames += frame.is_corrupt
                    yield stamp, frame
        except av.FFmpegError as error:
            raise self._stopped(len(stamps), ffmpeg_reason(error)) from error
        if not stamps:
            raise self._stopped(0, "the end")
        self._timing = self._checked_timing(stamps, time_base, only_frame_seconds, end_seconds)

    def _stopped(self, num_frames: int, cause: str) -> VideoError:
        return VideoError(
            self.path,
            f"does not decode: {num_frames} frames came out of {self._num_bytes} bytes, "
            f"its header promises {self.promise}; then: {cause}",
        )

    def _describe(self, frame: av.VideoFrame) -> None:
        self.stored_width, self.stored_height = frame.width, frame.height
        self.rotation_degrees = frame.rotation % 360
        if self.rotation_degrees % 90:
            raise VideoError(
                self.path,
                f"is to be shown turned by {frame.rotation} degrees; only quarter turns can be "
                "applied: re-encode it upright",
            )

    def _checked_timing(
        self,
        stamps: list[int],
        time_base: Fraction,
        only_frame_seconds: Fraction | None,
        end_seconds: float,
    ) -> Timing:
        try:
            timing = Timing.from_stamps(stamps, time_base, only_frame_seconds)
        except ValueError as error:
            raise VideoError(self.path, f"has no duration: {error}") from error
        gaps = (after - before for before, after in pairwise(timing.stamps_ticks))
        reason = broken_promise(
            self.promise,
            num_frames=timing.num_frames,
            end_seconds=max(end_seconds, float(timing.stamps_ticks[-1] * time_base)),
            longest_gap_seconds=float(max(gaps, default=0) * time_base),
            size=self._num_bytes,
        )
        if reason is not None:
            raise VideoError(self.path, reason)
        return timing


def is_dts_only(container: av.container.InputContainer) -> bool:
    """Whether the container's only time stamps are those of decoding."""
    return container.format.name == "avi"


def _stated_length(
    frame: av.VideoFrame, stream: av.video.stream.VideoStream, time_base: Fraction
) -> Fraction | None:
    """How long the container says that this frame is shown, else one frame at the average rate."""
    if frame.duration:
        return frame.duration * time_base
    rate = stream.average_rate or stream.guessed_rate
    return 1 / rate if rate else None
