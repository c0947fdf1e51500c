"""The rating page in Chromium: filled in by keys, kept, saved, loaded again, and read back."""

import csv
import json
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from affect.sheets.ratings import read_ratings
from evaluation.human.questions import FORM
from evaluation.human.sheets import write_study
from evaluation.human.study import StudyKey
from evaluation.runs import load_runs
from tests.affect.video.clips import write_clip
from tests.browser import needs_chromium, open_page
from tests.evaluation.files import reply
from tests.evaluation.human.studies import fill, read_lines, two_segments, write_runs, write_sheet
from tests.evaluation.report.polling import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.slow, needs_chromium]

HOSTILE = "</script></p><script>hacked = 1</script><img src=x onerror='hacked = 2'> \"=1\" \u202e"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems on two clips of 8 s, one expert; one reason is hostile."""
    root = tmp_path_factory.mktemp("study")
    clip = write_clip(root / "clip.mp4", num_frames=80, time_base=Fraction(1, 10)).read_bytes()
    hostile = json.loads(two_segments())
    hostile["segments"][0]["reason"] = HOSTILE
    replies = {
        "one": {"a": two_segments(), "b": two_segments("Relief", "Awe")},
        "two": {"a": json.dumps(hostile), "b": two_segments("Horror", "Joy")},
    }
    runs = load_runs(write_runs(root, replies, clip=clip), "test", labels={})
    write_study(root / "study", runs, 2, 1)
    return root / "study"


def save(page: "Page", path: Path) -> Path:
    """Press "Save the ratings"; the file that the browser hands over."""
    with page.expect_download() as waiting:
        page.click("#save")
    assert waiting.value.suggested_filename == "expert_1.csv"
    waiting.value.save_as(path)
    return path


def press(page: "Page", keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def progress(page: "Page") -> int:
    return int(page.inner_text("#progress"))


def test_filled_in_by_keys_kept_saved_and_read_back(study: Path, tmp_path: Path) -> None:
    with open_page(study / "expert_1.html") as opened:
        page = opened.page
        assert page.inner_text("#here") == "20 open here"
        press(page, "54321")  # the first segment, whole
        press(page, "0")
        press(page, "j")  # leaves one open
        press(page, "3")
        press(page, "k")  # back to it: still open, then one before is taken back
        press(page, "k")
        press(page, "k")
        press(page, "x")
        press(page, "c")
        page.keyboard.type('=1+1, "n 5"\u00e9')  # keys within a comment are text
        page.keyboard.press("Enter")
        assert progress(page) == 6
        press(page, "n")
        press(page, "4")
        page.reload()
        assert progress(page) == 7
        # It goes on at the first video with an open question.
        assert page.input_value("#videos") == "0"
        table = save(page, tmp_path / "saved.csv")
        assert page.inner_text("#status") == "Saved as expert_1.csv, 33 ratings still open."
        opened.assert_clean()
    key = StudyKey.read(study)
    read = read_ratings(FORM, key, study, [table])
    lines = read_lines(table)
    names = list(FORM.questions)
    first, second = lines[0]["item"], lines[1]["item"]
    assert [read.of_item(name, first) for name in names] == [[5], [4], [3], [2], [1]]
    assert [read.of_item(name, second) for name in names] == [[None], [None], [3], [None], [None]]
    assert [read.of_item(name, lines[4]["item"]) for name in names] == [[4]] + [[None]] * 4
    assert read.comments == (("expert_1", second, '=1+1, "n 5"\u00e9'),)
    # But for what was filled in it is the table that stands beside the page.
    filled = [*names, "comment"]
    for line, empty in zip(lines, read_lines(study / "expert_1.csv"), strict=True):
        assert {**line, **dict.fromkeys(filled, "")} == empty


def test_a_saved_table_goes_on_elsewhere(study: Path, tmp_path: Path) -> None:
    table = tmp_path / "expert_1.csv"
    table.write_bytes((study / "expert_1.csv").read_bytes())
    fill(table, lambda line, name: "3" if name == "causal_logic" else "")
    lines = read_lines(table)
    lines[2]["comment"] = '\'=two\nlines, "quoted"'
    write_sheet(table, lines)
    with open_page(study / "expert_1.html") as opened:
        page = opened.page
        page.set_input_files("#load", table)
        wait_until(opened, "document.getElementById('progress').textContent === '8'")
        assert page.inner_text("#status").startswith("Took over 9 answers from expert_1.csv")
        again = save(page, tmp_path / "again.csv")
        assert read_lines(again) == lines
        # Answers that would be lost are asked about; here the answer is no.
        press(page, "5")
        asked = []
        page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
        with page.expect_event("dialog"):
            page.set_input_files("#load", table)
        assert asked == [
            "1 answers given here are others in the file, or not in it. Take those of the file?"
        ]
        assert progress(page) == 9
        opened.assert_clean()


def test_a_table_that_is_none_of_this_sheet_changes_nothing(study: Path, tmp_path: Path) -> None:
    lines = read_lines(study / "expert_1.csv")
    wrong = {"causal_logic": "6", "item": "i0", "expert": "expert_2"}
    for column, cell in wrong.items():
        write_sheet(tmp_path / f"{column}.csv", [{**lines[0], column: cell}, *lines[1:]])
    write_sheet(tmp_path / "short.csv", lines[:-1])
    write_sheet(tmp_path / "doubled.csv", [*lines, lines[0]])
    (tmp_path / "open.csv").write_text('"open')
    (tmp_path / "semicolons.csv").write_text("expert;item")
    told = {
        "causal_logic": "line 2: causal_logic: 6 is no rating",
        "item": "line 2: the item i0 is not on this sheet",
        "expert": "line 2: this is the sheet of expert_2",
        "short": "1 items are missing",
        "doubled": "line 10: the item",
        "open": "line 1: a quote is never closed",
        "semicolons": "these are not the columns of this sheet",
    }
    with open_page(study / "expert_1.html") as opened:
        press(opened.page, "5")
        for name, text in told.items():
            opened.page.set_input_files("#load", tmp_path / f"{name}.csv")
            wait_until(
                opened,
                "text => document.querySelector('#status.wrong')?.textContent.includes(text)",
                f"{name}.csv: {text}",
            )
            assert progress(opened.page) == 1
        opened.assert_clean()


def test_hostile_text_stays_text(study: Path) -> None:
    with open_page(study / "expert_1.html") as opened:
        page = opened.page
        assert page.evaluate("typeof hacked") == "undefined"
        assert page.locator("main img").count() == 0
        shown = page.locator(".reason").all_text_contents()
        assert shown.count(HOSTILE.replace("\u202e", "\\u202e")) == 1
        opened.assert_clean()


def test_no_script_runs_but_the_pages_own(study: Path, tmp_path: Path) -> None:
    text = (study / "expert_1.html").read_text(encoding="utf-8")
    strange = "<script>hacked = 1</script><p id=x onclick='hacked = 2'>x</p><main>"
    (tmp_path / "expert_1.html").write_text(text.replace("<main>", strange), encoding="utf-8")
    with open_page(tmp_path / "expert_1.html") as opened:
        opened.page.evaluate("document.getElementById('x').click()")
        assert opened.page.evaluate("typeof hacked") == "undefined"
        assert any("Content Security Policy" in text for text in opened.console_errors)


def test_a_segment_plays_from_its_begin_to_its_end(study: Path) -> None:
    with open_page(study / "expert_1.html") as opened:
        page = opened.page
        video = "document.querySelector('section:not([hidden]) video')"
        page.locator("section:not([hidden]) .mark").nth(1).click()
        wait_until(opened, f"{video}.currentTime > 4")
        wait_until(opened, "document.querySelectorAll('.mark.playing').length === 2")
        lit = page.locator("section:not([hidden]) .mark.playing").all()
        assert [one.get_attribute("data-start") for one in lit] == ["4.000", "4.000"]
        # The keyboard is where the mark led.
        inside = "document.activeElement.closest('article').dataset.start"
        assert page.evaluate(inside) == "4.0"
        press(page, "kkkkkk")
        page.keyboard.press("p")
        wait_until(opened, f"{video}.currentTime < 4")
        wait_until(opened, f"!{video}.paused")
        page.evaluate(f"{video}.playbackRate = 8")
        wait_until(opened, f"{video}.paused")
        # It was paused by the segment's end, not by the clip's.
        assert page.evaluate(f"{video}.dataset.until") is None
        assert page.evaluate(f"{video}.currentTime") >= 4
        # Whoever moves about himself is not stopped.
        page.keyboard.press("p")
        page.evaluate(f"{video}.currentTime = 6")
        wait_until(opened, f"{video}.dataset.until === undefined")
        opened.assert_clean()


def test_what_cannot_be_kept_or_played_is_told(study: Path, tmp_path: Path) -> None:
    copy = tmp_path / "expert_1.html"
    copy.write_bytes((study / "expert_1.html").read_bytes())
    with open_page(copy) as opened:
        page = opened.page
        wait_until(opened, "document.querySelector('.broken').textContent !== ''")
        assert "cannot be played here: ../videos/" in page.locator(".broken").first.inner_text()
        page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }")
        press(page, "5")
        assert "save before you close the page" in page.inner_text("#status")
        assert progress(page) == 1


def test_a_study_as_large_as_the_papers(tmp_path: Path) -> None:
    """100 videos, three systems, three segments: 900 items, of which one video's are on show."""
    spans = [[0, 3, "Joy"], [3, 6, "Fear"], [6, 8, "Joy"]]
    clips = [f"clip-{number}" for number in range(100)]
    runs = load_runs(
        write_runs(tmp_path, {name: dict.fromkeys(clips, reply(spans)) for name in "xyz"}),
        "test",
        labels={},
    )
    key = write_study(tmp_path / "study", runs, 100, 1)
    assert len(key.items) == 900
    with open_page(tmp_path / "study" / "expert_1.html") as opened:
        page = opened.page
        assert page.locator("section:visible").count() == 1
        assert page.locator("article:visible").count() == 9
        press(page, "5" * 45)
        assert page.inner_text("#here") == "all given here"
        press(page, "1")  # of no question: nothing is overwritten
        page.keyboard.press("Enter")  # the keyboard stands on "Next video"
        press(page, "4")
        page.select_option("#videos", "99")
        press(page, "3")
        press(page, "o")
        page.keyboard.press("2")
        assert progress(page) == 48
        with open(save(page, tmp_path / "saved.csv"), encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    assert len(rows) == 900
    given = [[row[name] for name in FORM.questions] for row in rows]
    assert given[:9] == [["5"] * 5] * 9
    assert given[9] == ["4", "", "", "", ""]
    assert given[891] == ["3", "2", "", "", ""]
