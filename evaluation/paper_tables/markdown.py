"""A table as Markdown: best in bold, second underlined, intervals small, counts in columns.

Example: `to_markdown(table).splitlines()[2]     # '| system | SC-Acc | mIoU | ... |'`
"""

import re
from collections.abc import Sequence

from evaluation.paper_tables.cell_text import interval_text, one_line, value_text
from evaluation.paper_tables.differences import HEAD, difference_lines
from evaluation.paper_tables.document import BEST, SECOND, Cell, Column, PaperTable
from evaluation.tables import UNDEFINED

_SPECIAL = re.compile(r"([\\`*_{}\[\]#|~$])")


def escape(text: str) -> str:
    """Text that Markdown shows as it is, also where it holds HTML."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", text)


def to_markdown(table: PaperTable) -> str:
    """The caption, the table, its differences and its notes."""
    heads = [column.title for column in table.columns]
    rows: list[list[str]] = []
    group = ""
    for line in table.lines:
        if line.group != group:
            group = line.group
            if group.strip():
                rows.append([f"*{escape(group)}*"])
        cells = [
            _cell(cell, column) for cell, column in zip(line.cells, table.columns, strict=True)
        ]
        counts = [UNDEFINED if count is None else count.text for count in line.counts]
        rows.append([escape(line.label), *cells, *counts])
    parts = [
        f"**Table {table.number}.** {escape(table.caption)}",
        _grid(["system", *(escape(head) for head in (*heads, *table.counted))], rows),
    ]
    if table.differences:
        columns, lines = difference_lines(table)
        parts += [
            f"{HEAD}:",
            _grid(
                ["systems", *(escape(head) for head in columns)],
                [[escape(label), *texts] for label, texts in lines],
            ),
        ]
    if table.notes:
        parts.append("\n".join(f"- {escape(note)}" for note in table.notes))
    return "\n\n".join(parts) + "\n"


def _cell(cell: Cell, column: Column) -> str:
    if cell.is_on is not None:
        return "✓" if cell.is_on else "✗"
    text = value_text(cell, column)
    if cell.place == BEST:
        text = f"**{text}**"
    elif cell.place == SECOND:
        text = f"<u>{text}</u>"
    interval = interval_text(cell, column)
    return f"{text} <sub>{interval}</sub>" if interval else text


def _grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    width = len(heads)
    lines = [list(heads), ["---", *["---:"] * (width - 1)]]
    lines += [[*row, *[""] * (width - len(row))] for row in rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
