"""Records of CSV text: their lines, the limit of a cell, and Python's own limit left as it was."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.csv_records import MAX_CELL_CHARACTERS, csv_records

PATH = Path("t.csv")
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


def test_a_record_is_where_it_begins() -> None:
    text = 'a,b\r\n"one\ntwo",2\n\n3,4'
    assert csv_records(PATH, text) == [
        (1, ["a", "b"]), (2, ["one\ntwo", "2"]), (4, []), (5, ["3", "4"]),
    ]  # fmt: skip
    assert csv_records(PATH, "") == []
    assert csv_records(PATH, "a\tb,c", "\t") == [(1, ["a", "b,c"])]


@given(st.lists(st.lists(CELLS, min_size=2, max_size=4), max_size=6))
def test_what_was_written_is_read(table: list[list[str]]) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer).writerows(table)
    assert [record for _, record in csv_records(PATH, buffer.getvalue())] == table


@pytest.mark.parametrize("text", ['a\n"b', 'a\n"b"c', "a\n" + "x" * (MAX_CELL_CHARACTERS + 1)])
def test_what_is_broken_is_refused_by_line(text: str) -> None:
    before = csv.field_size_limit()
    with pytest.raises(ValueError, match=r"^t.csv:2: not CSV: "):
        csv_records(PATH, text)
    assert csv.field_size_limit() == before


def test_long_cells_are_read_and_the_processs_limit_stays() -> None:
    before = csv.field_size_limit()
    assert csv_records(PATH, "x" * 500_000) == [(1, ["x" * 500_000])]
    assert csv.field_size_limit() == before
