"""Addresses of clips, and which of them stand in the page."""

import base64
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.relative_url import relative_url
from evaluation.clips import Truth, read_truths
from evaluation.report.clip_video import (
    choose_embedded,
    describe_clips,
    find_clips,
)
from tests.evaluation.report.page_runs import write_clip, write_tagged_rows

TRUTH = [[0, 8, "Joy", "They dance."]]
ODD = "d é/a b#c?d%2e&e'f\"<g>.mp4"


def truths_of(folder: Path, *videos: str) -> list[Truth]:
    ids = [f"row{place}" for place in range(len(videos))]
    named = dict(zip(ids, videos, strict=True))
    return read_truths(write_tagged_rows(folder, dict.fromkeys(ids, TRUTH), videos=named))


def touch(root: Path, *videos: str, num_bytes: int = 10) -> None:
    for video in videos:
        (root / video).parent.mkdir(parents=True, exist_ok=True)
        (root / video).write_bytes(b"x" * num_bytes)


def test_addresses_are_relative_to_the_page(tmp_path: Path) -> None:
    videos = ("a.mp4", "javascript:alert(1).mp4", ODD)
    touch(tmp_path / "data", *videos)
    truths = truths_of(tmp_path, *videos)
    beside = [
        one.url for one in find_clips(truths, tmp_path / "data", tmp_path / "data" / "p.html")
    ]
    assert beside == [
        "./a.mp4",
        "./javascript%3Aalert%281%29.mp4",
        "./d%20%C3%A9/a%20b%23c%3Fd%252e%26e%27f%22%3Cg%3E.mp4",
    ]
    page = tmp_path / "runs" / "sft" / "report.html"
    away = [one.url for one in find_clips(truths, tmp_path / "data", page)]
    assert away[0] == "../../data/a.mp4"
    assert away[1] == "../../data/javascript%3Aalert%281%29.mp4"


@given(st.lists(st.text("ab .#?%:&;<>\"'\\é😀\u202e", min_size=1), min_size=1, max_size=3))
def test_an_address_leads_back_to_its_file(parts: list[str]) -> None:
    parts = [part for part in parts if part not in (".", "..")] or ["x"]
    path = Path("/videos", *parts)
    url = relative_url(path, Path("/runs/a"))
    split = urlsplit(url)
    assert (split.scheme, split.netloc, split.query, split.fragment) == ("", "", "", "")
    assert url.startswith("../../videos/") and url.isascii()
    assert Path("/", unquote(url).removeprefix("../../")) == path


def test_a_missing_file_and_one_outside(tmp_path: Path) -> None:
    root = tmp_path / "data"
    touch(root, "here.mp4")
    touch(tmp_path, "secret.mp4")
    (root / "link.mp4").symlink_to(tmp_path / "secret.mp4")
    found = find_clips(
        truths_of(tmp_path, "here.mp4", "gone.mp4", "link.mp4"), root, tmp_path / "p"
    )
    assert [one.url for one in found] == ["./data/here.mp4", "", ""]
    assert found[1].problem == "There is no file gone.mp4 in the video folder."
    assert "leads out of" in found[2].problem
    assert describe_clips(found, {}) == (
        "Clips: 1 played from files, by paths relative to the page; 2 without a file."
    )


def test_links_in_the_way_to_the_videos_stay_in_the_address(tmp_path: Path) -> None:
    touch(tmp_path / "far" / "away", "a.mp4")
    (tmp_path / "data").symlink_to(tmp_path / "far" / "away")
    (found,) = find_clips(truths_of(tmp_path, "a.mp4"), tmp_path / "data", tmp_path / "report.html")
    assert found.url == "./data/a.mp4"


def test_the_smallest_clips_are_embedded(tmp_path: Path) -> None:
    for name, seconds, side in (("long", 2.0, 64), ("short", 0.4, 32), ("twin", 0.4, 32)):
        write_clip(tmp_path / f"{name}.mp4", seconds, side)
    touch(tmp_path, "text.mp4", num_bytes=3)
    truths = truths_of(tmp_path, "long.mp4", "short.mp4", "gone.mp4", "twin.mp4", "text.mp4")
    found = find_clips(truths, tmp_path, tmp_path / "report.html")
    long, short = found[0].num_bytes, found[1].num_bytes
    assert short == found[3].num_bytes < long
    assert choose_embedded(found, 0) == {}
    assert set(choose_embedded(found, short - 1)) == set()
    assert set(choose_embedded(found, 2 * short - 1)) == {1}
    assert set(choose_embedded(found, 2 * short + long - 1)) == {1, 3}
    everything = choose_embedded(found, 2 * short + long)
    assert set(everything) == {0, 1, 3}, "neither the missing file nor the one that is no video"
    assert everything[1].mime_type == "video/mp4"
    assert base64.b64decode(everything[1].base64_text) == (tmp_path / "short.mp4").read_bytes()
    assert describe_clips(found, everything) == (
        "Clips: 1 played from files, by paths relative to the page; 3 inside the page; "
        "1 without a file."
    )


@pytest.mark.parametrize("page", ["report.html", "a/b/report.html"])
def test_pages_anywhere_name_the_same_file(tmp_path: Path, page: str) -> None:
    touch(tmp_path / "data", "a.mp4")
    (found,) = find_clips(truths_of(tmp_path, "a.mp4"), tmp_path / "data", tmp_path / page)
    assert ((tmp_path / page).parent / found.url).resolve() == tmp_path / "data" / "a.mp4"
