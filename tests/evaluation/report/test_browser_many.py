"""In Chromium: 1,441 clips of three runs stay a page of a few MB and a few hundred elements."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser import needs_chromium, open_page
from tests.evaluation.report.page_runs import (
    timeline_text,
    write_page,
    write_run,
    write_tagged_rows,
)

pytestmark = [pytest.mark.slow, needs_chromium]

NUM_CLIPS, NUM_RUNS = 1441, 3


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    emotions = ("Joy", "Fear", "Calmness", "Anger")

    def spans(number: int, run: int) -> list[list[Any]]:
        # Reasons as long as the released ones, each another.
        why = f"clip {number} of run {run} shows a change that the viewer did not expect " * 6
        first, second = emotions[(number + run) % 4], emotions[(number + run + 1) % 4]
        cut = 2 + (number * (run + 1)) % 5
        return [[0, cut, first, why], [cut, 8, second, why + "."]]

    ids = [f"clip{number:04}" for number in range(NUM_CLIPS)]
    rows = write_tagged_rows(folder, {id: spans(at, 0) for at, id in enumerate(ids)})
    runs = [
        write_run(
            folder / "runs" / f"run{run}",
            rows,
            {id: timeline_text(spans(at, run)) for at, id in enumerate(ids)},
        )
        for run in range(NUM_RUNS)
    ]
    return write_page(runs, folder / "report.html")


def test_many_clips_stay_few_elements(large: Path) -> None:
    assert large.stat().st_size < 8_000_000
    with open_page(large) as opened:
        page = opened.page
        assert page.inner_text(".count") == "1,441 of 1,441 clips"
        num_elements = page.evaluate("document.querySelectorAll('*').length")
        assert page.locator(".entry").count() < 30
        page.focus(".list")
        for _ in range(40):
            page.keyboard.press("j")
        assert page.inner_text(".clip-name") == "clip0040"
        page.evaluate("document.querySelector('.list').scrollTop = 1e9")
        page.wait_for_selector("#entry-1440")
        assert page.locator(".entry").count() < 30
        page.keyboard.press("End")
        assert page.inner_text(".clip-name") == "clip1440"
        page.fill("input[type=search]", "clip 77 of")
        assert page.inner_text(".count") == "1 of 1,441 clips"
        page.fill("input[type=search]", "run 2 shows")
        assert page.inner_text(".count") == "1,441 of 1,441 clips"
        page.click(".kind[data-kind=right]")
        # Run 0 repeats the truth; the others never have its labels.
        assert page.inner_text(".count") == "1,441 of 1,441 clips"
        page.get_by_label("Run", exact=True).select_option(label="run1")
        assert page.inner_text(".count") == "0 of 1,441 clips"
        page.click("text=Clear filters")
        assert page.evaluate("document.querySelectorAll('*').length") < num_elements + 300
        opened.assert_clean()
