"""Trying again: how often, how long apart, and what is not tried again."""

import asyncio

import pytest

from affect.llm.client import RequestError
from affect.llm.retrying import RetryPolicy


def fault(can_retry: bool = True, retry_after_seconds: float | None = None) -> RequestError:
    return RequestError(
        "rate_limited", "slow", can_retry=can_retry, retry_after_seconds=retry_after_seconds
    )


def run(
    faults: list[RequestError], max_attempts: int, draw: float = 0.0
) -> tuple[str, list[float]]:
    """Tries that fail so and then succeed: what came of it, and the waits between."""
    waits: list[float] = []
    told: list[int] = []
    left = list(faults)

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def attempt(num_attempt: int) -> str:
        assert num_attempt == len(faults) - len(left) + 1
        if left:
            raise left.pop(0)
        return f"done at {num_attempt}"

    policy = RetryPolicy(max_attempts, 4.0, 1.0, sleep, lambda: draw)
    try:
        result = asyncio.run(policy.run(attempt, lambda number, error: told.append(number)))
    except RequestError as error:
        result = error.kind
    assert told == list(range(1, len(faults) - len(left) + 1))
    return result, waits


def test_waits_double_up_to_the_maximum() -> None:
    assert run([fault()] * 5, 6, draw=1.0) == ("done at 6", [1.0, 2.0, 4.0, 4.0, 4.0])
    assert run([fault()] * 5, 6, draw=0.0) == ("done at 6", [0.5, 1.0, 2.0, 2.0, 2.0])


def test_tries_are_bounded() -> None:
    assert run([fault()] * 9, 3, draw=1.0) == ("rate_limited", [1.0, 2.0])
    assert run([fault()], 1) == ("rate_limited", [])


def test_what_no_repetition_mends_is_not_repeated() -> None:
    assert run([fault(can_retry=False)] * 2, 6) == ("rate_limited", [])


def test_at_least_what_the_server_asked_for_is_waited() -> None:
    assert run([fault(retry_after_seconds=30.0)], 6, draw=1.0) == ("done at 2", [30.1])
    assert run([fault(retry_after_seconds=0.0)], 6, draw=1.0) == ("done at 2", [1.0])


def test_more_than_a_run_can_sit_through_is_the_end() -> None:
    assert run([fault(retry_after_seconds=600.0)], 6)[0] == "done at 2"
    assert run([fault(retry_after_seconds=601.0)], 6) == ("rate_limited", [])


def test_waits_are_drawn_apart() -> None:
    policy = RetryPolicy(6, 60.0)
    waits = {policy.wait_seconds(3, 0.0) for _ in range(20)}
    assert len(waits) > 10
    assert all(1.0 <= wait <= 2.0 for wait in waits)
    assert policy.wait_seconds(10_000, 0.0) <= 60.0


def test_at_least_one_try() -> None:
    with pytest.raises(ValueError, match="max_attempts must be at least 1"):
        RetryPolicy(0, 1.0)
