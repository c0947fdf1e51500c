"""Limits by the order of events and a clock of the test's own; no real time passes."""

import asyncio
import heapq
import itertools
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affect.llm.limits import EndpointLimits, estimate_tokens
from tests.affect.llm.replies import question


class Time:
    """A clock that goes on only when everybody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = itertools.count()

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._numbers), future))
        await future

    async def run(self, *work: Awaitable[None]) -> None:
        all_work = asyncio.gather(*work)
        while not all_work.done():
            for _ in range(12):  # let everybody who can go on do so
                await asyncio.sleep(0)
            if self._sleepers:
                self.now, _, future = heapq.heappop(self._sleepers)
                future.set_result(None)
        await all_work


Starts = list[tuple[int, float]]


def run(
    make: Callable[[Time], EndpointLimits],
    estimates: list[float],
    seconds_each: float = 0.0,
    used: float | None = None,
) -> Starts:
    """When each of the requests, made in this order, began."""
    starts: Starts = []

    async def main() -> None:
        time = Time()
        limits = make(time)

        async def request(number: int, tokens: float) -> None:
            async with limits.slot(tokens) as use:
                starts.append((number, time.now))
                await time.sleep(seconds_each)
                if used is not None:
                    use.num_tokens = used

        await time.run(*(request(number, tokens) for number, tokens in enumerate(estimates)))

    asyncio.run(main())
    return starts


def limits(
    concurrent: int = 100, requests: float | None = None, tokens: float | None = None
) -> Callable[[Time], EndpointLimits]:
    return lambda time: EndpointLimits(
        concurrent, requests, tokens, clock=lambda: time.now, sleep=time.sleep
    )


def times(starts: Starts) -> list[float]:
    assert [number for number, _ in starts] == list(range(len(starts))), "first come, first served"
    return [start for _, start in starts]


def test_so_many_at_once() -> None:
    assert times(run(limits(concurrent=2), [1.0] * 5, seconds_each=3.0)) == [0, 0, 3, 3, 6]


def test_requests_per_minute() -> None:
    assert times(run(limits(requests=2), [1.0] * 5)) == [0, 0, 60, 60, 120]
    assert times(run(limits(requests=2.9), [1.0] * 3)) == [0, 0, 60]


def test_less_than_one_request_per_minute() -> None:
    assert times(run(limits(requests=0.5), [1.0] * 3)) == [0, 120, 240]


def test_tokens_per_minute() -> None:
    assert times(run(limits(tokens=100), [60.0, 40.0, 1.0, 99.0])) == [0, 0, 60, 60]
    assert times(run(limits(tokens=100), [60.0, 50.0, 50.0])) == [0, 60, 60]


def test_one_over_the_limit_goes_alone() -> None:
    assert times(run(limits(tokens=100), [10.0, 500.0, 10.0])) == [0, 60, 120]


def test_what_was_used_counts_once_it_is_known() -> None:
    starts = times(run(limits(concurrent=1, tokens=100), [90.0] * 3, seconds_each=1.0, used=5.0))
    assert starts == [0, 1, 2]


def test_a_failed_request_gives_its_turn_back() -> None:
    async def main() -> None:
        endpoint = EndpointLimits(1)
        for _ in range(3):
            with pytest.raises(KeyError):
                async with endpoint.slot(1.0):
                    raise KeyError

    asyncio.run(main())


@settings(max_examples=40)
@given(
    st.lists(st.floats(0, 200), min_size=1, max_size=6),
    st.integers(1, 4),
    st.none() | st.floats(1, 5),
    st.none() | st.floats(50, 150),
)
def test_no_minute_has_more(
    estimates: list[float], concurrent: int, requests: float | None, tokens: float | None
) -> None:
    starts = times(run(limits(concurrent, requests, tokens), estimates, seconds_each=7.0))
    for start in starts:
        inside = [number for number, time in enumerate(starts) if start <= time < start + 60]
        if requests is not None:
            assert len(inside) <= max(1, int(requests))
        if tokens is not None and len(inside) > 1:
            assert sum(estimates[number] for number in inside) <= tokens + 1e-6
        assert sum(start <= time < start + 7 for time in starts) <= concurrent


def test_estimates() -> None:
    assert estimate_tokens(question("x" * 40, max_tokens=50)) == 50 + 10
    assert estimate_tokens(question("x" * 40, pictures=3, max_tokens=50)) == 50 + 10 + 900
