"""The pictures of one video that models are shown, kept beside the journal from its one decode.

    clip.span(3.0, 5.5, max_frames=12)     # Frames within a segment, evenly chosen
    clip.whole(max_frames=32)              # VideoFile: the file, and frames for who takes no file

The pack is a zip archive (stored, not compressed) with one JPEG per frame and `times.json`.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from affect.atomic import write_bytes_atomic
from affect.llm.chat import Frame, Frames, VideoFile
from data_prep.records import StageFailure

_SAME_TIME_EVER = (1980, 1, 1, 0, 0, 0)
"""Stamped on every member, so that equal frames are equal files."""


@dataclass(frozen=True)
class Clip:
    """One video's file and its pack of frames. sha256: of the file. mime_type: of its container;
    empty before the file was decoded. kept: names how the frames were kept (how many, how large),
    so that other ones are another input of a stage and another question to a model."""

    path: Path
    sha256: str
    mime_type: str
    pack: Path
    kept: str = ""

    @property
    def frames_sha256(self) -> str:
        """Names the frames as they were kept."""
        return hashlib.sha256(f"{self.sha256} {self.kept}".encode()).hexdigest()

    def span(self, start_seconds: float, end_seconds: float, max_frames: int) -> Frames:
        """At most `max_frames` frames shown within [start, end), evenly chosen; the one shown at
        the start where none begins in between. Raises StageFailure (`frames_lost`)."""
        with self._open() as archive:
            times = _times(archive)
            inside = [n for n, time in enumerate(times) if start_seconds <= time < end_seconds]
            if not inside:
                before = [n for n, time in enumerate(times) if time <= start_seconds]
                inside = before[-1:] or [0]
            chosen = evenly(inside, max_frames)
            frames = tuple(Frame(times[n], archive.read(_name(n))) for n in chosen)
        return Frames(self.frames_sha256, frames)

    def whole(self, max_frames: int) -> VideoFile:
        """The whole clip. Raises StageFailure (`frames_lost`)."""
        frames = self.span(0.0, float("inf"), max_frames)
        return VideoFile(self.sha256, self.path, self.mime_type, frames)

    def _open(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.pack)
        except (OSError, zipfile.BadZipFile) as error:
            raise StageFailure(
                "frames_lost", f"{self.pack}: {error}; remove the file and run again"
            ) from error


def write_pack(path: Path, frames: Sequence[Frame]) -> None:
    """Write a pack whole or not at all; equal frames give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        times = json.dumps([frame.time_seconds for frame in frames])
        archive.writestr(zipfile.ZipInfo("times.json", _SAME_TIME_EVER), times)
        for number, frame in enumerate(frames):
            archive.writestr(zipfile.ZipInfo(_name(number), _SAME_TIME_EVER), frame.jpeg)
    write_bytes_atomic(path, buffer.getvalue())


def evenly(numbers: Sequence[int], most: int) -> list[int]:
    """At most `most` of the numbers, evenly spread, first and last included."""
    if len(numbers) <= most:
        return list(numbers)
    if most == 1:
        return [numbers[len(numbers) // 2]]
    step = (len(numbers) - 1) / (most - 1)
    return [numbers[round(n * step)] for n in range(most)]


def _times(archive: zipfile.ZipFile) -> list[float]:
    times: list[float] = json.loads(archive.read("times.json"))
    return times


def _name(number: int) -> str:
    return f"{number:05d}.jpg"
