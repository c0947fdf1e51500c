"""A section's content as HTML: escaped, with inline SVG, without scripts.

html_of(content)      # '<p>...</p><figure>...</figure><div class="numbers"><table>...'
"""

import re
from html import escape

from affect.printable import printable
from evaluation.report.contents import (
    Block,
    Cell,
    Column,
    Content,
    Folded,
    Heading,
    Interval,
    NumberTable,
    Paragraph,
    Plot,
)
from evaluation.report.draw import inline_svg
from evaluation.tables import UNDEFINED, percent, points

_NUM_ROWS_IN_VIEW = 24
_LONG_WORD = re.compile(r"^[0-9a-f]{32,}$")


def html_of(content: Content) -> str:
    return "".join(_block(block) for block in content.blocks)


def _block(block: Block) -> str:
    match block:
        case Paragraph(text):
            return f"<p>{_text(text)}</p>"
        case Heading(text):
            return f"<h3>{_text(text)}</h3>"
        case Folded(title, blocks, is_open):
            state = " open" if is_open else ""
            inside = "".join(_block(one) for one in blocks)
            return (
                f'<details class="numbers-behind"{state}><summary>{_text(title)}</summary>'
                f"{inside}</details>"
            )
        case Plot():
            return (
                f'<figure class="plot"><div class="plot-scroll">{inline_svg(block)}</div>'
                f"<figcaption>{_text(block.caption)}</figcaption></figure>"
            )
        case NumberTable():
            return _table(block)


def _text(text: str) -> str:
    return escape(printable(text))


def _table(table: NumberTable) -> str:
    heads = "".join(
        f'<th scope="col"{_kind(column)}>{_text(column.name)}</th>' for column in table.columns
    )
    lines = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row">{_cell(column, cell)}</th>'
            if at == 0
            else f"<td{_kind(column)}>{_cell(column, cell)}</td>"
            for at, (column, cell) in enumerate(zip(table.columns, row, strict=True))
        )
        + "</tr>"
        for row in table.rows
    )
    long = " long" if len(table.rows) > _NUM_ROWS_IN_VIEW else ""
    return (
        f'<div class="table-scroll{long}"><table class="numbers" id="table-{escape(table.id)}">'
        f"<caption>{_text(table.caption)}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def _kind(column: Column) -> str:
    return "" if column.kind == "text" else ' class="number"'


def _cell(column: Column, cell: Cell) -> str:
    text = cell_text(column, cell)
    if column.kind == "text" and _LONG_WORD.match(text):
        return f'<code title="{escape(text)}">{escape(text[:16])}…</code>'
    mean, bracket, interval = text.partition(" [")
    if bracket and column.kind != "text":
        return f"{escape(mean)} <small>[{escape(interval)}</small>"
    return _text(text)


def cell_text(column: Column, cell: Cell) -> str:
    """As it is read: percent and points with one decimal, scores with two, `-` for None."""
    if cell is None:
        return UNDEFINED
    match column.kind:
        case "percent" | "points":
            assert isinstance(cell, Interval)
            return percent(*cell, "+" if column.kind == "points" else "")
        case "score":
            assert isinstance(cell, Interval)
            return points(*cell)
        case "counts":
            assert isinstance(cell, tuple)
            return " / ".join(f"{count:,}" for count in cell)
        case "count":
            assert isinstance(cell, int)
            return f"{cell:,}"
        case "seconds":
            assert isinstance(cell, float | int)
            return f"{cell:.2f}"
        case "number":
            assert isinstance(cell, float | int)
            return f"{cell:.4g}"
        case "text":
            return str(cell)
