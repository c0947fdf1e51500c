"""What servers say when they do not answer, and how long they ask to wait."""

import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.llm.http_faults import (
    error_message,
    http_fault,
    json_body,
    retry_after_seconds,
    retry_info_seconds,
)


@pytest.mark.parametrize(
    ("status", "kind", "can_retry"),
    [
        (400, "bad_request", False),
        (401, "not_allowed", False),
        (403, "not_allowed", False),
        (404, "not_found", False),
        (408, "timeout", True),
        (409, "server_error", True),
        (422, "bad_request", False),
        (429, "rate_limited", True),
        (500, "server_error", True),
        (503, "server_error", True),
        (529, "server_error", True),
        (302, "bad_request", False),
    ],
)
def test_kinds(status: int, kind: str, can_retry: bool) -> None:
    fault = http_fault(status, {}, "why")
    assert (fault.kind, fault.can_retry, fault.retry_after_seconds) == (kind, can_retry, None)
    assert fault.detail == f"HTTP {status}: why"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"RETRY-AFTER": " 0 "}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e3"}, None),
        ({"retry-after": "9" * 400}, None),
        (
            {
                "Date": "Mon, 30 Nov 2026 08:00:00 GMT",
                "Retry-After": "Mon, 30 Nov 2026 08:00:42 GMT",
            },
            42.0,
        ),
        (
            {
                "Date": "Mon, 30 Nov 2026 08:00:00 GMT",
                "Retry-After": "Mon, 30 Nov 2026 07:00:00 GMT",
            },
            0.0,
        ),
        ({"Retry-After": "Mon, 99 Nov 2026 08:00:00 GMT"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_seconds(headers) == seconds


def test_a_date_without_the_servers_date_is_read_by_our_clock() -> None:
    hour = retry_after_seconds({"Retry-After": formatdate(time.time() + 3600, usegmt=True)})
    assert hour is not None
    assert 3000 < hour <= 3600


@given(st.dictionaries(st.sampled_from(["retry-after", "date", "retry-after-ms"]), st.text()))
def test_any_header_is_read(headers: dict[str, str]) -> None:
    seconds = retry_after_seconds(headers)
    assert seconds is None or seconds >= 0


def test_retry_info_of_gemini() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    help_ = {"@type": "type.googleapis.com/google.rpc.Help", "links": []}
    body = {"error": {"code": 429, "message": "quota", "details": [help_, info]}}
    assert retry_info_seconds(body) == 34.5
    assert http_fault(429, {"retry-after": "2"}, "quota", body).retry_after_seconds == 34.5
    assert http_fault(429, {"retry-after": "60"}, "quota", body).retry_after_seconds == 60.0


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda x: (
            st.lists(x)
            | st.dictionaries(
                st.sampled_from(["error", "details", "@type", "retryDelay", "message"]), x
            )
        ),
        max_leaves=6,
    )
)
def test_any_body_is_read(body: object) -> None:
    retry_info_seconds(body)
    assert isinstance(error_message(body, "text"), str)


def test_messages() -> None:
    assert error_message({"error": {"message": "no"}}, "all") == "no"
    assert error_message({"message": "no"}, "all") == "no"
    assert error_message({"error": "no"}, "all") == "no"
    assert error_message({"detail": [1]}, "all") == "all"
    assert json_body("<html>") is None
    assert json_body("[" * 100_000) is None
