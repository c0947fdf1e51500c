"""Cost and the end of spending."""

import pytest

from affect.llm.budget import Budget, cost_of
from affect.llm.chat import BudgetSpentError
from tests.affect.llm.replies import section

PRICED = section(price_per_million_prompt_tokens=2.0, price_per_million_completion_tokens=10.0)
FREE = section(price_per_million_prompt_tokens=0.0, price_per_million_completion_tokens=0.0)


def test_cost() -> None:
    assert cost_of(PRICED, 500_000, 100_000) == 2.0
    assert cost_of(PRICED, 0, 0) == 0.0
    assert cost_of(FREE, 500_000, 100_000) == 0.0


@pytest.mark.parametrize("counts", [(None, 5), (5, None), (None, None)])
def test_what_is_not_counted_has_no_cost(counts: tuple[int | None, int | None]) -> None:
    assert cost_of(PRICED, *counts) is None


def test_without_prices_there_is_no_cost() -> None:
    assert cost_of(section(), 5, 5) is None
    assert cost_of(section(price_per_million_prompt_tokens=2.0), 5, 5) is None


def test_it_ends_once_the_limit_is_reached() -> None:
    budget = Budget(1.0, spent=0.25)
    budget.check()
    budget.add("small", 0.5)
    budget.check()
    budget.add("small", 0.25)
    with pytest.raises(BudgetSpentError, match=r"1\.0000 of limits\.max_cost \(1\) is spent"):
        budget.check()
    assert budget.spent == 1.0


def test_earlier_runs_count() -> None:
    with pytest.raises(BudgetSpentError):
        Budget(1.0, spent=1.0).check()


def test_a_limit_that_cannot_be_kept_ends_it() -> None:
    budget = Budget(1.0)
    budget.add("small", None)
    with pytest.raises(BudgetSpentError, match="small gave a reply without token counts"):
        budget.check()


def test_without_limit_nothing_ends() -> None:
    budget = Budget(None)
    budget.add("small", None)
    budget.add("small", 1e9)
    budget.check()
    assert budget.spent == 1e9


def test_a_limit_needs_prices() -> None:
    Budget(1.0).require_prices({"priced": PRICED, "free": FREE})
    Budget(None).require_prices({"small": section()})
    with pytest.raises(ValueError, match=r"models\.small: limits\.max_cost is 1, but the price"):
        Budget(1.0).require_prices({"priced": PRICED, "small": section()})
