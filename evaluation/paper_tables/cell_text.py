"""The text of one cell, before a format marks it.

Example: `value_text(cell, column), interval_text(cell, column)     # '61.3', '[56.9, 65.7]'`
"""

from evaluation.paper_tables.document import Cell, Column, Difference, shown
from evaluation.tables import UNDEFINED


def value_text(cell: Cell, column: Column) -> str:
    """A number, or a dash where there is none; of a check `yes` or `no`."""
    if cell.is_on is not None:
        return "yes" if cell.is_on else "no"
    return UNDEFINED if cell.mean is None else shown(cell.mean, column.unit)


def interval_text(cell: Cell, column: Column) -> str:
    """Blank where there is none."""
    if cell.low is None or cell.high is None:
        return ""
    return f"[{shown(cell.low, column.unit)}, {shown(cell.high, column.unit)}]"


def difference_text(difference: Difference, column: Column) -> str:
    """`+4.3 [+0.9, +7.8]`."""
    if difference.mean is None:
        return UNDEFINED
    text = shown(difference.mean, column.unit, "+")
    if difference.low is None or difference.high is None:
        return text
    low, high = (shown(value, column.unit, "+") for value in (difference.low, difference.high))
    return f"{text} [{low}, {high}]"


def one_line(text: str) -> str:
    """A label or caption without line breaks and characters that a terminal would act on."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
