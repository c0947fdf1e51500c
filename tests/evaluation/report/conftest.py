"""A report open in Chromium; the module that asks says which, as its fixture `report`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import OpenedPage, open_page


@pytest.fixture(scope="module")
def browser(report: Path) -> Iterator[OpenedPage]:
    with open_page(report, width_pixels=1440) as page:
        yield page


@pytest.fixture
def opened(browser: OpenedPage) -> Iterator[OpenedPage]:
    """The page as it opens, without what an earlier test chose."""
    browser.page.evaluate("history.replaceState(null, '', location.pathname)")
    browser.page.reload()
    yield browser
    browser.assert_clean()
