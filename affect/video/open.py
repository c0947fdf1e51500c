"""Opening a file as a video, or saying why it is not one.

Example:
    with open_video("clip.mp4") as (container, stream):
        for frame in container.decode(stream): ...

    open_video("a_photograph_renamed.mp4")
    -> VideoError: ...: not a video: a still picture, text, a play list, or another container
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import av.container
import av.video.stream
from av.stream import Disposition

VideoPath = str | os.PathLike[str]
"""What every function here takes for a file."""

_CONTAINERS = (
    "mov,matroska,webm,avi,flv,gif,apng,mpegts,mpeg,mpegvideo,m4v,ogg,asf,rm,mxf,nut,ivf,dv,"
    "h263,h264,hevc,obu,vc1,wtv,swf,mp3,wav,flac,aac"
)
"""FFmpeg's names of the containers that are read: those a picture track can come in, and the plain
sound files, which are then refused for having no video stream."""

_STILL_PICTURE_BRANDS = frozenset({"avif", "heic", "heix", "mif1"})
"""HEIF photographs share the mp4 container; their first box gives them away."""


class VideoError(ValueError):
    """A file that cannot be used as a video; `path` names it and `reason` says why.

    It survives pickling, so that a worker process can hand it back.
    """

    def __init__(self, path: VideoPath, reason: str) -> None:
        super().__init__(os.fspath(path), reason)
        self.path = Path(path)
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class DecoderEndedError(VideoError):
    """The decoder was ended from outside or ran out of memory: the file itself may be whole."""


def ffmpeg_reason(error: av.FFmpegError) -> str:
    """What the decoder complained of, without its error number."""
    return error.strerror or str(error)


def require_file(path: VideoPath) -> os.stat_result:
    """Size and times of a regular file; VideoError for anything else: a named pipe, say, would
    keep its reader waiting for ever."""
    try:
        state = os.stat(path)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise VideoError(path, f"cannot be read: {reason}") from error
    if not stat.S_ISREG(state.st_mode):
        raise VideoError(path, "cannot be read: not a regular file")
    return state


@contextmanager
def open_video(
    path: VideoPath,
) -> Iterator[tuple[av.container.InputContainer, av.video.stream.VideoStream]]:
    """The container and its first video stream that is not a cover picture.

    Only this one local file is read: play lists and network addresses inside it are not followed.
    One thread decodes, so that damaged streams give the same frames on every machine, and loader
    processes do not fight over cores.

    Raises VideoError for what is not a file, not a video, has no video stream or no decoder.
    """
    require_file(path)
    try:
        # An absolute path cannot be taken for an address such as "concat:a|b".
        container = av.open(
            os.path.abspath(path),
            mode="r",
            metadata_errors="ignore",
            # A play list would be followed to the network, and a live one waited for, for minutes.
            container_options={"protocol_whitelist": "file", "format_whitelist": _CONTAINERS},
        )
    except av.ArgumentError as error:  # How FFmpeg says "not on the white list".
        raise VideoError(
            path, "not a video: a still picture, text, a play list, or another container"
        ) from error
    except av.FFmpegError as error:
        size = os.stat(path).st_size
        raise VideoError(
            path, f"cannot be opened: {ffmpeg_reason(error)} ({size} bytes)"
        ) from error
    with container:
        yield container, _video_stream(path, container)


def _video_stream(
    path: VideoPath, container: av.container.InputContainer
) -> av.video.stream.VideoStream:
    brand = container.metadata.get("major_brand", "")
    if brand in _STILL_PICTURE_BRANDS:
        raise VideoError(path, f"not a video: a still picture ({brand})")
    for stream in container.streams.video:
        if Disposition.attached_pic in stream.disposition:
            continue
        if stream.codec_context is None:
            raise VideoError(path, "its video stream has no decoder here; re-encode it")
        stream.codec_context.thread_count = 1
        return stream
    kinds = ", ".join(sorted({stream.type for stream in container.streams})) or "nothing"
    raise VideoError(path, f"no video stream: it holds {kinds}")
