"""An expert's sheet as CSV: written safely for spreadsheets, read back strictly.

    expert,item,video,segment,start_seconds,end_seconds,emotion,reason,boundary,label,...,comment
    expert_1,v3f9a1c60d2e4-s1,clips/7.mp4,1 of 2,0.0,3.2,Fear,"A shadow ...",5,4,4,5,

Spreadsheets run cells that begin with = + - or @; such a text gets an apostrophe before it. An
empty rating is one that was not given; everything else that is no rating is refused.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from data_prep.dataset.sheet_items import QUESTIONS, RATINGS, SheetItem

COLUMNS = (
    "expert", "item", "video", "segment", "start_seconds", "end_seconds", "emotion", "reason",
    *QUESTIONS, "comment",
)  # fmt: skip

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True)
class RatedItem:
    """One line of a sheet: a rating per question, None where the expert gave none."""

    expert: str
    item: str
    ratings: Mapping[str, int | None]
    comment: str


def cells(expert: str, item: SheetItem) -> list[str]:
    """One line to be rated."""
    place = f"{item.segment + 1} of {item.num_segments}"
    times = f"{item.start_seconds:.1f}", f"{item.end_seconds:.1f}"
    written = [expert, item.id, item.video, place, *times, item.emotion, item.reason]
    return [as_text(cell) for cell in written] + [""] * (len(QUESTIONS) + 1)


def as_text(cell: str) -> str:
    """The cell, in a form that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell


def render_csv(expert: str, items: Sequence[SheetItem]) -> str:
    """The whole sheet, lines ended as RFC 4180 has them."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    writer.writerows(cells(expert, item) for item in items)
    return buffer.getvalue()


def read_csv(path: Path) -> Iterator[tuple[int, RatedItem]]:
    """(line from 1, what it says) for each line of a rated sheet.

    Raises ValueError as `FILE:LINE: FIELD: what is wrong`.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: not UTF-8 at byte {error.start}; save it as CSV UTF-8"
        ) from error
    # newline="" leaves line ends within cells to the reader, as csv asks for.
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for row in reader:
            if line == 1:
                _check_header(path, row)
            elif row:
                yield line, _rated(f"{path}:{line}", row)
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}:{line}: not CSV: {error}") from error
    if line == 1:
        _check_header(path, [])


def _check_header(path: Path, row: Sequence[str]) -> None:
    if tuple(row) == COLUMNS:
        return
    hint = "; save it with commas between the cells" if any(";" in cell for cell in row) else ""
    missing = [name for name in COLUMNS if name not in row]
    told = f"{missing[0]}: the column is missing" if missing else "the columns are others"
    raise ValueError(f"{path}:1: {told}; they must be {', '.join(COLUMNS)}{hint}")


def _rated(where: str, row: Sequence[str]) -> RatedItem:
    if len(row) != len(COLUMNS):
        raise ValueError(
            f"{where}: {COLUMNS[min(len(row), len(COLUMNS) - 1)]}: the line has {len(row)} cells "
            f"instead of {len(COLUMNS)}"
        )
    named = dict(zip(COLUMNS, row, strict=True))
    return RatedItem(
        expert=named["expert"].strip(),
        item=named["item"].strip(),
        ratings={name: _rating(where, name, named[name]) for name in QUESTIONS},
        comment=named["comment"].strip(),
    )


def _rating(where: str, name: str, cell: str) -> int | None:
    given = cell.strip()
    if not given:
        return None
    for rating in RATINGS:
        if given == str(rating):
            return rating
    raise ValueError(
        f"{where}: {name}: {given[:40]!r} is no whole number from {RATINGS[0]} to {RATINGS[-1]}; "
        "leave the cell empty where there is no rating"
    )
