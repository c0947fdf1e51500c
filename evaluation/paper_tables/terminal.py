"""A table on the terminal: best in bold, second underlined.

Example: `make_console().print(to_rich(table))`
"""

from rich.table import Table
from rich.text import Text

from evaluation.paper_tables.cell_text import interval_text, one_line, value_text
from evaluation.paper_tables.differences import HEAD, difference_lines
from evaluation.paper_tables.document import BEST, SECOND, Cell, Column, PaperTable
from evaluation.tables import UNDEFINED

_STYLES = {BEST: "bold", SECOND: "underline"}


def to_rich(table: PaperTable) -> Table:
    """The caption as title; differences and notes below."""
    below = [one_line(note) for note in table.notes]
    if table.differences:
        columns, lines = difference_lines(table)
        below += [
            f"{HEAD}: "
            + "; ".join(
                f"{one_line(label)}: "
                + ", ".join(f"{head} {text}" for head, text in zip(columns, texts, strict=True))
                for label, texts in lines
            )
            + "."
        ]
    shown = Table(
        title=Text(f"Table {table.number}. {one_line(table.caption)}"),
        title_justify="left",
        caption=Text("\n".join(below)),
        caption_justify="left",
    )
    shown.add_column("system")
    for column in table.columns:
        shown.add_column(column.title, justify="right")
    for head in table.counted:
        shown.add_column(head, justify="right")
    group = ""
    for line in table.lines:
        if line.group != group:
            group = line.group
            shown.add_section()
            if group.strip():
                shown.add_row(Text(one_line(group), style="italic"))
        cells = [
            _cell(cell, column) for cell, column in zip(line.cells, table.columns, strict=True)
        ]
        counts = [Text(UNDEFINED if count is None else count.text) for count in line.counts]
        shown.add_row(Text(one_line(line.label)), *cells, *counts)
    return shown


def _cell(cell: Cell, column: Column) -> Text:
    text = Text(value_text(cell, column), style=_STYLES.get(cell.place or 0, ""))
    interval = interval_text(cell, column)
    return text.append(f" {interval}", style="dim not bold not underline") if interval else text
