"""Sheets: everything of the test split, the same for each expert, blind, and safe to open."""

import csv
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path

import pytest

from affect.records import Row
from affect.sheets.cell_text import as_text
from affect.sheets.items import orders
from data_prep.dataset.sheet_items import (
    FORM,
    QUESTIONS,
    RATINGS,
    ValidationKey,
    choose_items,
)
from data_prep.dataset.write_sheets import write_validation
from tests.data_prep.dataset.validated_rows import make_clips, make_row, make_rows


def read_table(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_all_of_test_and_a_random_share_of_train(tmp_path: Path) -> None:
    rows = make_rows(tmp_path, {"test": 3, "train": 20})
    items = choose_items(rows, seed=0, train_share=0.25)
    videos = {split: {i.row_id for i in items if i.split == split} for split in ("test", "train")}
    assert videos["test"] == {"test_0", "test_1", "test_2"}
    assert len(videos["train"]) == 5
    assert len(items) == 16
    backwards = {split: listed[::-1] for split, listed in rows.items()}
    assert choose_items(backwards, seed=0, train_share=0.25) == items
    other = choose_items(rows, seed=1, train_share=0.25)
    assert {item.row_id for item in other} != {item.row_id for item in items}
    assert {item.split for item in choose_items(rows, seed=0, train_share=0.0)} == {"test"}
    assert len(choose_items(rows, seed=0, train_share=1.0)) == 46


def test_what_cannot_be_validated() -> None:
    row = make_row("a")
    blank = Row(row.id, row.video, row.duration_seconds, None, row.prompt, None)
    with pytest.raises(ValueError, match="test row 'a': no timeline"):
        choose_items({"test": [blank]}, 0, 0.5)
    with pytest.raises(ValueError, match="train row 'a': id: it stands twice"):
        choose_items({"test": [row], "train": [row]}, 0, 1.0)
    with pytest.raises(ValueError, match="no row to validate"):
        choose_items({"test": []}, 0, 0.5)
    with pytest.raises(ValueError, match="test, train can be validated"):
        choose_items({"dev": [row]}, 0, 0.5)
    with pytest.raises(ValueError, match=r"train_share: a share from 0 to 1 is needed, not 1\.5"):
        choose_items({"test": [row]}, 0, 1.5)


def test_each_expert_has_the_same_in_another_order(tmp_path: Path) -> None:
    rows = make_rows(tmp_path, {"test": 3})
    items = choose_items(rows, 0, 0.0)
    given = orders(items, ("a", "b", "c", "d", "e", "f"), seed=0)
    assert all(sorted(i.id for i in one) == sorted(i.id for i in items) for one in given.values())
    # Three videos have six orders, and each is given once.
    sequences = {tuple(item.row_id for item in one) for one in given.values()}
    assert len(sequences) == 6
    for one in given.values():
        assert len([key for key, _ in groupby(one, key=lambda item: item.row_id)]) == 3
        assert [item.segment for item in one] == [0, 1] * 3
    assert orders(items, ("a", "b"), seed=0)["b"] == given["b"]


def test_files(tmp_path: Path) -> None:
    rows = make_rows(tmp_path / "videos", {"test": 2, "train": 4})
    key = write_validation(tmp_path / "sheets", rows, tmp_path / "videos", train_share=0.5)
    names = {path.name for path in (tmp_path / "sheets").iterdir()}
    assert names == {"key.json"} | {
        f"expert_{n}.{end}" for n in (1, 2, 3) for end in ("csv", "html")
    }
    assert ValidationKey.read(tmp_path / "sheets") == key
    for expert in key.experts:
        table = read_table(tmp_path / "sheets" / f"{expert}.csv")
        assert sorted(line["item"] for line in table) == sorted(item.id for item in key.items)
        assert {line["expert"] for line in table} == {expert}
        assert all(line[name] == "" for line in table for name in (*QUESTIONS, "comment"))
    again = tmp_path / "again"
    write_validation(again, rows, tmp_path / "videos", train_share=0.5)
    for name in names:
        assert (again / name).read_bytes() == (tmp_path / "sheets" / name).read_bytes()


def test_filled_sheets_are_not_overwritten(tmp_path: Path) -> None:
    rows = make_rows(tmp_path, {"test": 1})
    write_validation(tmp_path / "sheets", rows, tmp_path)
    with pytest.raises(ValueError, match="holds validation sheets already"):
        write_validation(tmp_path / "sheets", rows, tmp_path)
    with pytest.raises(ValueError, match="experts: 1 or more"):
        write_validation(tmp_path / "none", rows, tmp_path, experts=0)


def test_a_clip_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"test row 'a': video: there is no file .*a\.mp4"):
        write_validation(tmp_path / "sheets", {"test": [make_row("a")]}, tmp_path)
    assert not (tmp_path / "sheets").exists()


def test_experts_see_no_scores_and_no_splits(tmp_path: Path) -> None:
    rows = {"test": [make_row("one")], "train": [make_row("two")]}
    make_clips(tmp_path / "videos", rows)
    write_validation(tmp_path / "sheets", rows, tmp_path / "videos", train_share=1.0)
    for path in (tmp_path / "sheets").glob("expert_*"):
        text = path.read_text(encoding="utf-8-sig")
        for word in ("4.75", "visual_grounding", "judge", '"test"', '"train"', "split"):
            assert word not in text, (path.name, word)


class Page(HTMLParser):
    """What a browser makes of a page: elements with attributes, scripts, visible text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts.append(data)
        else:
            self.text += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"quoted\" 'too'"


def test_pages_are_escaped_and_link_relatively(tmp_path: Path) -> None:
    row = make_row('a"><script>b #1', reason=HOSTILE)
    make_clips(tmp_path / "videos", {"test": [row]})
    write_validation(tmp_path / "runs" / "sheets", {"test": [row]}, tmp_path / "videos")
    page = Page((tmp_path / "runs" / "sheets" / "expert_1.html").read_text(encoding="utf-8"))
    assert len(page.of("script")) == 2
    assert page.of("img") == []
    assert page.text.count(HOSTILE) == 2
    (video,) = page.of("video")
    assert video["src"] == "../../videos/clips/a%22%3E%3Cscript%3Eb%20%231.mp4"
    assert [one["data-end"] for one in page.of("article")] == ["1.0", "2.0"]
    radios = [one for one in page.of("input") if one["type"] == "radio"]
    assert len(radios) == 2 * len(QUESTIONS) * len(RATINGS)
    sheet = json.loads(page.scripts[0])
    assert sheet["rows"][0][FORM.columns.index("reason")] == HOSTILE
    assert "http" not in "".join(page.scripts)


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    row = make_row("=cmd", reason='=HYPERLINK("http://x", "y"), so the viewer is afraid')
    make_clips(tmp_path, {"test": [row]})
    write_validation(tmp_path / "sheets", {"test": [row]}, tmp_path)
    table = read_table(tmp_path / "sheets" / "expert_1.csv")
    assert table[0]["reason"].startswith("'=HYPERLINK(")
    assert all(
        not cell.startswith(("=", "+", "-", "@")) for line in table for cell in line.values()
    )
    assert [as_text(text) for text in ("+1", "-1", "@x", "\tx", "a=b", "")] == [
        "'+1", "'-1", "'@x", "'\tx", "a=b", "",
    ]  # fmt: skip


BROWSER = """
const answers = JSON.parse(process.argv[1]);
const sheetElement = { textContent: process.argv[2] };
const nodes = { progress: {}, bar: {}, sheet: sheetElement };
globalThis.document = {
  getElementById: (id) => nodes[id], querySelectorAll: () => [], addEventListener() {},
};
globalThis.addEventListener = () => {};
globalThis.localStorage = { getItem: () => null };
const script = require("fs").readFileSync(0, "utf8");
process.stdout.write(new Function(script + "; return csvText;")()(answers));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the page's own script")
def test_the_page_saves_the_table_that_stands_beside_it(tmp_path: Path) -> None:
    row = make_row("a", reason='He says "no",\nand é = ü')
    make_clips(tmp_path, {"test": [row]})
    key = write_validation(tmp_path / "sheets", {"test": [row]}, tmp_path)
    page = Page((tmp_path / "sheets" / "expert_1.html").read_text(encoding="utf-8"))
    sheet, script = page.scripts

    def saved(answers: dict[str, str]) -> str:
        command = ["node", "-e", BROWSER, "--", json.dumps(answers), sheet]
        done = subprocess.run(command, input=script.encode(), capture_output=True, check=True)
        return done.stdout.decode()  # as bytes, so that line ends stay as they are

    empty = (tmp_path / "sheets" / "expert_1.csv").read_bytes().decode("utf-8-sig")
    assert saved({}) == empty
    first, second = key.items
    answers = {f"{first.id}/label": "4", f"{second.id}/comment": "=1+1"}
    lines = list(csv.DictReader(saved(answers).splitlines(keepends=True)))
    assert [line["label"] for line in lines] == ["4", ""]
    assert [line["comment"] for line in lines] == ["", "'=1+1"]
    assert re.search("é = ü", lines[0]["reason"])
