"""Files too large to hold: written whole or not at all, line by line; rows kept on disk meanwhile.

with whole_file(Path("train.sft.jsonl")) as file:       # appears when the block ends well
    file.write(b"...")
with Spool(folder) as spool:
    place = spool.add(b"...")                            # on disk
    spool.read(place)
"""

import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

Place = tuple[int, int]
"""Where something lies in a spool: offset and length in bytes."""


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A binary file to write to; `path` is replaced by it if the block raises nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def temporary_name(path: Path) -> Path:
    """A name beside `path` that nobody has, as `affect.atomic` forms them."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")


class Spool:
    """A file without a name, for what is gathered in one pass and needed in another order."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 (closed by __exit__)
        self._end = 0

    def add(self, data: bytes) -> Place:
        self._file.seek(self._end)
        self._file.write(data)
        place = (self._end, len(data))
        self._end += len(data)
        return place

    def read(self, place: Place) -> bytes:
        offset, length = place
        self._file.seek(offset)
        return self._file.read(length)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
