"""The page without a browser: one video on show, marks within the video, texts as texts."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from affect.sheets.page import draw_timeline, render_page
from tests.affect.sheets.forms import FORM, make_line

LINKS = {"clips/a.mp4": "clips/a.mp4", "clips/b.mp4": "clips/b%22.mp4"}


class Tags(HTMLParser):
    """All elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def test_one_video_is_on_show_and_answers_are_grouped() -> None:
    lines = [
        make_line(0, answer="1 of 2"),
        make_line(1, answer="1 of 2"),
        make_line(2, answer="2 of 2"),
        make_line(4, video="b"),
    ]
    page = render_page(FORM, "expert_1", lines, LINKS)
    tags = Tags(page)
    assert ["hidden" in one for one in tags.of("section")] == [False, True]
    assert [one["preload"] for one in tags.of("video")] == ["none", "none"]
    assert re.findall(r"<h3>(.*)</h3>", page) == ["Answer 1 of 2", "Answer 2 of 2", "Answer 1 of 1"]
    assert [one["id"] for one in tags.of("article")] == ["i0", "i1", "i2", "i4"]
    radios = [one for one in tags.of("input") if one["type"] == "radio"]
    assert len(radios) == 4 * 2 * 3
    assert [one["data-name"] for one in tags.of("fieldset")][:2] == ["i0/fits", "i0/seen"]
    assert "<title>Trial &lt;sheet&gt;: expert_1</title>" in page
    assert "Watch &amp; rate." in page


@pytest.mark.parametrize("text", ['"><img src=x>', "</script><img src=x>", "\x00\ud800<img src=x>"])
def test_hostile_text_is_text(text: str) -> None:
    page = render_page(FORM, "expert_1", [make_line(0, emotion=text, reason=text)], LINKS)
    tags = Tags(page)
    assert tags.of("img") == []
    assert len(tags.of("script")) == 2
    page.encode()


def test_no_script_runs_but_the_pages_own() -> None:
    page = render_page(FORM, "expert_1", [make_line(0)], LINKS)
    script = page.rpartition("<script>")[2].partition("</script>")[0]
    (policy,) = [
        one["content"] or "" for one in Tags(page).of("meta") if one.get("http-equiv") is not None
    ]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.split("; ")[:2] == ["default-src 'none'", f"script-src 'sha256-{digest}'"]


def test_a_reason_that_is_blank_is_said_to_be_missing() -> None:
    page = render_page(FORM, "expert_1", [make_line(0, reason=" \n")], LINKS)
    assert "no reason is given" in page


def test_marks_lie_within_the_video_and_below_each_other_where_they_overlap() -> None:
    spans = [(0.0, 2.0), (1.0, 9.0), (2.0, 4.0), (-5.0, 1.0), (3.0, 1.0), (1e300, -1e300)]
    drawn = draw_timeline([make_line(n, span=span) for n, span in enumerate(spans)])
    marks = Tags(drawn).of("button")
    assert [(one["data-start"], one["data-end"]) for one in marks] == [
        ("0.000", "2.000"),
        ("1.000", "4.000"),
        ("2.000", "4.000"),
        ("0.000", "1.000"),
        ("3.000", "3.000"),
        ("4.000", "4.000"),
    ]
    tops = [re.search(r"top: ([\d.]+)rem", str(one["style"])) for one in marks]
    assert [top and top[1] for top in tops] == ["0.0", "1.7", "0.0", "3.4", "3.4", "0.0"]
    assert 'style="--lanes: 3"' in drawn
