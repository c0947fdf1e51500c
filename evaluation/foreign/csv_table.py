"""CSV and TSV files, line by line, by the names in their first line.

    video,start,end,emotion,reason
    real/bikes.mp4,0,4.2,Calmness,"The road lies empty, so the viewer is calm."

Names are compared without case and without white space around them; cells stay as they are.

Example: `[line.cells["video"] for line in read_csv(path).lines]`
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from affect.csv_records import csv_records
from evaluation.foreign.json_entries import read_utf8

SUFFIXES = {".csv": ",", ".tsv": "\t"}
START, END = ("start", "start_time"), ("end", "end_time")
"""What the times of a segment are called, in JSON too; the first that is there counts."""
NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
"""A number as people write it: `+1`, `.5` and `2.` are some that JSON has not."""


@dataclass(frozen=True, slots=True)
class CsvLine:
    """place: `FILE:LINE`, the first one of a record that spans several."""

    place: str
    cells: dict[str, str]


@dataclass(frozen=True, slots=True)
class CsvTable:
    """columns: as named in the first line, lower case."""

    columns: tuple[str, ...]
    lines: list[CsvLine]

    def find(self, names: Sequence[str]) -> str | None:
        """The first of the names that is a column."""
        return next((name for name in names if name in self.columns), None)

    @property
    def names(self) -> str:
        """The columns as an error can tell them."""
        more = ", ..." if len(self.columns) > 20 else ""
        return ", ".join(repr(name)[:40] for name in self.columns[:20]) + more


def read_csv(path: Path) -> CsvTable:
    """Read a whole file; blank lines are skipped, a byte order mark is no part of a name.

    Raises ValueError as `FILE:LINE: what is wrong`: not UTF-8, no names, a name twice, another
    number of cells than names, a quote that does not end.
    """
    text = read_utf8(path)
    delimiter = SUFFIXES.get(path.suffix.lower(), ",")
    columns: tuple[str, ...] | None = None
    lines: list[CsvLine] = []
    for number, record in csv_records(path, text, delimiter):
        place = f"{path}:{number}"
        if not any(cell.strip() for cell in record):
            continue
        if columns is None:
            columns = _columns(record, place, delimiter)
            continue
        if len(record) != len(columns):
            raise ValueError(
                f"{place}: has {len(record)} cells where the first line names {len(columns)}; a "
                "text that holds a separator stands in double quotes"
            )
        lines.append(CsvLine(place, dict(zip(columns, record, strict=True))))
    if columns is None:
        raise ValueError(f"{path}:1: the file is empty; its first line must name the columns")
    return CsvTable(columns, lines)


def _columns(record: list[str], place: str, delimiter: str) -> tuple[str, ...]:
    columns = tuple(name.strip().casefold() for name in record)
    if len(columns) == 1 and any(mark in columns[0] for mark in ";\t,"):
        raise ValueError(
            f"{place}: one column called {columns[0][:60]!r}; columns are separated by "
            f"{'tabs' if delimiter == chr(9) else 'commas'} here"
        )
    repeated = [name for index, name in enumerate(columns) if name in columns[:index]]
    if repeated:
        raise ValueError(f"{place}: the column {repeated[0]!r} is named twice")
    return columns
