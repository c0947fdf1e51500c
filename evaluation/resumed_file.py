"""A file of lines under a header that the same command, started again, continues.

    class PredictionWriter(ResumedFile):
        def _resume(self): ...          # reads what is there; what differs, and how many lines

Lines are only ever appended, each on the disk when a write returns; a last one that a kill cut
short is dropped when the file is opened again. A file that was begun under another header is
refused, naming what differs, unless it holds nothing but its header: a command that ended before
its first line, for a mistake in it, binds nobody.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from affect.jsonl import JsonlWriter


class ResumedFile:
    """An open file. header: its first line's. advice: what to do about a file begun in another way.

    Raises ValueError when another process is writing the file, for one that was begun in another
    way, and what `_resume` raises.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], advice: str) -> None:
        self.path = path
        self._lines = JsonlWriter(path)
        try:
            differing, num_lines = self._resume() if self._lines.rows else ([], 0)
            if not self._lines.rows or (differing and not num_lines):
                self._lines.clear()
                self._append({"header": header})
            elif differing:
                raise ValueError(
                    f"{path}: was begun in another way ({'; '.join(differing)}); {advice}"
                )
        except BaseException:  # also Ctrl-C: tidy up, then raise it again
            self._lines.close()
            raise

    def _resume(self) -> tuple[list[str], int]:
        """Take in what the file holds: how its header differs (`header_differences`), and how many
        lines follow it."""
        raise NotImplementedError

    def _append(self, *lines: Mapping[str, Any]) -> None:
        self._lines.write(*lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lines.close()


def header_differences(
    begun: Mapping[str, Any], now: Mapping[str, Any], not_compared: Collection[str] = ()
) -> list[str]:
    """`field: a in the file, b now` for each field of either that differs."""
    return [
        f"{name}: {begun.get(name)!r} in the file, {now.get(name)!r} now"
        for name in dict.fromkeys([*begun, *now])
        if name not in not_compared and begun.get(name) != now.get(name)
    ]
