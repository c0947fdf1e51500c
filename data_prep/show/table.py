"""A titled table of plain texts, and how times and numbers are written in it.

Table("Look: cuts and fades", ("time", "kind"), (("3.00 s", "cut"),))
"""

from dataclasses import dataclass

from data_prep.records import Span


@dataclass(frozen=True, slots=True)
class Table:
    """notes stand before the rows; a table may have notes alone. Cells hold text as it is."""

    title: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def seconds_text(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f} s"


def span_text(span: Span) -> str:
    return f"{span.start_seconds:.2f} to {span.end_seconds:.2f} s"


def number_text(value: float | int | None) -> str:
    """Four digits of what was measured, all of what was counted."""
    if value is None:
        return "unknown"
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"
