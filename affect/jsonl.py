"""JSON Lines on disk: strict reading, atomic writing, and appending that survives a kill.

    rows = read_jsonl(Path("runs/demo/predictions/test.jsonl"))
    write_jsonl_atomic(Path("train.sft.jsonl"), rows)
    with JsonlWriter(Path("runs/demo/predictions/test.jsonl")) as output:
        answered = {row["id"] for row in output.rows}
        output.write({"id": "clip_7", "text": "..."})

Files are UTF-8, one object per line. Reading refuses what would be lost or ambiguous (repeated
keys, NaN, numbers too large for a float, broken lines) by file and line; blank lines are skipped.
"""

import fcntl
import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from affect.atomic import write_text_atomic

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file; raises what `numbered_jsonl` raises."""
    return [row for _, row in numbered_jsonl(path)]


def numbered_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line number from 1, object) for each line that is not blank.

    Raises ValueError as `FILE:LINE: what is wrong` at the first line that is no JSON object.
    """
    for line in scan_jsonl(path):
        if line.row is None:
            raise ValueError(f"{path}:{line.number}: {line.fault}")
        yield line.number, line.row


class JsonlLine(NamedTuple):
    """A line that is not blank: its object, or what is wrong with it.

    number: from 1. is_ended: whether a newline ends it; a line without may be torn by a kill.
    """

    number: int
    row: dict[str, Any] | None
    fault: str | None
    is_ended: bool


def scan_jsonl(path: Path) -> Iterator[JsonlLine]:
    """Yield every line that is not blank, broken ones too: for who reports on all of a file."""
    with open(path, "rb") as file:
        # A binary file splits at \n alone; U+2028 inside a string must not end a line.
        for number, line in enumerate(file, 1):
            is_ended = line.endswith(b"\n")
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if line.strip():
                try:
                    row, fault = _decode_line(line), None
                except ValueError as error:
                    row, fault = None, str(error)
                yield JsonlLine(number, row, fault, is_ended)


def write_jsonl_atomic(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one line per row: all of them under `path`, or on any failure none.

    Raises ValueError naming the row that is no JSON (NaN, a type JSON has no form for).
    """
    lines = []
    for index, row in enumerate(rows):
        lines.append(_encode_line(row, f"{path}: row {index}"))
    write_text_atomic(Path(path), "".join(lines))


class JsonlWriter:
    """Appends rows to a file and continues it after a kill.

    On opening, `rows` holds what the file has already. A last line torn by a kill is cut off
    first (`num_bytes_cut` says how much); any other broken line raises ValueError. Each `write`
    is on the disk when it returns, or not in the file at all. One writer at a time: a second
    one, in this or another process, gets a ValueError, or with `wait` its turn.
    """

    def __init__(self, path: Path, *, wait: bool = False) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            self._lock(wait)
            self.num_bytes_cut = self._mend_end()
            self.rows = tuple(read_jsonl(self.path))
        except BaseException:  # also Ctrl-C: tidy up, then raise it again
            os.close(self._file)
            raise

    def write(self, *rows: Mapping[str, Any]) -> None:
        """Append the rows, all or none. Raises ValueError for a row that is no JSON."""
        lines = (_encode_line(row, f"{self.path}: a row to append") for row in rows)
        data = "".join(lines).encode("utf-8")
        size = os.lseek(self._file, 0, os.SEEK_END)
        try:
            _write_all(self._file, data)
            os.fsync(self._file)
        except BaseException:  # also Ctrl-C: tidy up, then raise it again
            os.ftruncate(self._file, size)
            raise

    def clear(self) -> None:
        """Forget all rows: the file is begun anew."""
        os.ftruncate(self._file, 0)
        self.rows = ()

    def close(self) -> None:
        """Close the file and let other writers in. May be called again."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _lock(self, wait: bool) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise ValueError(
                f"{self.path}: another process is writing this file; wait for it or stop it"
            ) from error

    def _mend_end(self) -> int:
        """Cut a torn last line off, or give a whole one its newline; return the bytes cut."""
        content = self.path.read_bytes()
        end = content.rfind(b"\n") + 1
        tail = content[end:]
        if not tail:
            return 0
        try:
            _decode_line(tail if end else tail.removeprefix(_BYTE_ORDER_MARK))
        except ValueError:
            os.ftruncate(self._file, end)
            return len(tail)
        os.lseek(self._file, 0, os.SEEK_END)
        _write_all(self._file, b"\n")
        return 0


def _encode_line(row: Mapping[str, Any], place: str) -> str:
    try:
        line = json.dumps(dict(row), ensure_ascii=False, allow_nan=False)
        if any("\ud800" <= character <= "\udfff" for character in line):
            # Half a surrogate pair in a model's text: only an escape can store it.
            line = json.dumps(dict(row), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{place} cannot be written as JSON: {error}") from error
    return line + "\n"


def _decode_line(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(
            line.decode("utf-8"),
            object_pairs_hook=without_repeats,
            parse_constant=_refuse_constant,
            parse_float=_finite,
        )
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start} of the line") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply to be read") from error
    if not isinstance(row, dict):
        raise ValueError(f"an object {{...}} is needed, not {type(row).__name__}")
    return row


def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """`object_pairs_hook` of `json` that raises ValueError for a key that is written twice."""
    decoded = dict(pairs)
    if len(decoded) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise ValueError(f"the key {counts.most_common(1)[0][0]!r} is written more than once")
    return decoded


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is too large a number")
    return value


def _write_all(file: int, data: bytes) -> None:
    written = 0
    while written < len(data):
        written += os.write(file, data[written:])
