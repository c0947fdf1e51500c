"""Pictures of a report, for the documentation: its head, and an example that plays.

    python -m tests.evaluation.report.picture runs/demo/report.html --clip test/00005 \\
        --out docs/pictures

Writes report_summary.png and report_example.png in a light page and report_example_dark.png.
"""

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tests.browser import ARGUMENTS, CHROMIUM

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDTH_PIXELS, HEIGHT_PIXELS = 1280, 800


def main(argv: Sequence[str] | None = None) -> int:
    """Take the pictures; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.evaluation.report.picture", description="Take pictures of a report."
    )
    parser.add_argument("page", type=Path, help="report.html")
    parser.add_argument("--clip", required=True, help="id of the clip to show")
    parser.add_argument("--segment", type=int, default=1, help="which of the truth's plays, from 0")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"), help="folder")
    options = parser.parse_args(argv)
    options.out.mkdir(parents=True, exist_ok=True)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        for scheme, ending in (("light", ""), ("dark", "_dark")):
            page = browser.new_page(
                viewport={"width": WIDTH_PIXELS, "height": HEIGHT_PIXELS},
                color_scheme="light" if scheme == "light" else "dark",
            )
            page.goto(options.page.resolve().as_uri())
            if scheme == "light":
                _save(page, options.out / "report_summary.png")
            page.evaluate(
                "id => { location.hash = new URLSearchParams({ clip: id }) }", options.clip
            )
            page.wait_for_selector(".segment")
            _show(page, options.segment)
            _save(page, options.out / f"report_example{ending}.png")
        browser.close()
    return 0


def _show(page: "Page", segment: int) -> None:
    """Stop within the true segment, its frame on the screen."""
    while not page.evaluate("document.querySelector('video').readyState >= 2"):
        page.wait_for_timeout(50)
    page.click(f".segment[data-lane='0'][data-segment='{segment}']")
    while page.evaluate("document.querySelector('video').seeking"):
        page.wait_for_timeout(50)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(300)


def _save(page: "Page", path: Path) -> None:
    from PIL import Image

    picture = Image.open(io.BytesIO(page.screenshot()))
    # 256 colours are enough for a page, and a third of the bytes.
    picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )
    sys.stdout.write(f"wrote {path}, {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    raise SystemExit(main())
