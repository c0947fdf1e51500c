"""One video through all stages: what is told, nothing hostile gets through, how it is found."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from affect.printable import printable
from data_prep.build.folder import BuildFolder
from data_prep.build.show import default_page, main, print_story
from data_prep.show.page import render_page
from data_prep.show.story import read_story
from data_prep.show.tables import tables_of
from tests.data_prep.show.strict_page import read_page
from tests.data_prep.show.written_build import HOSTILE, write_build

ALL_TITLES = [
    "File", "Look: cuts and fades", "Select", "Propose, by gemini", "Snap", "Verify, by internvl",
    "Describe (after grounding)", "Ground, by dino", "Tag, by qwen", "Candidates, strongest first",
    "Reason, round 0, segment 0: 0.00 to 3.00 s", "Reason, round 0, segment 1: 3.00 to 8.00 s",
    "Judge, round 0", "Reason, round 1, segment 0: 0.00 to 3.00 s",
    "Reason, round 1, segment 1: 3.00 to 8.00 s", "Judge, round 1", "Final segments, by decide",
    "Time and calls", "Failures, in all runs",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> BuildFolder:
    path = tmp_path_factory.mktemp("shown")
    return write_build(path / "build", path / "videos")


def test_every_stage_is_told(folder: BuildFolder) -> None:
    tables = {table.title: table for table in tables_of(read_story(folder, "a/birds.mp4"))}
    assert list(tables) == ALL_TITLES
    assert tables["Look: cuts and fades"].rows == (("3.00 s", "cut"), ("6.00 s", "fade"))
    assert tables["Snap"].rows == (
        ("2.80 s", "3.00 s", "cut at 3.00 s", "snapped"),
        ("7.90 s", "gone", "none", "merged"),
    )
    (check,) = tables["Verify, by internvl"].rows
    assert check[:4] == ("3.00 to 8.00 s", "0", "split", "5.50 s")
    assert [row[2:] for row in tables["Ground, by dino"].rows] == [
        ("bird", "0.71", "3.50 s", "grounded"),
        (HOSTILE, "not found", "", "ungrounded"),
    ]
    pairs = tables["Reason, round 1, segment 1: 3.00 to 8.00 s"]
    assert [row[:2] for row in pairs.rows] == [("", "Awe (or Wonder)"), ("picked", "Fear")]
    assert pairs.notes[1] == "equal emotions joined 3.00 to 5.50 s, 5.50 to 8.00 s"
    first, second = tables["Judge, round 0"], tables["Judge, round 1"]
    assert first.notes == ("below the threshold: segments 0",)
    assert second.notes == ("every segment passed",)
    assert [row[:2] + row[7:8] for row in first.rows] == [
        ("0", "omni", "2.50"), ("0", "internvl", "2.50"),
        ("1", "omni", "4.50"), ("1", "internvl", "4.50"),
    ]  # fmt: skip
    assert [row[1:3] for row in tables["Final segments, by decide"].rows] == [
        ("0.00 to 3.00 s", "Joy"),
        ("3.00 to 8.00 s", "Fear"),
    ]
    costs = {row[0]: row[1:] for row in tables["Time and calls"].rows}
    assert costs["describe"] == ("0.50 s", "2", "1", "0", "1,624", "192", "0.25")
    assert costs["look"] == ("0.50 s", "0", "0", "0", "", "", "")
    assert tables["Failures, in all runs"].rows == (("tag", "timeout", "1", f"qwen: {HOSTILE}"),)


def test_the_page_is_whole_and_nothing_hostile_gets_through(folder: BuildFolder) -> None:
    html = render_page(read_story(folder, "birds.mp4"))
    text, num_images = read_page(html)
    assert num_images == 24, "the strip's most, of 32"
    assert printable(HOSTILE) in text, "it is shown as it was written"
    for raw in ("<script", "<img src=x", "\x1b", "\u202e"):
        assert raw not in html
    for shown in ("proposed", "snapped", "integrity", "final", "cut at 3.00 s", "fade at 6.00 s"):
        assert shown in text
    for title in ALL_TITLES:
        assert title in text
    assert html == render_page(read_story(folder, "birds.mp4"))


@pytest.mark.parametrize(
    ("name", "sentence", "last"),
    [
        ("broken", "failed in look: undecodable", "Failures, in all runs"),
        ("still", "rejected by select: static", "Time and calls"),
        ("waiting", "waiting", "File"),
        ("b/under", "not finished; propose is the last stage that is done", "Time and calls"),
    ],
)
def test_a_video_that_came_less_far(
    folder: BuildFolder, name: str, sentence: str, last: str
) -> None:
    story = read_story(
        folder, {"broken": "a/bro", "still": "a/st", "waiting": "b/wait"}.get(name, name)
    )
    text, _ = read_page(render_page(story))
    assert sentence in text
    assert tables_of(story)[-1].title == last
    titles = {table.title for table in tables_of(story)}
    assert not titles & {"Snap", "Judge, round 0", "Final segments, by decide"}
    assert ("rejected: static" in text) == (name == "still")
    assert (printable(HOSTILE) in text) == (name in {"broken", "b/under"})


def test_what_is_printed_holds_no_control_characters_and_no_markup(folder: BuildFolder) -> None:
    out = io.StringIO()
    print_story(Console(file=out, width=4000), read_story(folder, "a/birds.mp4"))
    text = out.getvalue()
    assert "\x1b" not in text and "\u202e" not in text
    assert "[bold]\\u001b[31m\\u202e http://a.example" in text
    for title in ALL_TITLES:
        assert title in text


def test_the_names_by_which_a_video_is_found(folder: BuildFolder) -> None:
    for name in ("a/birds.mp4", "birds.mp4", "a/bi", "irds.mp4", "birds.mp4"):
        assert read_story(folder, name).id == "a/birds.mp4"
    with pytest.raises(ValueError, match=r"several videos: a/birds\.mp4, a/broken\.mp4"):
        read_story(folder, "a/b")
    with pytest.raises(ValueError, match=r"no such video among the 5 .*near it are a/birds\.mp4"):
        read_story(folder, "a/bird5.mp4")
    with pytest.raises(ValueError, match="several videos"):
        read_story(folder, "")


def test_the_command(
    folder: BuildFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main([str(folder.path), "birds.mp4", "--html", str(page)]) == 0
    assert f"{page}" in capsys.readouterr().out
    assert read_page(page.read_text(encoding="utf-8"))
    assert main([str(folder.path), "still.mp4"]) == 0
    (written,) = (folder.path / "show").iterdir()
    assert written == default_page(folder, "a/still.mp4")
    assert main([str(folder.path), "nothing.mp4"]) == 2
    assert main([str(tmp_path), "birds.mp4"]) == 2
    assert "there is no journal" in capsys.readouterr().err


def test_a_page_stays_in_its_folder_whatever_a_video_is_called() -> None:
    folder = BuildFolder(Path("out"))
    names = ["../../etc/passwd", "a/b.mp4", "a_b_mp4", "a" * 500, "兔子 №1.mp4", "\ud800", ""]
    pages = [default_page(folder, name) for name in names]
    assert {page.parent for page in pages} == {Path("out/show")}
    assert len(set(pages)) == len(names)
    assert all(len(page.name) < 120 and page.name.isascii() for page in pages)
