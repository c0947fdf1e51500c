"""In Chromium, from a file: clips play, timelines follow, keys work, clips without a file too."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser import OpenedPage, needs_chromium
from tests.evaluation.report.page_runs import (
    judgement,
    timeline_text,
    write_clip,
    write_judgements,
    write_page,
    write_run,
    write_tagged_rows,
)
from tests.evaluation.report.polling import wait_until

pytestmark = [pytest.mark.slow, needs_chromium]

ODD = "odd é #1 ?50%&.mp4"
TRUTHS: dict[str, Any] = {
    "plays": [[0, 3, "Joy", "They dance."], [3, 8, "Fear", "It grows dark."]],
    "odd": [[0, 8, "Calmness", "Nothing moves."]],
    "gone": [[0, 2, "Joy", "They sing."], [2, 8, "Sadness", "They leave."]],
    "broken": [[0, 8, "Anger", "A shout."]],
    "embedded": [[0, 4, "Joy", "They laugh."], [4, 8, "Awe", "The sky opens."]],
}
REPLIES: dict[str, Any] = {
    **{row_id: timeline_text(spans) for row_id, spans in TRUTHS.items()},
    "plays": timeline_text([[0, 4, "Joy", "They hop."], [4, 8, "Anger", "A fist."]]),
    "odd": "It is calm.",
    "broken": None,
}
IS_READY = "document.querySelector('video').readyState >= 2"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    videos = {"odd": ODD, "plays": "plays.mp4", "broken": "broken.mp4", "embedded": "small.mp4"}
    rows = write_tagged_rows(folder, TRUTHS, videos=videos)
    for name in ("plays.mp4", ODD):
        write_clip(folder / name, 8.0)
    write_clip(folder / "small.mp4", 8.0, side_pixels=16)
    (folder / "broken.mp4").write_bytes(b"no video " * 10_000)
    run = write_run(folder / "runs" / "sft", rows, REPLIES)
    write_judgements(run, [
        judgement("plays", 0, 4.0, comment="Says what is seen."),
        judgement("plays", 1, 0.0, state="gated", why="a bare opener"),
    ])  # fmt: skip
    size = (folder / "small.mp4").stat().st_size
    page = write_page([run], run / "report.html", embed_bytes=size)
    (folder / "small.mp4").unlink()
    return page


def choose(opened: OpenedPage, name: str) -> None:
    opened.page.click(f".entry[aria-label^='{name},']")


def lit(opened: OpenedPage) -> list[str]:
    """Names of the segments that are lit, lane by lane."""
    found = opened.page.eval_on_selector_all(".segment.lit", "all => all.map(one => one.ariaLabel)")
    return [",".join(text.split(",")[:1]) for text in found]


def now(opened: OpenedPage) -> float:
    return float(opened.page.get_attribute(".axis", "aria-valuenow") or "nan")


def test_a_click_on_a_segment_seeks_and_plays(opened: OpenedPage) -> None:
    page = opened.page
    wait_until(opened, IS_READY)
    assert lit(opened) == ["Truth: Joy", "sft: Joy"]
    page.evaluate(
        "window.sought = []; const video = document.querySelector('video');"
        "video.addEventListener('seeking', () => window.sought.push(video.currentTime))"
    )
    page.click(".segment[data-lane='1'][data-segment='1']")
    wait_until(opened, "window.sought.length > 0")
    assert abs(page.evaluate("window.sought[0]") - 4.0) < 0.1
    wait_until(opened, "!document.querySelector('video').paused")
    wait_until(opened, "document.querySelector('video').currentTime > 4.2")
    assert lit(opened) == ["Truth: Fear", "sft: Anger"]
    assert page.inner_text(".card:nth-child(2) .verdict") == (
        "✗ wrong label, the truth says Fear · tIoU 0.80 with T2"
    )
    page.click(".segment[data-lane='0'][data-segment='0']")
    # The time is another at once, the event comes later.
    wait_until(opened, "window.sought.at(-1) < 2")
    assert abs(page.evaluate("window.sought.at(-1)") - 0.0) < 0.1


def test_playing_lights_one_segment_after_the_other(opened: OpenedPage) -> None:
    page = opened.page
    wait_until(opened, IS_READY)
    box = page.locator(".axis").bounding_box()
    assert box
    page.mouse.click(box["x"] + box["width"] * 2.6 / 8, box["y"] + 10)
    assert abs(now(opened) - 2.6) < 0.1
    assert lit(opened) == ["Truth: Joy", "sft: Joy"]
    page.keyboard.press("Space")
    page.wait_for_selector(".segment.lit[data-lane='0'][data-segment='1']")
    assert lit(opened) == ["Truth: Fear", "sft: Joy"]
    assert "It grows dark." in page.inner_text(".card.truth")
    page.wait_for_selector(".segment.lit[data-lane='1'][data-segment='1']")
    page.keyboard.press("Space")
    assert page.evaluate("document.querySelector('video').paused")
    left = page.evaluate("parseFloat(document.querySelector('.playhead').style.left)")
    assert left == pytest.approx(100 * now(opened) / 8, abs=0.2)


def test_judges_scores_stand_at_the_segment(opened: OpenedPage) -> None:
    page = opened.page
    judge = page.locator(".card:nth-child(2) .judge")
    assert judge.locator(".judge-name").inner_text().split() == [
        "judge_paper.gpt-4o",
        "overall",
        "4",
    ]
    assert judge.locator(".bar-name").all_inner_texts() == ["VG", "CL", "VC", "TC", "AC"]
    assert judge.locator(".bar-value").all_inner_texts() == ["4"] * 5
    assert judge.locator(".judge-words").inner_text() == "Says what is seen."
    page.click(".segment[data-lane='1'][data-segment='1']")
    page.wait_for_selector(".state.gated")
    assert "a bare opener" in page.inner_text(".card:nth-child(2) .judge")


def test_a_path_that_needs_encoding_plays(opened: OpenedPage) -> None:
    choose(opened, "odd")
    wait_until(opened, IS_READY)
    card = opened.page.inner_text(".card:nth-child(2)")
    assert "unparsed: no strict timeline" in card and "no_object: " in card
    opened.page.click(".raw summary")
    assert opened.page.inner_text(".raw pre") == "It is calm."


@pytest.mark.parametrize(
    ("name", "said"),
    [("gone", "There is no file videos/gone.mp4"), ("broken", "This video can't be played here")],
)
def test_timelines_run_without_a_video(opened: OpenedPage, name: str, said: str) -> None:
    page = opened.page
    choose(opened, name)
    wait_until(opened, "said => document.querySelector('.screen').innerText.includes(said)", said)
    last = page.locator(".segment[data-lane='0']").last
    last.click()
    start = 2.0 if name == "gone" else 0.0
    assert start <= now(opened)
    wait_until(
        opened, "start => Number(document.querySelector('.axis').ariaValueNow) > start + .2", start
    )
    assert lit(opened)[0] == ("Truth: Sadness" if name == "gone" else "Truth: Anger")
    page.keyboard.press("Space")
    page.focus(".axis")
    page.keyboard.press("Home")
    assert now(opened) == 0.0
    page.keyboard.press("Shift+ArrowRight")
    assert now(opened) == 1.0
    if name == "broken":
        assert "no picture" in page.inner_text(".card:nth-child(2)")


def test_an_embedded_clip_needs_no_file(opened: OpenedPage) -> None:
    choose(opened, "embedded")
    wait_until(opened, IS_READY)
    assert opened.page.evaluate("document.querySelector('video').src").startswith("blob:")
    opened.page.click(".segment[data-lane='0'][data-segment='1']")
    wait_until(opened, "document.querySelector('video').currentTime > 4")
    assert lit(opened)[0] == "Truth: Awe (or Wonder)"


def test_keys(opened: OpenedPage) -> None:
    page = opened.page
    wait_until(opened, IS_READY)

    def name() -> str:
        return page.inner_text(".clip-name")

    assert name() == "plays"
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert name() == "gone"
    page.keyboard.press("k")
    assert name() == "odd"
    page.focus(".list")
    page.keyboard.press("ArrowDown")
    assert name() == "gone"
    page.keyboard.press("End")
    assert name() == "embedded"
    page.keyboard.press("Home")
    assert name() == "plays"
    page.keyboard.press("n")
    assert abs(now(opened) - 3.0) < 0.1
    page.keyboard.press("ArrowLeft")
    assert abs(now(opened) - 2.5) < 0.1
    page.keyboard.press("p")
    assert now(opened) < 0.1
    page.keyboard.press("/")
    page.keyboard.type("jkn?")
    assert page.input_value("input[type=search]") == "jkn?", "keys are letters in the search"
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.is_visible("dialog") and "next, previous clip" in page.inner_text("dialog")
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog")


def test_tab_reaches_everything_and_shows_where_it_is(opened: OpenedPage) -> None:
    page = opened.page
    page.focus("input[type=search]")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        kind, outline = page.evaluate(
            "[document.activeElement.className || document.activeElement.tagName,"
            " getComputedStyle(document.activeElement).outlineStyle]"
        )
        reached.add(kind.split(" ")[0])
        assert outline != "none" or kind == "BODY", kind
    assert {"SELECT", "INPUT", "kind", "list", "plain", "segment", "axis", "SUMMARY"} <= reached
    page.focus(".segment[data-lane='0'][data-segment='1']")
    page.keyboard.press("Enter")
    assert 3.0 <= now(opened) < 3.5


def test_space_plays_a_segment_reached_by_tab_and_pauses_after_a_click(opened: OpenedPage) -> None:
    page = opened.page
    wait_until(opened, IS_READY)
    page.focus(".segment[data-lane='0'][data-segment='0']")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert 3.0 <= now(opened) < 3.5
    assert page.get_attribute(".play", "aria-label") == "Pause (space)"
    page.keyboard.press("Space")
    assert page.get_attribute(".play", "aria-label") == "Play (space)"
    page.click(".segment[data-lane='0'][data-segment='0']")
    page.keyboard.press("n")
    page.keyboard.press("Space")
    page.keyboard.press("Space")
    assert now(opened) >= 3.0, "plays on from where it was"
