"""The configuration section `lora`: train a small adapter instead of all weights.

Example (YAML): lora: {rank: 16, alpha: 32, dropout: 0.05}
"""

import re

from pydantic import Field, field_validator

from affect.adapter_config import DEFAULT_TARGETS
from affect.config import Section


class LoraSection(Section):
    """Low-rank adapters (LoRA) on chosen linear layers; left away, all weights but the tower train.

    Where `model.path` is an adapter, that one is trained on, and rank, alpha and target must be its
    own.
    """

    rank: int = Field(16, ge=1, description="Rank of each adapter's two matrices.")
    alpha: float = Field(
        32.0, gt=0, description="An adapter's output is scaled by alpha / rank before it is added."
    )
    dropout: float = Field(
        0.0,
        ge=0,
        lt=1,
        description="Share of an adapter's inputs dropped in training; 0 in GRPO, where log-probs "
        "of the same weights must agree.",
    )
    target: str = Field(
        DEFAULT_TARGETS,
        description="Regular expression that whole module names must match; by default every "
        "linear layer of language model and merger. It may not reach the vision tower.",
    )

    @field_validator("target")
    @classmethod
    def _is_a_pattern(cls, target: str) -> str:
        if target == "all-linear":
            raise ValueError(
                "all-linear reaches the vision tower, which is frozen; leave target away, or give "
                "a regular expression"
            )
        try:
            re.compile(target)
        except re.error as error:
            raise ValueError(f"{target} is no regular expression: {error}") from error
        return target
