"""In Chromium: files that are longer or shorter than their rows, or whose picture begins late."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from tests.browser import OpenedPage, needs_chromium, open_page
from tests.evaluation.report.page_runs import (
    timeline_text,
    write_clip,
    write_page,
    write_run,
    write_tagged_rows,
)
from tests.evaluation.report.polling import wait_until

pytestmark = [pytest.mark.slow, needs_chromium]

ROW_SECONDS, LATE_SECONDS = 3.0, 2
TRUTH = [[0, 1, "Joy", "They dance."], [1, 2.5, "Fear", "Dark."], [2.5, 3, "Relief", "Light."]]
NAMES = ("short", "long", "late", "endless")
IS_READY = "document.querySelector('video').readyState >= 2"


def write_matroska(path: Path, seconds: float, begin_seconds: int, **options: str) -> None:
    """Its first picture has the stamp `begin_seconds`. options: of the muxer."""
    with av.open(str(path), "w", format="matroska", options=options) as container:
        stream = container.add_stream("libx264", rate=25, options={"g": "5", "bf": "0"})
        stream.width = stream.height = 64
        stream.pix_fmt = "yuv420p"
        stream.codec_context.time_base = Fraction(1, 25)
        for number in range(round(seconds * 25)):
            picture = np.full((64, 64, 3), 3 * number, dtype=np.uint8)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = number + begin_seconds * 25, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    rows = write_tagged_rows(
        folder,
        dict.fromkeys(NAMES, TRUTH),
        duration_seconds=ROW_SECONDS,
        videos={
            "short": "short.mp4",
            "long": "long.mp4",
            "late": "late.mkv",
            "endless": "endless.mkv",
        },
    )
    write_clip(folder / "short.mp4", 2.0)
    write_clip(folder / "long.mp4", 5.0)
    write_matroska(folder / "late.mkv", ROW_SECONDS, LATE_SECONDS)
    # As a recording that was never closed: nothing in the file says how long it lasts.
    write_matroska(folder / "endless.mkv", ROW_SECONDS, 0, live="1")
    replies: dict[str, Any] = dict.fromkeys(NAMES, timeline_text(TRUTH))
    return write_page([write_run(folder / "runs" / "sft", rows, replies)], folder / "report.html")


@pytest.fixture
def opened(report: Path, request: pytest.FixtureRequest) -> Iterator[OpenedPage]:
    with open_page(report) as page:
        page.page.click(f".entry[aria-label^='{request.param},']")
        wait_until(page, IS_READY)
        yield page
        page.assert_clean()


def lit(opened: OpenedPage) -> list[str]:
    found = opened.page.eval_on_selector_all(".segment.lit", "all => all.map(one => one.ariaLabel)")
    return [text.partition(": ")[2].partition(",")[0] for text in found]


def now(opened: OpenedPage) -> float:
    return float(opened.page.get_attribute(".axis", "aria-valuenow") or "nan")


@pytest.mark.parametrize("opened", ["short"], indirect=True)
def test_a_segment_behind_the_end_of_the_file_plays_on_its_own_clock(opened: OpenedPage) -> None:
    page = opened.page
    assert page.inner_text(".screen-note") == "The file lasts 2.0 s, its row says 3.0 s."
    page.click(".segment[data-lane='0'][data-segment='2']")
    assert lit(opened) == ["Relief", "Relief"]
    assert 2.5 <= now(opened) <= ROW_SECONDS
    wait_until(opened, "document.querySelector('.axis').ariaValueNow === '3.00'")
    assert lit(opened) == ["Relief", "Relief"]
    wait_until(opened, "!document.querySelector('.lanes').classList.contains('going')")
    # Back before the end, the file plays again, and its row outlasts it.
    page.click(".segment[data-lane='0'][data-segment='1']")
    wait_until(opened, "!document.querySelector('video').paused")
    assert 1.0 <= page.evaluate("document.querySelector('video').currentTime") <= 2.0
    wait_until(opened, "Number(document.querySelector('.axis').ariaValueNow) > 2.6")
    assert lit(opened) == ["Relief", "Relief"]


@pytest.mark.parametrize("opened", ["long"], indirect=True)
def test_a_longer_file_stops_with_its_row(opened: OpenedPage) -> None:
    page = opened.page
    assert page.inner_text(".screen-note") == "The file lasts 5.0 s, its row says 3.0 s."
    page.click(".segment[data-lane='0'][data-segment='2']")
    wait_until(opened, "document.querySelector('.axis').ariaValueNow === '3.00'")
    wait_until(opened, "document.querySelector('video').paused")
    assert page.evaluate("document.querySelector('video').currentTime") < 5
    assert lit(opened) == ["Relief", "Relief"]


@pytest.mark.parametrize("opened", ["late"], indirect=True)
def test_times_count_from_the_first_picture(opened: OpenedPage) -> None:
    page = opened.page
    wait_until(opened, "document.querySelector('video').currentTime === 2")
    assert now(opened) == 0.0
    assert not page.is_visible(".screen-note"), "its picture lasts as long as its row"
    page.keyboard.press("n")
    assert abs(page.evaluate("document.querySelector('video').currentTime") - 3.02) < 0.05
    assert abs(now(opened) - 1.02) < 0.05
    assert lit(opened) == ["Fear", "Fear"]


@pytest.mark.parametrize("opened", ["endless"], indirect=True)
def test_a_file_that_does_not_say_its_length_is_not_called_odd(opened: OpenedPage) -> None:
    page = opened.page
    assert page.evaluate("document.querySelector('video').duration") == float("inf")
    assert not page.is_visible(".screen-note")
    page.click(".segment[data-lane='0'][data-segment='1']")
    wait_until(opened, "Number(document.querySelector('.axis').ariaValueNow) > 1.2")
    assert lit(opened) == ["Fear", "Fear"]
