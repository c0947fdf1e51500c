"""Trying one request again after a server's fault: bounded, further and further apart.

    policy = RetryPolicy(max_attempts=6, max_backoff_seconds=60.0)
    reply = await policy.run(lambda: client.request(question, schema), on_fault=note)

Waits double from `first_backoff_seconds` up to the maximum, each drawn from the upper half below
it, so that requests that failed together do not come back together. Where the server said how long
to wait, that is waited at least; where that is too long for a run to sit through, it is the end.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from affect.llm.client import RequestError

T = TypeVar("T")

MAX_RETRY_AFTER_SECONDS = 600.0
"""A server that asks for more (a daily quota is spent) is asked again in another run."""


@dataclass(frozen=True)
class RetryPolicy:
    """sleep, draw: for tests; draw is uniform in [0, 1) and decides waiting times alone."""

    max_attempts: int
    max_backoff_seconds: float
    first_backoff_seconds: float = 0.5
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if self.max_attempts < 1:
            raise ValueError(f"max_attempts must be at least 1, not {self.max_attempts}")

    async def run(
        self,
        attempt: Callable[[int], Awaitable[T]],
        on_fault: Callable[[int, RequestError], None],
    ) -> T:
        """attempt: gets its number, from 1. on_fault: told of every try that failed.

        Raises the RequestError of the last try.
        """
        for num_attempt in range(1, self.max_attempts + 1):
            try:
                return await attempt(num_attempt)
            except RequestError as error:
                on_fault(num_attempt, error)
                if num_attempt == self.max_attempts or not error.can_retry:
                    raise
                asked = error.retry_after_seconds or 0.0
                if asked > MAX_RETRY_AFTER_SECONDS:
                    raise
                await self.sleep(self.wait_seconds(num_attempt, asked))
        raise AssertionError("the last try either returns or raises")

    def wait_seconds(self, num_attempt: int, asked_seconds: float) -> float:
        """After the try of this number; never less than the server asked for."""
        doubled = self.first_backoff_seconds * 2.0 ** min(num_attempt - 1, 60)
        backoff = min(doubled, self.max_backoff_seconds) * (0.5 + 0.5 * self.draw())
        if asked_seconds:
            # A little later than asked, each at another moment.
            return asked_seconds + backoff * 0.1
        return backoff
