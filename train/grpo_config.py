"""Configuration of GRPO: what TRL's own config lacks.

Example: `load_config(GrpoRun, Path("configs/grpo/demo.yaml"), {"reward.preset": "paper"})`
"""

from typing import Literal

from pydantic import Field, model_validator

from affect.config import Section
from train.sections import TrainRun

TERMS = ("struct", "count", "seg", "emo", "reason")
TermName = Literal["struct", "count", "seg", "emo", "reason"]


class RewardSection(Section):
    """Which reward a completion earns."""

    preset: Literal["paper", "hardened"] = Field(
        "hardened", description="Equations 4 to 9 as printed, or the same terms made hard to game."
    )
    weights: dict[TermName, float] | None = Field(
        None, description="Weights that replace the preset's, by term (struct, count, ...)."
    )
    remove: tuple[TermName, ...] = Field((), description="Terms to leave out, for ablations.")


class RolloutSection(Section):
    """What happens to completions between sampling and the loss."""

    truncated: Literal["keep", "drop", "trl"] = Field(
        "keep",
        description=(
            "Completions that met the length limit: keep (score and train on them, as the paper's "
            "eq. 4 needs), drop (no reward, out of numerator and denominator), or trl (TRL's "
            "mask_truncated_completions: scored, masked, but counted in the denominator)."
        ),
    )
    max_decoded_completions: int = Field(
        8, ge=0, description="Rows of the readable table of completions written at each step."
    )


class GrpoRun(TrainRun):
    """One GRPO run. Sampling and loss settings (num_generations, temperature, ...) are TRL's."""

    reward: RewardSection = RewardSection()
    rollout: RolloutSection = RolloutSection()

    @model_validator(mode="after")
    def _one_truth_about_truncation(self) -> "GrpoRun":
        for key, instead in (
            ("mask_truncated_completions", "rollout.truncated"),
            ("reward_weights", "reward.weights"),
            ("use_vllm", "nothing: rollouts run in transformers"),
            ("max_prompt_length", "data.max_prompt_tokens"),
        ):
            if key in self.trainer:
                raise ValueError(f"trainer.{key} is not read here; use {instead}")
        return self

    @model_validator(mode="after")
    def _no_dropout(self) -> "GrpoRun":
        if self.lora is not None and self.lora.dropout:
            raise ValueError(
                f"lora.dropout is {self.lora.dropout}; it must be 0 in GRPO, where dropout would "
                "tell old, reference and policy log-probs of the same weights apart"
            )
        return self
