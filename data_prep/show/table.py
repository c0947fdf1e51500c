"""A titled table of plain texts, and how times and numbers are written in it.

Table("Look: cuts and fades", ("time", "kind"), (("3.00 s", "cut"),))
"""

import re
from dataclasses import dataclass

from data_prep.records import Span

# XML's and HTML's forbidden characters, halves of characters, and what turns text around.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)


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


def printable(text: str) -> str:
    """Text with what no screen may be given made visible: control characters, halves of
    characters, changes of direction."""
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
