"""Tables of any texts: written so that all of them can be read, and read back by line."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affect.printable import printable
from affect.sheets.cell_text import as_text, from_text
from affect.sheets.sheet_csv import read_csv, render_csv, time_text
from tests.affect.sheets.forms import FORM, make_line

TEXTS = st.text(max_size=20).filter(lambda text: "\ud800" not in printable(text))


def test_a_literal_table() -> None:
    lines = [make_line(0, reason='She says "no",\nand\r\nleaves'), make_line(1, emotion="=Fear")]
    assert render_csv(FORM, "expert_1", lines) == (
        "expert,item,video,answer,segment,start_seconds,end_seconds,emotion,reason,fits,seen,"
        "comment\r\n"
        'expert_1,i0,clips/a.mp4,1 of 1,1 of 2,0.0,2.0,Fear,"She says ""no"",\nand\\u000d\nleaves"'
        ",,,\r\n"
        "expert_1,i1,clips/a.mp4,1 of 1,2 of 2,2.0,4.0,'=Fear,A shadow moves.,,,\r\n"
    )


@given(TEXTS, TEXTS, st.sampled_from(["", "0", " 2 "]), st.text(max_size=12))
@settings(deadline=None)
def test_any_texts_and_ratings_come_back(
    tmp_path_factory: pytest.TempPathFactory, emotion: str, reason: str, rating: str, comment: str
) -> None:
    comment = comment.encode("utf-8", "ignore").decode().replace("\r", "").replace("\x00", "")
    table = render_csv(FORM, "expert_1", [make_line(0, emotion=emotion, reason=reason)])
    header, row = csv.reader(io.StringIO(table, newline=""))
    assert from_text(row[header.index("reason")]) == printable(reason)
    row[header.index("fits")], row[header.index("comment")] = rating, as_text(comment.strip())
    path = tmp_path_factory.getbasetemp() / "table.csv"
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, row])
    ((line, rated),) = read_csv(FORM, path)
    assert line == 2
    assert (rated.expert, rated.item) == ("expert_1", "i0")
    assert rated.ratings == {"fits": int(rating) if rating.strip() else None, "seen": None}
    assert rated.comment == comment.strip()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0"), (3.25, "3.2"), (-1.0, "-1.0"), (1e300, "1e+300"), (123456.0, "123456.0")],
)
def test_times(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_a_reply_as_long_as_any_can_be_read_back(tmp_path: Path) -> None:
    table = render_csv(FORM, "expert_1", [make_line(0, reason="long " * 50_000)])
    path = tmp_path / "a.csv"
    path.write_text(table, encoding="utf-8", newline="")
    assert [rated.item for _, rated in read_csv(FORM, path)] == ["i0"]
