"""Files that can't be decoded, or not in time, by name: not tried again until they change.

One line per file, in a run's `quarantine.jsonl`:

    {"path": "/clips/0007.mp4", "reason": "decoding took longer than 120 s and was ended",
     "seconds": 120.1, "limit_seconds": 120.0, "size_bytes": 48213, "mtime_ns": 1764460000000000000}

A file of another size or modification time is tried again, and so is one that ran out of time when
there is more time than there was. Removing its line does the same by hand.

Example:
    quarantine = Quarantine(Path("runs/demo/sft/quarantine.jsonl"))
    quarantine.add(path, require_file(path), "decoding took ...", seconds=120.1, limit_seconds=120)
    quarantine.reason(path, require_file(path), limit_seconds=120)     # "decoding took ..."
"""

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from affect.first_fault import first_fault
from affect.jsonl import JsonlWriter, scan_jsonl
from affect.video.open import VideoPath


class QuarantinedFile(BaseModel):
    """One line of the file.

    seconds: what the decode took until it ended. limit_seconds: what it was allowed; None where it
    ended by itself (the decoder crashed or refused the file), which more time would not change.
    size_bytes, mtime_ns: None where there was no file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    path: str
    reason: str
    seconds: float = Field(ge=0)
    limit_seconds: float | None = Field(None, gt=0)
    size_bytes: int | None
    mtime_ns: int | None


class Quarantine:
    """The list in memory and, where it has a path, on disk.

    The file may be shared: what another process adds, say another rank, is seen at the next look.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._files: dict[str, QuarantinedFile] = {}
        self._version = (0, 0)

    def reason(self, video: VideoPath, state: os.stat_result, limit_seconds: float) -> str | None:
        """Why the file is not to be decoded within `limit_seconds`; None if it may be.

        state: the file's, as `require_file` returns it. Raises ValueError by file and line where
        the list on disk is broken.
        """
        self._read_again()
        known = self._files.get(os.path.abspath(video))
        if known is None or (known.size_bytes, known.mtime_ns) != _version_of(state):
            return None
        if known.limit_seconds is not None and limit_seconds > known.limit_seconds:
            return None
        return known.reason

    def add(
        self,
        video: VideoPath,
        state: os.stat_result | None,
        reason: str,
        *,
        seconds: float,
        limit_seconds: float | None,
    ) -> None:
        """Note the file, on disk too before this returns."""
        size_bytes, mtime_ns = (None, None) if state is None else _version_of(state)
        entry = QuarantinedFile(
            path=os.path.abspath(video),
            reason=reason,
            seconds=round(seconds, 3),
            limit_seconds=limit_seconds,
            size_bytes=size_bytes,
            mtime_ns=mtime_ns,
        )
        self._files[entry.path] = entry
        if self.path is not None:
            with JsonlWriter(self.path, wait=True) as file:
                file.write(entry.model_dump())

    def note(self, video: VideoPath, reason: str) -> None:
        """`add` a file that was refused by itself, or is gone; once for each of its versions."""
        self._read_again()
        try:
            state = os.stat(video)
        except OSError:
            state = None
        known = self._files.get(os.path.abspath(video))
        version = (None, None) if state is None else _version_of(state)
        if known is None or (known.size_bytes, known.mtime_ns) != version:
            self.add(video, state, reason, seconds=0.0, limit_seconds=None)

    def _read_again(self) -> None:
        """Take in what is on disk, if it changed."""
        if self.path is None:
            return
        try:
            version = _version_of(os.stat(self.path))
        except FileNotFoundError:
            version = (0, 0)
        if version == self._version:
            return
        files: dict[str, QuarantinedFile] = {}
        for line in scan_jsonl(self.path) if self.path.exists() else ():
            try:
                if line.row is None:
                    if not line.is_ended:
                        continue  # being written, or torn by a kill: the next writer mends it
                    raise ValueError(line.fault)
                entry = QuarantinedFile.model_validate(line.row)
            except ValueError as error:
                raise ValueError(
                    f"{self.path}:{line.number}: {_told(error)}; remove the line"
                ) from error
            files[entry.path] = entry  # the latest line about a file counts
        self._files, self._version = files, version


def _version_of(state: os.stat_result) -> tuple[int, int]:
    return state.st_size, state.st_mtime_ns


def _told(error: ValueError) -> str:
    if isinstance(error, ValidationError):
        return first_fault(error)
    return str(error)
