"""Cells that no spreadsheet runs, and that come back as they were."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.sheets.cell_text import as_text, from_text

TEXTS = st.text() | st.text(st.sampled_from("'=+-@\t\r\n\uff1d\uff20a "), max_size=6)


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+1", "'+1"),
        ("-1.0", "'-1.0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\uff1d1", "'\uff1d1"),
        ("'=1", "''=1"),
        ("'tis", "'tis"),
        ("a=1", "a=1"),
        ("", ""),
    ],
)
def test_literal_cells(text: str, cell: str) -> None:
    assert as_text(text) == cell
    assert from_text(cell) == text


@given(TEXTS)
def test_no_cell_begins_a_formula_and_each_has_one_text(text: str) -> None:
    cell = as_text(text)
    assert not re.match(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]", cell)
    assert from_text(cell) == text
