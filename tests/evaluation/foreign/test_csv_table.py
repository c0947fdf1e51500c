"""CSV by name, and hostile files refused by line."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.foreign.csv_table import read_csv


def written(tmp_path: Path, data: bytes, name: str = "a.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_names_lines_and_cells(tmp_path: Path) -> None:
    data = b'\xef\xbb\xbf Video ,START\r\n\r\na.mp4,"0\r\n1"\r\nb.mp4, 2 \r\n'
    table = read_csv(written(tmp_path, data))
    assert table.columns == ("video", "start")
    assert [line.cells for line in table.lines] == [
        {"video": "a.mp4", "start": "0\r\n1"},
        {"video": "b.mp4", "start": " 2 "},
    ]
    assert [line.place.rpartition(":")[2] for line in table.lines] == ["3", "5"]
    tabs = read_csv(written(tmp_path, b"a\tb,c\n1\t2\n", "a.tsv"))
    assert tabs.columns == ("a", "b,c")


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", ":1: the file is empty"),
        (b"\n ,\n", ":1: the file is empty"),
        (b"a;b\n", ":1: one column called 'a;b'; columns are separated by commas"),
        (b"a,A\n", ":1: the column 'a' is named twice"),
        (b"a,b\n1\n", ":2: has 1 cells where the first line names 2"),
        (b"a,b\n1,2\n1,2,3\n", ":3: has 3 cells"),
        (b'a,b\n1,"2\n', ":2: not CSV: unexpected end of data"),
        (b'a,b\n1,"2"x\n', ":2: not CSV"),
        (b"a,b\n1,\xe9\n", r":2: not UTF-8 \(byte 0xe9\)"),
        (b"a,b\n1," + b"x" * 1_000_001 + b"\n", ":2: not CSV: field larger than field limit"),
        ("a,b\n".encode("utf-16"), ":1: not UTF-8"),
    ],
)
def test_what_is_broken_is_refused_by_line(tmp_path: Path, data: bytes, fault: str) -> None:
    with pytest.raises(ValueError, match=rf"a\.csv{fault}"):
        read_csv(written(tmp_path, data))


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_any_table_comes_back(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[str, str]]
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(("x", "y"))
    writer.writerows(records)
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    path.write_bytes(text.getvalue().encode())
    wanted = [pair for pair in records if any(cell.strip() for cell in pair)]
    assert [(line.cells["x"], line.cells["y"]) for line in read_csv(path).lines] == wanted


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = written(tmp_path_factory.mktemp("bytes"), data)
    try:
        read_csv(path)
    except ValueError as error:
        assert str(error).startswith(f"{path}:")
