"""In Chromium: the page as the command writes it, plots and examples together, wide and narrow."""

from pathlib import Path
from typing import Any

import pytest

from evaluation.report.__main__ import main
from tests.browser import needs_chromium, open_page
from tests.evaluation.report.page_runs import timeline_text, write_run, write_tagged_rows

pytestmark = [pytest.mark.slow, needs_chromium]

TRUTHS: dict[str, Any] = {
    f"clip{number}": [
        [0, 2 + number % 4, "Joy", "They dance."],
        [2 + number % 4, 8, "Fear", "It grows dark."],
    ]
    for number in range(12)
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    rows = write_tagged_rows(folder, TRUTHS)
    replies = {row_id: timeline_text(spans) for row_id, spans in TRUTHS.items()}
    fewer = {**replies, "clip0": None, "clip1": "no", "clip2": replies["clip3"]}
    runs = [
        write_run(folder / "runs" / "sft", rows, fewer),
        write_run(folder / "runs" / "a-run-with-a-rather-long-name", rows, replies),
    ]
    out = folder / "page" / "report.html"
    assert main([*map(str, runs), "--out", str(out), "--title", "Two runs"]) == 0
    return out


@pytest.mark.parametrize("width_pixels", [1440, 390])
def test_nothing_fails_and_nothing_runs_over(report: Path, width_pixels: int) -> None:
    with open_page(report, width_pixels=width_pixels) as opened:
        page = opened.page
        assert page.inner_text("h1") == "Two runs"
        links = page.eval_on_selector_all(
            "nav a", "all => all.map(one => decodeURIComponent(one.hash.slice(1)))"
        )
        assert links[0] == "headline" and links[-1] == "examples"
        for link in links:
            assert page.evaluate("id => document.getElementById(id) !== null", link), link
        assert page.locator("svg").count() > 0
        page.click("nav a:last-child")
        page.keyboard.press("j")
        assert page.inner_text(".clip-name") == "clip1"
        page.click(".segment[data-lane='0'][data-segment='1']")
        assert "It grows dark." in page.inner_text(".card.truth")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        opened.assert_clean()
