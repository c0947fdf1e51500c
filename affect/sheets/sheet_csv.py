"""A rater's sheet as CSV: written safely for spreadsheets, read back strictly.

    expert,item,video,segment,start_seconds,end_seconds,emotion,reason,boundary,label,...,comment
    expert_1,v3f9a1c60d2e4-s1,clips/7.mp4,1 of 2,0.0,3.2,Fear,"A shadow ...",5,4,4,5,

The columns are the form's. An empty rating is one that was not given; everything else that is no
rating is refused.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from affect.csv_records import csv_records
from affect.printable import printable
from affect.sheets.cell_text import as_text, from_text
from affect.sheets.form import COMMENT, Form
from affect.sheets.items import SheetItem


@dataclass(frozen=True, slots=True)
class SheetLine:
    """An item as it stands on one rater's sheet. duration_seconds: of its video. answer: which of
    the answers to that video this rater sees it in, "2 of 3"; "" on forms without."""

    item: SheetItem
    duration_seconds: float
    answer: str = ""


@dataclass(frozen=True)
class RatedItem:
    """One line of a sheet: a rating per question, None where the rater gave none."""

    expert: str
    item: str
    ratings: Mapping[str, int | None]
    comment: str


def cells(form: Form, expert: str, line: SheetLine) -> list[str]:
    """One line to be rated, a cell per column."""
    item = line.item
    place = f"{item.segment + 1} of {item.num_segments}"
    answer = [line.answer] if form.has_answers else []
    times = time_text(item.start_seconds), time_text(item.end_seconds)
    written = [expert, item.id, item.video, *answer, place, *times, item.emotion, item.reason]
    return [as_text(printable(cell)) for cell in written] + [""] * (len(form.questions) + 1)


def time_text(seconds: float) -> str:
    """In one decimal, as timelines are written; numbers that are no times in few digits."""
    return f"{seconds:.1f}" if abs(seconds) < 1e6 else f"{seconds:.3g}"


def render_csv(form: Form, expert: str, lines: Sequence[SheetLine]) -> str:
    """The whole sheet, lines ended as RFC 4180 has them."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(form.columns)
    writer.writerows(cells(form, expert, line) for line in lines)
    return buffer.getvalue()


def read_csv(form: Form, path: Path) -> Iterator[tuple[int, RatedItem]]:
    """(line from 1, what it says) for each line of a rated sheet.

    Raises ValueError as `FILE:LINE: FIELD: what is wrong`.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}: not UTF-8 at byte {error.start}; save it as CSV UTF-8"
        ) from error
    (_, header), *records = csv_records(path, text) or [(1, [])]
    _check_header(form, path, header)
    for line, row in records:
        if row:
            yield line, _rated(form, f"{path}:{line}", row)


def _check_header(form: Form, path: Path, row: Sequence[str]) -> None:
    if tuple(row) == form.columns:
        return
    hint = "; save it with commas between the cells" if any(";" in cell for cell in row) else ""
    missing = [name for name in form.columns if name not in row]
    told = f"{missing[0]}: the column is missing" if missing else "the columns are others"
    raise ValueError(f"{path}:1: {told}; they must be {', '.join(form.columns)}{hint}")


def _rated(form: Form, where: str, row: Sequence[str]) -> RatedItem:
    columns = form.columns
    if len(row) != len(columns):
        raise ValueError(
            f"{where}: {columns[min(len(row), len(columns) - 1)]}: the line has {len(row)} cells "
            f"instead of {len(columns)}"
        )
    named = dict(zip(columns, row, strict=True))
    return RatedItem(
        expert=named["expert"].strip(),
        item=named["item"].strip(),
        ratings={name: _rating(form, where, name, named[name]) for name in form.questions},
        comment=from_text(named[COMMENT].strip()).strip(),
    )


def _rating(form: Form, where: str, name: str, cell: str) -> int | None:
    given = cell.strip()
    if not given:
        return None
    for rating in form.ratings:
        if given == str(rating):
            return rating
    raise ValueError(
        f"{where}: {name}: {given[:40]!r} is no whole number from {form.ratings[0]} to "
        f"{form.ratings[-1]}; leave the cell empty where there is no rating"
    )
