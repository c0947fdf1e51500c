"""What an HTTP answer that is no success means, and how long its server asks to wait.

    >>> error = http_fault(429, {"retry-after": "7"}, "slow down")
    >>> error.kind, error.can_retry, error.retry_after_seconds
    ('rate_limited', True, 7.0)

`Retry-After` is seconds or a date (RFC 9110, 10.2.3); a date is read against the answer's own
`Date`, since two machines' clocks differ. Gemini says it in the body (`google.rpc.RetryInfo`).
"""

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from affect.llm.chat import FailureKind
from affect.llm.client import RequestError

_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


def http_fault(
    status: int, headers: Mapping[str, str], detail: str, body: Any = None
) -> RequestError:
    """headers: looked up in any case. body: the decoded JSON, where it is some."""
    kind, can_retry = _kind(status)
    waits = (retry_after_seconds(headers), retry_info_seconds(body))
    asked = [wait for wait in waits if wait is not None]
    return RequestError(
        kind,
        f"HTTP {status}: {detail}" if detail else f"HTTP {status}",
        can_retry=can_retry,
        retry_after_seconds=max(asked) if asked else None,
    )


def _kind(status: int) -> tuple[FailureKind, bool]:
    if status in (401, 403):
        return "not_allowed", False
    if status == 404:
        return "not_found", False
    if status == 408:
        return "timeout", True
    if status == 429:
        return "rate_limited", True
    # 409 and 425: another request was in the way, or it came too early.
    if status >= 500 or status in (409, 425):
        return "server_error", True
    return "bad_request", False


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """At least 0; None where nothing that can be read is said."""
    values = {name.lower(): value.strip() for name, value in headers.items()}
    if _SECONDS.fullmatch(milliseconds := values.get("retry-after-ms", "")):
        return float(milliseconds) / 1000
    said = values.get("retry-after", "")
    if _SECONDS.fullmatch(said):
        return float(said)
    until = _epoch_seconds(said)
    if until is None:
        return None
    now = _epoch_seconds(values.get("date", ""))
    return max(0.0, until - (time.time() if now is None else now))


def retry_info_seconds(body: Any) -> float | None:
    """From `{"error": {"details": [{"@type": "../google.rpc.RetryInfo", "retryDelay": "3s"}]}}`."""
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        if not isinstance(detail, dict) or not str(detail.get("@type")).endswith("RetryInfo"):
            continue
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and _SECONDS.fullmatch(delay.removesuffix("s")):
            return float(delay.removesuffix("s"))
    return None


def json_body(text: str) -> Any:
    """The decoded body of an error, None where it is no JSON (a proxy's HTML page)."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def error_message(body: Any, text: str) -> str:
    """What a server says in `{"error": {"message": ...}}` or a relative of it, else its text."""
    error = body.get("error", body) if isinstance(body, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else text


def _epoch_seconds(date: str) -> float | None:
    try:
        seconds = parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) else None
