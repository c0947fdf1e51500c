"""In Chromium: the page as the command writes it, plots and examples together, wide and narrow."""

from pathlib import Path
from typing import Any

import pytest

from evaluation.report.__main__ import main
from tests.browser import needs_chromium, open_page
from tests.evaluation.report.page_runs import (
    timeline_text,
    write_page,
    write_run,
    write_tagged_rows,
)
from tests.evaluation.report.polling import wait_until

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


def test_links_to_sections_keep_the_address_and_the_way_back(report: Path) -> None:
    with open_page(report, width_pixels=1440) as opened:
        page = opened.page
        for link in ("emotions", "boundaries"):
            page.click(f"nav a[href='#{link}']")
            assert page.evaluate("location.hash") == f"#{link}"
            top = page.evaluate(
                "id => document.querySelector(`#${id} h2`).getBoundingClientRect().top", link
            )
            bar = page.evaluate("document.querySelector('nav').getBoundingClientRect().bottom")
            assert bar <= top < bar + 60, "the heading stands below the bar"
        page.go_back()
        assert page.evaluate("location.hash") == "#emotions"
        page.keyboard.press("j")
        assert page.evaluate("location.hash") == "#clip=clip1"
        page.click("nav a[href='#headline']")
        page.go_back()
        wait_until(opened, "document.querySelector('nav a:last-child') && scrollY > innerHeight")
        assert page.inner_text(".clip-name") == "clip1"
        opened.assert_clean()


def luminance(rgb: list[float]) -> float:
    parts = [one / 255 for one in rgb]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_keeps_its_contrast(report: Path, scheme: Any) -> None:
    """WCAG's 4.5 for buttons of filters that find nothing and for segments that don't play."""
    with open_page(report, width_pixels=1440) as opened:
        page = opened.page
        page.emulate_media(color_scheme=scheme)
        page.click(".entry[aria-label^='clip3,']")
        page.click(".segment[data-lane='0'][data-segment='0']")
        # Colours as they are painted: on a canvas, and with every opacity above them.
        found = page.evaluate(
            """() => {
              const paint = document.createElement('canvas').getContext('2d');
              const rgba = (color) => {
                paint.clearRect(0, 0, 1, 1);
                paint.fillStyle = color;
                paint.fillRect(0, 0, 1, 1);
                return [...paint.getImageData(0, 0, 1, 1).data];
              };
              const look = (one) => {
                let opacity = 1, ground = null;
                for (let at = one; at; at = at.parentElement) {
                  opacity *= Number(getComputedStyle(at).opacity);
                  const color = rgba(getComputedStyle(at).backgroundColor);
                  if (!ground && color[3] === 255) ground = color;
                }
                return [one.className, rgba(getComputedStyle(one).color), ground, opacity];
              };
              const all = document.querySelectorAll(
                '.kind.none, .kind.none b, .segment:not(.lit) span, .segment.lit span');
              return [...all].map(look);
            }"""
        )
        assert len(found) > 8
        faint = []
        for name, ink, ground, opacity in found:
            shown = [
                opacity * one + (1 - opacity) * on for one, on in zip(ink, ground, strict=True)
            ]
            dark, light = sorted((luminance(shown[:3]), luminance(ground[:3])))
            if (light + 0.05) / (dark + 0.05) < 4.5:
                faint.append((name, shown, ground))
        assert faint == []


def test_long_names_in_the_filters_run_over_nothing(tmp_path: Path) -> None:
    tags = {"clip0": {"genre": "G" * 200, "scene": "S" * 200}}
    rows = write_tagged_rows(tmp_path, {"clip0": TRUTHS["clip0"]}, tags=tags)
    reply = timeline_text([[0, 8, "E" * 200, "They dance."]])
    runs = [write_run(tmp_path / "runs" / (name * 100), rows, {"clip0": reply}) for name in "ab"]
    out = write_page(runs, tmp_path / "report.html")
    for width_pixels in (1440, 390):
        with open_page(out, width_pixels=width_pixels) as opened:
            page = opened.page
            if width_pixels < 800:
                page.click("text=Filters")
            for box in (one.bounding_box() for one in page.locator("select").all()):
                assert box is None or box["x"] + box["width"] <= width_pixels
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            opened.assert_clean()


def test_paper_is_white_and_cuts_nothing_off(report: Path) -> None:
    """Printed from a dark page, on A4 (794 pixels less margins)."""
    with open_page(report, width_pixels=700) as opened:
        page = opened.page
        page.emulate_media(color_scheme="dark", media="print")
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
        inks = page.eval_on_selector_all(
            "h1, svg.plot text, table.numbers th, figcaption",
            "all => all.map(one => getComputedStyle(one).fill === 'rgb(0, 0, 0)' ?"
            " getComputedStyle(one).color : getComputedStyle(one).fill)",
        )
        assert len(inks) > 50
        white = 1.05
        for ink in set(inks) - {"rgb(255, 255, 254)", "rgb(255, 255, 255)"}:  # on dark squares
            rgb = [float(one) for one in ink[4:-1].split(",")]
            assert white / (luminance(rgb) + 0.05) >= 4.5, ink
        wide = page.eval_on_selector_all(
            ".summary table.numbers, svg.plot",
            "all => all.filter(one => one.getBoundingClientRect().right > innerWidth)"
            ".map(one => one.id)",
        )
        assert wide == []
