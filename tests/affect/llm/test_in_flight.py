"""Work that is asked for twice at once is done once."""

import asyncio
from collections.abc import Awaitable

import pytest

from affect.llm.in_flight import InFlight


class Work:
    def __init__(self) -> None:
        self.num_started = 0
        self.num_cancelled = 0
        self.go = asyncio.Event()

    async def do(self) -> int:
        self.num_started += 1
        number = self.num_started
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.num_cancelled += 1
            raise
        return number


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def start(coroutine: Awaitable[int]) -> "asyncio.Future[int]":
    return asyncio.ensure_future(coroutine)


def test_once_for_all_who_wait_and_anew_afterwards() -> None:
    async def main() -> None:
        work, flights = Work(), InFlight[int]()
        waiting = [start(flights.run("a", work.do)) for _ in range(3)]
        other = start(flights.run("b", work.do))
        await turns()
        assert "a" in flights
        work.go.set()
        assert await asyncio.gather(*waiting) == [1, 1, 1]
        assert await other == 2
        assert "a" not in flights
        assert await flights.run("a", work.do) == 3

    asyncio.run(main())


def test_it_goes_on_while_anybody_waits() -> None:
    async def main() -> None:
        work, flights = Work(), InFlight[int]()
        first, second = (start(flights.run("a", work.do)) for _ in range(2))
        await turns()
        first.cancel()
        await turns()
        work.go.set()
        assert await second == 1
        assert first.cancelled()
        assert work.num_cancelled == 0

    asyncio.run(main())


def test_the_last_who_leaves_ends_it() -> None:
    async def main() -> None:
        work, flights = Work(), InFlight[int]()
        first, second = (start(flights.run("a", work.do)) for _ in range(2))
        await turns()
        first.cancel()
        second.cancel()
        await turns()
        assert work.num_cancelled == 1
        work.go.set()
        assert await flights.run("a", work.do) == 2

    asyncio.run(main())


def test_a_failure_reaches_all() -> None:
    async def main() -> None:
        flights = InFlight[int]()

        async def fail() -> int:
            await asyncio.sleep(0)
            raise KeyError("x")

        both = [start(flights.run("a", fail)) for _ in range(2)]
        results = await asyncio.gather(*both, return_exceptions=True)
        assert [type(result) for result in results] == [KeyError, KeyError]
        assert "a" not in flights

    asyncio.run(main())


def test_the_end_of_all() -> None:
    async def main() -> None:
        work, flights = Work(), InFlight[int]()
        waiting = start(flights.run("a", work.do))
        await turns()
        await flights.cancel_all()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert work.num_cancelled == 1

    asyncio.run(main())
