"""What a file's header promises, against what came out of it.

A file cut in half often decodes without a complaint: only its header tells that more should come.

Example: trunc50.mkv decodes to 44 frames, and its header promises 5.28 s
    -> "truncated: its streams end at 1.760 s, its header promises 5.280 s"
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import av.container
import av.video.stream

from affect.video.boxes import promised_avi_bytes, promised_matroska_bytes, promised_mp4_bytes

SLACK_SECONDS = 0.5
"""How far the streams may end before the header's duration: writers round and pad by some frames.
Used only where a header counts no frames."""

_BYTE_PROMISES: dict[str, Callable[[Path], int | None]] = {
    "matroska": promised_matroska_bytes,
    "mov": promised_mp4_bytes,
    "avi": promised_avi_bytes,
}


@dataclass(frozen=True, slots=True)
class Promise:
    """What the header states; None where it states nothing.

    num_frames: pictures of the video stream that are meant to be shown.
    end_seconds: where the longest stream ends, on the clock of the stamps.
    num_bytes: the smallest size that the file can have when nothing of it is missing.
    """

    num_frames: int | None = None
    end_seconds: float | None = None
    num_bytes: int | None = None

    def __str__(self) -> str:
        if self.num_frames is not None:
            return f"{self.num_frames} frames"
        if self.end_seconds is not None:
            return f"{self.end_seconds:.3f} s"
        return "no length" if self.num_bytes is None else f"a file of {self.num_bytes} bytes"


def read_promise(
    path: Path, container: av.container.InputContainer, stream: av.video.stream.VideoStream
) -> Promise:
    """Read before decoding starts. Where frames are counted, nothing else is asked.

    mp4 and mov: frames that an edit list hides are not promised. avi: the header also counts the
    empty chunks that say "the last frame again"; the index leaves them out, but it is rebuilt from
    what is there when the file was cut. Durations are taken from matroska and flv only: FFmpeg
    estimates those of other containers from the data itself.
    """
    kind = container.format.name.split(",")[0]
    read_bytes = _BYTE_PROMISES.get(kind)
    num_bytes = read_bytes(path) if read_bytes else None
    if stream.frames and kind == "mov":
        num_shown = sum(not entry.is_discard for entry in stream.index_entries)
        return Promise(num_frames=num_shown or stream.frames)
    if stream.frames and kind == "avi":
        is_cut = num_bytes is not None and container.size < num_bytes
        return Promise(num_frames=stream.frames if is_cut else len(stream.index_entries) or None)
    end_seconds = None
    if kind in ("matroska", "flv") and container.duration:
        end_seconds = container.duration / av.time_base
    return Promise(end_seconds=end_seconds, num_bytes=num_bytes)


def broken_promise(
    promise: Promise, *, num_frames: int, end_seconds: float, longest_gap_seconds: float, size: int
) -> str | None:
    """Why the file is shorter than promised, with both numbers; None if it is not.

    num_frames: decoded. end_seconds: the latest end of any stream, not only the video's, since a
    header's duration is the longest stream's. longest_gap_seconds: between two frames; a still
    end of a screen recording may be that much short. size: the file's, in bytes.
    """
    if promise.num_frames is not None and num_frames < promise.num_frames:
        return f"truncated: {num_frames} frames decode, its header promises {promise.num_frames}"
    if promise.end_seconds is not None:
        slack_seconds = max(SLACK_SECONDS, 2 * longest_gap_seconds)
        if end_seconds < promise.end_seconds - slack_seconds:
            return (
                f"truncated: its streams end at {end_seconds:.3f} s, "
                f"its header promises {promise.end_seconds:.3f} s"
            )
    if promise.num_bytes is not None and size < promise.num_bytes:
        return (
            f"truncated: the file has {size} bytes, its header promises {promise.num_bytes} "
            f"({num_frames} frames decode)"
        )
    return None
