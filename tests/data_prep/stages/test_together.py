"""Asking at once: all are waited for, and which failure is told does not hang on who was first."""

import asyncio

import pytest

from affect.llm.chat import BudgetSpentError, ModelFailure
from data_prep.stages.together import together


def test_results_in_their_order() -> None:
    async def go() -> list[str]:
        first_may_end = asyncio.Event()

        async def slow() -> str:
            await first_may_end.wait()
            return "slow"

        async def fast() -> str:
            first_may_end.set()
            return "fast"

        return await together([slow(), fast()])

    assert asyncio.run(go()) == ["slow", "fast"]


@pytest.mark.parametrize("later", ["first", "second"])
def test_the_first_in_order_is_told_and_the_others_end(later: str) -> None:
    ended: list[str] = []

    async def fail(name: str, gate: asyncio.Event) -> None:
        if name == later:
            await gate.wait()
        gate.set()
        raise ModelFailure("timeout", name, "no reply")

    async def answer(gate: asyncio.Event) -> None:
        await gate.wait()
        await asyncio.sleep(0)
        ended.append("answered")

    async def go() -> None:
        gate = asyncio.Event()
        await together([answer(gate), fail("first", gate), fail("second", gate)])

    with pytest.raises(ModelFailure) as failure:
        asyncio.run(go())
    assert failure.value.model == "first"
    assert ended == ["answered"]


def test_a_spent_budget_comes_first() -> None:
    async def fail(error: Exception) -> None:
        raise error

    async def go() -> None:
        await together([fail(ModelFailure("empty", "a", "")), fail(BudgetSpentError("spent"))])

    with pytest.raises(BudgetSpentError):
        asyncio.run(go())


def test_cancelled_it_cancels_all_and_waits_for_them() -> None:
    ended: list[int] = []

    async def wait(number: int, started: asyncio.Event) -> None:
        try:
            started.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(number)

    async def go() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(together([wait(1, started), wait(2, started)]))
        await started.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(ended) == [1, 2]

    asyncio.run(go())


def test_nothing_to_ask() -> None:
    assert asyncio.run(together([])) == []
