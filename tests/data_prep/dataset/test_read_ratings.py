"""Ratings read back: nothing lost, doubled or made up, and each fault named by its place."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.sheets import ratings
from affect.sheets.ratings import ExpertRatings
from affect.sheets.sheet_csv import read_csv
from data_prep.dataset.sheet_items import FORM, QUESTIONS, ValidationItem, ValidationKey
from data_prep.dataset.write_sheets import write_validation
from tests.data_prep.dataset.validated_rows import make_rows

COLUMNS = FORM.columns
Line = dict[str, str]


def read_ratings(folder: Path, files: Sequence[Path] = ()) -> ExpertRatings[ValidationItem]:
    return ratings.read_ratings(FORM, ValidationKey.read(folder), folder, files)


@pytest.fixture
def sheets(tmp_path: Path) -> Path:
    """One test video with two segments, three experts; all rated 4."""
    rows = make_rows(tmp_path, {"test": 1})
    folder = tmp_path / "sheets"
    key = write_validation(folder, rows, tmp_path)
    for expert in key.experts:
        change(folder / f"{expert}.csv", lambda lines: fill(lines, "4"))
    return folder


def fill(lines: list[Line], rating: str) -> None:
    for line in lines:
        line.update(dict.fromkeys(QUESTIONS, rating))


def change(path: Path, edit: Callable[[list[Line]], object]) -> None:
    with open(path, encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    edit(lines)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(lines)


def test_all_ratings_come_back(sheets: Path) -> None:
    def rate(lines: list[Line]) -> None:
        lines[0].update(boundary=" 1 ", label="", comment="=unclear")
        lines.reverse()

    change(sheets / "expert_2.csv", rate)
    read = read_ratings(sheets)
    first, second = (item.id for item in read.items)
    assert read.ratings["boundary"] == {
        "expert_1": {first: 4, second: 4},
        "expert_2": {first: 1, second: 4},
        "expert_3": {first: 4, second: 4},
    }
    assert read.ratings["label"]["expert_2"] == {first: None, second: 4}
    assert read.comments == (("expert_2", first, "=unclear"),)


def test_other_files_and_their_order(sheets: Path, tmp_path: Path) -> None:
    files = []
    for number in (3, 1, 2):
        files.append(tmp_path / f"returned {number}.csv")
        files[-1].write_bytes(b"\xef\xbb\xbf" + (sheets / f"expert_{number}.csv").read_bytes())
    assert read_ratings(sheets, files) == read_ratings(sheets)


@pytest.mark.parametrize("cell", ["0", "6", "-1", "4.0", "4,5", "four", "1e0", "٤", "NaN", "=4"])
def test_what_is_no_rating(sheets: Path, cell: str) -> None:
    change(sheets / "expert_1.csv", lambda lines: lines[1].update(grounding=cell))
    with pytest.raises(ValueError, match=r"expert_1\.csv:3: grounding: .* no whole number from 1"):
        read_ratings(sheets)


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda lines: lines[1].update(item="v0-s1"), r":3: item: 'v0-s1' stands on no sheet"),
        (lambda lines: lines.append(lines[0]), r":4: item: '.*' stands already on line 2"),
        (lambda lines: lines.pop(), r"item: 1 of 2 items are missing, the first is 'v.*-s2'"),
        (lambda lines: lines.clear(), r"item: 2 of 2 items are missing"),
        (lambda lines: lines[1].update(expert="expert_2"), r":3: expert: 'expert_2' in a table of"),
        (lambda lines: lines[0].update(expert="Eve"), r":2: expert: 'Eve' was given no sheet"),
    ],
)
def test_a_table_that_is_not_as_it_was(
    sheets: Path, edit: Callable[[list[Line]], object], told: str
) -> None:
    change(sheets / "expert_1.csv", edit)
    with pytest.raises(ValueError, match=r"expert_1\.csv:? ?.*" + told.lstrip(":")):
        read_ratings(sheets)


def test_one_table_per_expert(sheets: Path) -> None:
    first = sheets / "expert_1.csv"
    with pytest.raises(ValueError, match=r"expert_1\.csv is a table of expert_1 too"):
        read_ratings(sheets, [first, first, sheets / "expert_2.csv"])
    with pytest.raises(ValueError, match="no table of expert_2, expert_3 was given"):
        read_ratings(sheets, [first])
    with pytest.raises(ValueError, match=r"gone\.csv: there is no such file"):
        read_ratings(sheets, [sheets / "gone.csv"])
    with pytest.raises(ValueError, match=r"key\.json: there is no such file"):
        read_ratings(sheets.parent)
    (sheets / "key.json").write_text("{}")
    with pytest.raises(ValueError, match=r"key\.json: not the key of these sheets"):
        read_ratings(sheets)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", r"1: expert: the column is missing"),
        (b"expert;item\r\n", r"commas between the cells"),
        (",".join(COLUMNS[:-1]).encode(), r"1: comment: the column is missing"),
        (",".join(reversed(COLUMNS)).encode(), r"1: the columns are others"),
        (",".join(COLUMNS).encode() + b"\nexpert_1,x\n", r"2: video: the line has 2 cells"),
        (",".join(COLUMNS).encode() + b'\n"a"b,x\n', r"2: not CSV"),
        (",".join(COLUMNS).encode() + b'\n"open', r"2: not CSV"),
        (b"\xff\xfe", r"not UTF-8 at byte 0"),
    ],
)
def test_what_is_no_table(tmp_path: Path, content: bytes, told: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=told):
        list(read_csv(FORM, path))


def test_lines_are_the_files_own(sheets: Path) -> None:
    """A cell with line ends moves the later lines down."""

    def edit(lines: list[Line]) -> None:
        lines[0]["reason"] = "three\nlines\nlong"
        lines[1]["label"] = "9"

    change(sheets / "expert_1.csv", edit)
    with pytest.raises(ValueError, match=r"expert_1\.csv:5: label: '9'"):
        read_ratings(sheets)


@given(
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore"))
)
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(",".join(COLUMNS).encode() + b"\n" + data)
    try:
        lines = list(read_csv(FORM, path))
    except ValueError as error:
        assert str(path) in str(error)
    else:
        assert all(set(rated.ratings) == set(QUESTIONS) for _, rated in lines)
