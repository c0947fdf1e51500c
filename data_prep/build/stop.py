"""Stopping a run cleanly: nothing new begins, what is under way ends or is given up, all is kept.

    stop = Stop()
    with stop.on_signals():         # Ctrl-C and SIGTERM; the second one ends the process at once
        ...
    stop.ending                     # None, "interrupted", "budget_spent" or "gave_up"

Replies that models are writing at an interrupt are waited for, but not long.
"""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

Ending = Literal["finished", "budget_spent", "gave_up", "interrupted"]

GRACE_SECONDS = 10.0
"""For requests that are in flight at an interrupt: they are paid for."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """Belongs to one event loop. reason: for people, of a spent budget or of giving up."""

    def __init__(self, grace_seconds: float = GRACE_SECONDS) -> None:
        self.ending: Ending | None = None
        self.reason = ""
        self._grace_seconds = grace_seconds
        self._calls: list[Callable[[], object]] = []
        self._workers: Sequence[asyncio.Task[Any]] = ()

    def is_set(self) -> bool:
        return self.ending is not None

    def spend(self, reason: str) -> None:
        """The budget is spent; what is in flight ends by itself."""
        if self.ending is None:
            self.ending, self.reason = "budget_spent", reason

    def give_up(self, reason: str) -> None:
        """Going on would only fail; what is in flight ends by itself."""
        if self.ending is None:
            self.ending, self.reason = "gave_up", reason

    def interrupt(self) -> None:
        """Somebody wants the run to end now."""
        if self.ending == "interrupted":
            return
        self.ending = "interrupted"
        for call in self._calls:
            call()
        asyncio.get_running_loop().call_later(self._grace_seconds, self._cancel)

    def on_interrupt(self, call: Callable[[], object]) -> None:
        """Also to be done at an interrupt."""
        self._calls.append(call)

    def ends(self, workers: Sequence[asyncio.Task[Any]]) -> None:
        """Who is cancelled when the grace is over."""
        self._workers = workers

    @contextlib.contextmanager
    def on_signals(self, told: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Interrupt at the first Ctrl-C or SIGTERM, and tell; the second has its usual effect."""
        loop = asyncio.get_running_loop()

        def first() -> None:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)
            self.interrupt()
            told()

        for number in _SIGNALS:
            loop.add_signal_handler(number, first)
        try:
            yield
        finally:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)

    def _cancel(self) -> None:
        for worker in self._workers:
            worker.cancel()
