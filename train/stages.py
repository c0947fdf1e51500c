"""What this process is doing now, by name, so that a run that stands still can say where.

Whoever does a part of the work marks it; the marks nest, and each begin and end counts as progress.
`train.stalls` watches them. Marks of other threads than the main one are not taken.

Example:
    with stage("evaluation"):
        with stage("decode", rows=["train/00012"]):
            current().names      # ("evaluation", "decode")
            current().rows       # ("train/00012",)
"""

import functools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class StageNow:
    """names: from the outermost to the innermost stage. rows: ids of the rows that were read last.
    step: optimizer step that is being made, from 1. since_seconds: when a stage last began or
    ended, on the monotonic clock.
    """

    names: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    step: int = 0
    since_seconds: float = 0.0

    def __str__(self) -> str:
        """`rewards (in forward and backward), step 12`."""
        innermost = self.names[-1] if self.names else "no marked stage"
        around = f" (in {', '.join(reversed(self.names[:-1]))})" if len(self.names) > 1 else ""
        return f"{innermost}{around}, step {self.step}"


# Replaced as a whole, so that the watching thread always reads marks that belong together.
_now = StageNow()


def current() -> StageNow:
    """The marks of this process."""
    return _now


def _mark(**changes: Any) -> None:
    global _now
    if threading.current_thread() is threading.main_thread():
        _now = replace(_now, since_seconds=time.monotonic(), **changes)


def begin(name: str, rows: Sequence[str] = ()) -> None:
    """Begin a stage within the running one; for events that no `with` can hold."""
    _mark(names=(*_now.names, name), rows=tuple(rows) or _now.rows)


def end(name: str) -> None:
    """End the stage, and all that were begun in it; nothing where it is not running."""
    if name in _now.names:
        last = len(_now.names) - 1 - _now.names[::-1].index(name)
        _mark(names=_now.names[:last])


@contextmanager
def stage(name: str, rows: Sequence[str] = ()) -> Iterator[None]:
    """Mark what is done inside; `rows` are the ids it works on, if it knows them."""
    before = _now.names
    begin(name, rows)
    try:
        yield
    finally:
        _mark(names=before)


def in_stage(name: str) -> Callable[[F], F]:
    """Decorator: all calls of the function are this stage."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def marked(*args: Any, **kwargs: Any) -> Any:
            with stage(name):
                return function(*args, **kwargs)

        return marked  # type: ignore[return-value]

    return decorate


def note_step(step: int) -> None:
    """Tell which optimizer step is being made, from 1."""
    _mark(step=step)


def note_rows(rows: Sequence[str]) -> None:
    """Tell which rows were read."""
    _mark(rows=tuple(dict.fromkeys(rows)))


def note_progress() -> None:
    """Something moved within the running stage."""
    _mark()
