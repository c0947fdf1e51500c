"""The same work asked for twice at once is done once.

    in_flight = InFlight[Reply]()
    reply = await in_flight.run(key, lambda: buy(question))

Who comes second waits for the first one's result. It goes on while anybody waits for it, whoever
was first, and is cancelled with the last who waits.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass
class _Flight(Generic[T]):
    task: asyncio.Task[T]
    num_waiting: int = 0


class InFlight(Generic[T]):
    """Within one event loop."""

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[T]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._flights

    async def run(self, key: str, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Raises what the work raises, for all who wait."""
        flight = self._flights.get(key)
        if flight is None:
            flight = _Flight(asyncio.create_task(start()))
            self._flights[key] = flight
            flight.task.add_done_callback(lambda task: self._land(key, task))
        flight.num_waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.num_waiting -= 1
            if not flight.num_waiting and not flight.task.done():
                self._land(key, flight.task)  # nobody may join what is being cancelled
                flight.task.cancel()

    async def cancel_all(self) -> None:
        flights, self._flights = list(self._flights.values()), {}
        for flight in flights:
            flight.task.cancel()
        await asyncio.gather(*(flight.task for flight in flights), return_exceptions=True)

    def _land(self, key: str, task: asyncio.Task[T]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]
        if task.done() and not task.cancelled():
            task.exception()  # looked at, so that nobody is told it never was
