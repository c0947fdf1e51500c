"""Pages in headless Chromium, with all that went wrong in them on record.

    @needs_chromium
    @pytest.mark.slow
    def test_it_opens(tmp_path: Path) -> None:
        with open_page(tmp_path / "report.html") as opened:
            opened.page.click("text=Joy")
            opened.assert_clean()

playwright drives the Chromium that the system has; it brings none of its own here.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page, Request

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip

needs_chromium = pytest.mark.skipif(
    not CHROMIUM.is_file() or find_spec("playwright") is None,
    reason=f"needs {CHROMIUM} (Debian's package chromium) and playwright",
)


@dataclass
class OpenedPage:
    """A page, and what went wrong in it so far, in words."""

    page: "Page"
    console_errors: list[str] = field(default_factory=list)
    page_errors: list[str] = field(default_factory=list)
    failed_requests: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Begin to take note."""
        self.page.on("console", self._note_console)
        self.page.on("pageerror", lambda error: self.page_errors.append(str(error)))
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("requestfailed", self._note_failed)

    def assert_clean(self) -> None:
        """No error on the console, no uncaught exception, no file that did not load, and nothing
        asked of the network."""
        assert self.console_errors == []
        assert self.page_errors == []
        assert self.failed_requests == []
        beyond = [url for url in self.requested if not url.startswith(("file:", "data:", "blob:"))]
        assert beyond == []

    def _note_console(self, message: "ConsoleMessage") -> None:
        if message.type == "error":
            self.console_errors.append(f"{message.text} ({message.location.get('url')})")

    def _note_failed(self, request: "Request") -> None:
        # A player stops reading a clip that it has enough of, or that another takes the place of.
        is_stopped_clip = request.resource_type == "media" and request.failure == "net::ERR_ABORTED"
        if not is_stopped_clip:
            self.failed_requests.append(f"{request.url}: {request.failure}")


@contextmanager
def open_page(
    path: Path, *, width_pixels: int = 1280, height_pixels: int = 900, timeout_seconds: float = 30.0
) -> Iterator[OpenedPage]:
    """The HTML file at `path`, loaded from disk in a browser of its own.

    timeout_seconds: for whatever the test waits for in it. Downloads are accepted
    (`page.expect_download()`); what the page stores lasts as long as the browser is open.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        try:
            context = browser.new_context(
                viewport={"width": width_pixels, "height": height_pixels}, accept_downloads=True
            )
            context.set_default_timeout(timeout_seconds * 1000)
            opened = OpenedPage(context.new_page())
            opened.watch()
            opened.page.goto(path.resolve().as_uri())
            yield opened
        finally:
            browser.close()
