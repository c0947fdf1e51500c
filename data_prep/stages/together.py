"""Asking several things at once, so that nothing that was paid for is thrown away.

    first, second = await together([ask("judge_1"), ask("judge_2")])

When one of them fails the others are still waited for: their replies are then in the cache and
need not be bought again. Which failure is told does not depend on which came first.
"""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from affect.llm.chat import ModelFailure

T = TypeVar("T")


async def together(coroutines: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What each returns, in their order.

    Raises once all have ended: rather what is no ModelFailure (a spent budget, a run that is being
    stopped: they concern more than this question), then the first in their order. Cancelled, it
    cancels them all and ends when they have.
    """
    outcomes = await asyncio.gather(*coroutines, return_exceptions=True)
    failures = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    failures.sort(key=lambda failure: isinstance(failure, ModelFailure))
    if failures:
        raise failures[0]
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
