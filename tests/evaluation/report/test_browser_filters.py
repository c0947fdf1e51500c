"""In Chromium: filters and their exact counts, order, links, and a list of 1,441 clips."""

from pathlib import Path
from typing import Any

import pytest

from tests.browser import OpenedPage, needs_chromium
from tests.evaluation.report.page_runs import (
    timeline_text,
    write_page,
    write_run,
    write_tagged_rows,
)
from tests.evaluation.report.polling import wait_until

pytestmark = [pytest.mark.slow, needs_chromium]

JOY_FEAR = [[0, 4, "Joy", "They dance."], [4, 8, "Fear", "It grows dark."]]
TRUTHS: dict[str, Any] = {
    "c0": JOY_FEAR,
    "c1": [[0, 8, "Calmness", "Nothing moves."]],
    "c2": JOY_FEAR,
    "c3": [[0, 8, "Sadness", "They leave."]],
    "c4": [[0, 4, "Joy", "They sing."], [4, 8, "Anger", "A shout."]],
}
# Mean tIoU of c0 to c4: 1, 1, .25, missing, (1.9/4 + 4/6.1)/2 = .565.
FIRST: dict[str, Any] = {
    "c0": timeline_text(TRUTHS["c0"]),
    "c1": timeline_text(TRUTHS["c1"]),
    "c2": timeline_text([[0, 8, "Joy", "They dance."]]),
    "c3": None,
    "c4": timeline_text([[0, 1.9, "Joy", "They sing."], [1.9, 8, "Anger", "A shout."]]),
}
# 1, (.75 + 0)/2 = .375, unparsed, 1, 1.
SECOND: dict[str, Any] = {
    "c0": timeline_text([[0, 4, "Joy", "They dance."], [4, 8, "Anger", "Someone SHOUTS."]]),
    "c1": timeline_text([[0, 6, "Calmness", "Nothing moves."], [6, 8, "Joy", "They jump."]]),
    "c2": "I can't tell.",
    "c3": timeline_text(TRUTHS["c3"]),
    "c4": timeline_text(TRUTHS["c4"]),
}
TAGS = {"c0": {"genre": "Animals", "scene": "Indoor"}, "c1": {"genre": "Sports"}}
COUNTS = {"right": 4, "wrong_label": 1, "bad_boundary": 1, "too_many": 1, "too_few": 1,
          "unparsed": 1, "missing": 1}  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    rows = write_tagged_rows(folder, TRUTHS, tags=TAGS)
    runs = [
        write_run(folder / "runs" / "first", rows, FIRST),
        write_run(folder / "runs" / "second", rows, SECOND),
    ]
    return write_page(runs, folder / "report.html")


def listed(opened: OpenedPage) -> list[str]:
    """Names in the list's order; the count beside the filters must say as many."""
    names = opened.page.eval_on_selector_all(
        ".entry", "all => all.sort((a, b) => a.ariaPosInSet - b.ariaPosInSet)"
        ".map(one => one.querySelector('bdi').textContent)",
    )  # fmt: skip
    assert opened.page.inner_text(".count") == f"{len(names)} of 5 clips"
    return list(names)


def choose(opened: OpenedPage, **values: str) -> None:
    for name, label in values.items():
        opened.page.get_by_label(name, exact=True).select_option(label=label)


def type_score(opened: OpenedPage, words: str, value: str) -> None:
    opened.page.get_by_label(words).fill(value)


def counts(opened: OpenedPage) -> dict[str, int]:
    found = opened.page.eval_on_selector_all(
        ".kind", "all => all.map(one => [one.dataset.kind, Number(one.lastChild.textContent)])"
    )
    return dict(found)


def test_error_kinds_and_runs(opened: OpenedPage) -> None:
    assert listed(opened) == list(TRUTHS)
    assert counts(opened) == COUNTS
    wanted = {"right": ["c0", "c1", "c3", "c4"], "wrong_label": ["c0"], "bad_boundary": ["c4"],
              "too_many": ["c1"], "too_few": ["c2"], "unparsed": ["c2"],
              "missing": ["c3"]}  # fmt: skip
    for kind, names in wanted.items():
        opened.page.click(f".kind[data-kind={kind}]")
        assert listed(opened) == names, kind
        assert opened.page.inner_text(".clip-name") in names, "the clip shown is a listed one"
        opened.page.click(f".kind[data-kind={kind}]")
    opened.page.click(".kind[data-kind=missing]")
    opened.page.click(".kind[data-kind=too_many]")
    assert listed(opened) == ["c1", "c3"]
    choose(opened, Run="second")
    assert listed(opened) == ["c1"]
    assert counts(opened) == {**COUNTS, "right": 2, "bad_boundary": 0, "too_few": 0, "missing": 0}
    opened.page.click("text=Clear filters")
    assert listed(opened) == list(TRUTHS)


def test_emotions(opened: OpenedPage) -> None:
    choose(opened, Emotion="Joy")
    assert listed(opened) == ["c0", "c1", "c2", "c4"]
    choose(opened, Where="in the truth")
    assert listed(opened) == ["c0", "c2", "c4"]
    choose(opened, Where="predicted", Run="first")
    assert listed(opened) == ["c0", "c2", "c4"]
    choose(opened, Run="second")
    assert listed(opened) == ["c0", "c1", "c4"]
    choose(opened, Where="truth or predicted", Run="any run", Emotion="Anger")
    assert listed(opened) == ["c0", "c4"]


def test_scores_tags_and_search(opened: OpenedPage) -> None:
    type_score(opened, "highest mean tIoU", "0.3")
    assert listed(opened) == ["c2", "c3"]
    type_score(opened, "highest mean tIoU", "0.6")
    type_score(opened, "lowest mean tIoU", "0.3")
    assert listed(opened) == ["c1", "c4"]
    # A score and a kind are asked of one answer: c1 is right in the first run, at 1.
    opened.page.click(".kind[data-kind=right]")
    assert listed(opened) == []
    assert opened.page.is_visible(".empty")
    opened.page.click("text=Clear filters")
    choose(opened, Genre="Animals")
    assert listed(opened) == ["c0"]
    choose(opened, Genre="any genre", Scene="Indoor")
    assert listed(opened) == ["c0"]
    opened.page.click("text=Clear filters")
    opened.page.fill("input[type=search]", "a SHOUT")
    assert listed(opened) == ["c4"]
    opened.page.fill("input[type=search]", "shout")
    assert listed(opened) == ["c0", "c4"], "reasons of runs too"
    opened.page.fill("input[type=search]", "C3")
    assert listed(opened) == ["c3"]


def test_order(opened: OpenedPage) -> None:
    choose(opened, Order="worst first")
    # Means of both, a failure before any score: -.375, 0, .69, .78, 1.
    assert listed(opened) == ["c2", "c3", "c1", "c4", "c0"]
    choose(opened, Order="runs differ most")
    # 1 (a failure counts as 0), .625, .435, .25, 0.
    assert listed(opened) == ["c3", "c1", "c4", "c2", "c0"]
    choose(opened, Order="worst first", Run="first")
    assert listed(opened) == ["c3", "c2", "c4", "c0", "c1"]


def test_a_link_leads_back(opened: OpenedPage) -> None:
    page = opened.page
    page.click(".kind[data-kind=wrong_label]")
    page.click(".kind[data-kind=too_many]")
    choose(opened, Run="second", Emotion="Joy", Where="predicted", Order="worst first")
    type_score(opened, "lowest mean tIoU", "0.25")
    page.fill("input[type=search]", "they")
    assert listed(opened) == ["c1", "c0"]
    page.click(".entry:has-text('c0')")
    address = page.url
    assert "clip=c0" in address
    page.reload()
    assert page.url == address
    assert listed(opened) == ["c1", "c0"]
    assert page.inner_text(".clip-name") == "c0"
    pressed = page.eval_on_selector_all(
        ".kind[aria-pressed=true]", "all => all.map(one => one.dataset.kind)"
    )
    assert pressed == ["wrong_label", "too_many"]
    assert page.input_value("input[type=search]") == "they"
    # A link made by hand, or in another report: what the page does not know is passed over.
    page.evaluate("location.hash = '#clip=c3&kind=nonsense&emotion=%3Cb%3E&low=7&run=third'")
    wait_until(opened, "document.querySelector('.clip-name').textContent === 'c3'")
    assert listed(opened) == list(TRUTHS)
    # A clip that the filters hide is shown all the same.
    page.evaluate("location.hash = '#clip=c3&kind=too_many'")
    wait_until(opened, "document.querySelector('.count').textContent.startsWith('1 of')")
    assert page.inner_text(".clip-name") == "c3"
    assert listed(opened) == ["c1"]
