"""In Chromium: whatever stands in ids, reasons, labels, tags and names is shown, and never runs."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser import needs_chromium, open_page
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

SCRIPT = "</script><script>window.ran = 1</script>"
IMAGE = '"><img src=x onerror="window.ran = 1">'
TURNED = "a\u202egnp.exe\x00\ud800z"
SHOWN = "a\\u202egnp.exe\\u0000\\ud800z"
IDS = [SCRIPT, IMAGE, "javascript:window.ran=1", TURNED, "long", "&lt;b&gt; ${window.ran=1}"]
IMAGE_FILE = '"><img src=x onerror=alert(1)>.mp4'
LONG = "y" * 190_000  # a row holds no more


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")

    def spans(row_id: str) -> list[list[Any]]:
        # No half of a character: rows and strict timelines may not hold one in a reason.
        text = LONG if row_id == "long" else row_id.replace("\ud800", "")
        return [[0, 4, "Joy", text], [4, 8, "Fear", IMAGE + SCRIPT]]

    videos = {row_id: f"clip{place}.mp4" for place, row_id in enumerate(IDS)}
    videos[IMAGE] = IMAGE_FILE
    videos["javascript:window.ran=1"] = "javascript:window.ran=1.mp4"
    tags = {row_id: {"genre": SCRIPT, "scene": IMAGE, "source": TURNED} for row_id in IDS}
    rows = write_tagged_rows(folder, {one: spans(one) for one in IDS}, videos=videos, tags=tags)
    write_clip(folder / videos["javascript:window.ran=1"], 1.0, 16)
    replies: dict[str, str | None] = {one: timeline_text(spans(one)) for one in IDS}
    replies["long"] = timeline_text([[0, 8, "Joy", "z" * 1_000_000]])
    replies[IMAGE] = f"{SCRIPT}{IMAGE} " + timeline_text([[0, 8, IMAGE, SCRIPT]])
    replies[SCRIPT] = timeline_text([[-1e9, 1e12, SCRIPT, TURNED], [4, 1, IMAGE, ""]])
    run = write_run(folder / "runs" / f"{IMAGE.replace('/', '')}", rows, replies)
    write_judgements(run, [judgement(TURNED, 0, 1.0, comment=SCRIPT + IMAGE)])
    return write_page([run], folder / "report.html", title=SCRIPT + TURNED)


def test_hostile_text_stays_text(report: Path) -> None:
    with open_page(report, width_pixels=1440) as opened:
        page = opened.page
        assert page.title() == SCRIPT + SHOWN
        assert page.inner_text("h1") == SCRIPT + SHOWN
        for place, row_id in enumerate(IDS):
            if place:
                page.keyboard.press("j")
            shown = SHOWN if row_id == TURNED else row_id
            assert page.text_content(".clip-name") == shown
            page.keyboard.press("n")
            address = page.url
            page.reload()
            assert page.text_content(".clip-name") == shown, "the link leads to its clip"
            assert page.url == address
            for summary in page.locator("#examples summary").all():
                summary.click()
            assert page.evaluate("window.ran") is None
            found = page.evaluate(
                "[document.images.length, document.scripts.length,"
                " document.querySelectorAll('iframe, object, embed, link, base').length]"
            )
            assert found == [0, 2, 0]
        opened.assert_clean()


def test_each_text_is_there_to_read(report: Path) -> None:
    with open_page(report, width_pixels=1440) as opened:
        page = opened.page
        assert page.text_content(".card:nth-child(2) .chip") == SCRIPT
        assert page.text_content(".card:nth-child(2) .reason") == SHOWN
        tags = page.text_content(".tags") or ""
        assert SCRIPT in tags and IMAGE in tags and SHOWN in tags
        page.keyboard.press("j")
        assert page.text_content(".card:nth-child(2) .chip") == IMAGE
        assert (page.text_content(".raw pre") or "").startswith(SCRIPT + IMAGE)
        assert "There is no file " + IMAGE_FILE in (page.text_content(".screen") or "")
        page.keyboard.press("j")
        wait_until(opened, "document.querySelector('video').readyState >= 1")
        assert "The file lasts 1.0 s, its row says 8.0 s." in page.inner_text(".screen")
        page.keyboard.press("j")
        assert page.text_content(".judge-words") == SCRIPT + IMAGE
        page.keyboard.press("j")
        reason = page.text_content(".card.truth .reason") or ""
        assert reason.endswith("… cut here: 190,000 characters in all")
        assert (page.text_content(".raw pre") or "").endswith("characters in all")
        assert "too_long" in (page.text_content(".faults") or "")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        opened.assert_clean()
