"""What replies cost, and the end of asking when the money is spent.

    >>> section = ModelSection(model="m", price_per_million_prompt_tokens=2.0,
    ...                        price_per_million_completion_tokens=10.0)
    >>> cost_of(section, prompt_tokens=1000, completion_tokens=100)
    0.003
    >>> cost_of(section, prompt_tokens=1000, completion_tokens=None) is None
    True

The limit is on what has been paid: requests that are in flight when it is reached are still paid
for and kept, so a run can go over it by what `max_concurrent` requests cost.
"""

import math
from collections.abc import Mapping

from affect.llm.chat import BudgetSpentError
from affect.llm.model_section import ModelSection


def cost_of(
    section: ModelSection, prompt_tokens: int | None, completion_tokens: int | None
) -> float | None:
    """In the prices' currency; None where a price or a count is not known."""
    price_in = section.price_per_million_prompt_tokens
    price_out = section.price_per_million_completion_tokens
    if None in (price_in, price_out, prompt_tokens, completion_tokens):
        return None
    assert price_in is not None and price_out is not None
    assert prompt_tokens is not None and completion_tokens is not None
    return (price_in * prompt_tokens + price_out * completion_tokens) / 1_000_000


class Budget:
    """max_cost: None for no limit. spent: by earlier runs, too; without limit only a sum of what
    is known. name: what the user calls the limit."""

    def __init__(
        self, max_cost: float | None, spent: float = 0.0, name: str = "limits.max_cost"
    ) -> None:
        assert math.isfinite(spent) and spent >= 0, spent
        self._max_cost = max_cost
        self._name = name
        self.spent = spent
        self._unknown: str | None = None

    def require_prices(self, models: Mapping[str, ModelSection]) -> None:
        """Raises ValueError for a limit that could not be kept."""
        if self._max_cost is None:
            return
        for name, section in models.items():
            if None in (
                section.price_per_million_prompt_tokens,
                section.price_per_million_completion_tokens,
            ):
                raise ValueError(
                    f"models.{name}: {self._name} is {self._max_cost:g}, but the price of this "
                    "model is not known; give price_per_million_prompt_tokens and "
                    "price_per_million_completion_tokens (0 for a server of your own)"
                )

    def check(self) -> None:
        """Raises BudgetSpentError once nothing more may be asked."""
        if self._max_cost is None:
            return
        if self._unknown is not None:
            raise BudgetSpentError(
                f"{self._unknown} gave a reply without token counts, so what it cost is not known "
                f"and {self._name} ({self._max_cost:g}) cannot be kept"
            )
        if self.spent >= self._max_cost:
            raise BudgetSpentError(
                f"{self.spent:.4f} of {self._name} ({self._max_cost:g}) is spent"
            )

    def add(self, model: str, cost: float | None) -> None:
        """One bought reply of the model's."""
        if cost is None:
            self._unknown = model
        else:
            self.spent += cost
