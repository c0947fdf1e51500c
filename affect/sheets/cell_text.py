"""Texts as cells of a table that a spreadsheet may open, and back.

    as_text("=1+1")          # "'=1+1": a text, where it would have been a formula
    from_text("'=1+1")       # "=1+1"

Spreadsheets run cells that begin with = + - or @ (full-width ones too, in some), or with white
space that they drop before one; such a text gets an apostrophe before it, and so does one that
begins with apostrophes before such a character, so that each cell has one text.
"""

import re

FORMULA = r"^'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
"""Texts that get an apostrophe; the pages' script holds the same expression."""

_FORMULA = re.compile(FORMULA)


def as_text(text: str) -> str:
    """The text, in a form that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def from_text(cell: str) -> str:
    """The text of which `as_text` made the cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell[1:]) else cell
