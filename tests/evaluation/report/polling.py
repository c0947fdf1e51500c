"""Waiting in a page whose policy forbids what playwright's own `wait_for_function` does (eval).

wait_until(opened, "document.querySelector('video').readyState >= 2")
"""

import time
from typing import Any

from tests.browser import OpenedPage

TIMEOUT_SECONDS = 60.0
PAUSE_SECONDS = 0.05


def wait_until(opened: OpenedPage, expression: str, argument: Any = None) -> None:
    """Return when the expression, or function of the argument, is true in the page."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not opened.page.evaluate(expression, argument):
        assert time.monotonic() < deadline, f"never came true: {expression}"
        opened.page.wait_for_timeout(PAUSE_SECONDS * 1000)
