"""Configuration of GRPO: what TRL's own config lacks.

Example: `load_config(GrpoRun, Path("configs/grpo/demo.yaml"), {"reward.preset": "paper"})`
"""

from typing import Literal

from pydantic import Field, model_validator

from affect.config import Section
from train.sections import TrainRun
from train.vllm_config import VllmSection

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
    """What samples completions, and what happens to them before the loss."""

    engine: Literal["transformers", "vllm_colocate", "vllm_server"] = Field(
        "transformers",
        description=(
            "What samples: transformers (the training model itself), vllm_colocate (a vLLM engine "
            "beside each training process, started with the run) or vllm_server (one that "
            "launch/vllm_server.sh started)."
        ),
    )
    vllm: VllmSection = VllmSection()
    logp_alarm: float | None = Field(
        0.1,
        gt=0,
        description=(
            "Mean absolute difference between the log-probs of sampling and of training above "
            "which a warning is given; null: never."
        ),
    )
    alarm_every_steps: int = Field(
        10, ge=1, description="At most one such warning in so many steps."
    )
    stop_on_alarm: bool = Field(False, description="End the run instead of warning.")
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


class LogProbSection(Section):
    """How the log-probs of completions are computed: old, reference and policy."""

    mode: Literal["shared", "plain"] = Field(
        "shared",
        description=(
            "shared runs a prompt once for all completions of its group; plain runs it once for "
            "each of them, with the same results, for comparison."
        ),
    )
    attention: Literal["sdpa", "flash", "flex"] = Field(
        "sdpa",
        description=(
            "How shared passes attend: sdpa runs everywhere; flash (the package flash-attn, 16 "
            "bits) and flex (compiled by torch) need a GPU."
        ),
    )


class GrpoRun(TrainRun):
    """One GRPO run. Sampling and loss settings (num_generations, temperature, ...) are TRL's."""

    reward: RewardSection = RewardSection()
    rollout: RolloutSection = RolloutSection()
    log_probs: LogProbSection = LogProbSection()

    @model_validator(mode="after")
    def _one_truth_about_truncation(self) -> "GrpoRun":
        for key, instead in (
            ("mask_truncated_completions", "rollout.truncated"),
            ("reward_weights", "reward.weights"),
            ("use_vllm", "rollout.engine"),
            ("max_prompt_length", "data.max_prompt_tokens"),
        ):
            if key in self.trainer:
                raise ValueError(f"trainer.{key} is not read here; use {instead}")
        return self

    @model_validator(mode="after")
    def _rollouts_by_vllm_are_ours(self) -> "GrpoRun":
        if self.trainer.get("vllm_importance_sampling_correction"):
            if self.trainer.get("top_k") or self.trainer.get("top_p", 1.0) != 1.0:
                raise ValueError(
                    "trainer.vllm_importance_sampling_correction excludes top_k > 0 and top_p < 1: "
                    "the engine's log-probs are renormalised over the nucleus, the trainer's are "
                    "not, so their ratio is not that of two policies; leave it out"
                )
            raise ValueError(
                "trainer.vllm_importance_sampling_correction is not supported: it belongs to TRL's "
                "own vLLM rollouts; leave it out, and watch sampling/logp_difference_mean instead"
            )
        for key in self.trainer:
            if key.startswith("vllm_") and key != "vllm_importance_sampling_correction":
                raise ValueError(f"trainer.{key} is not read here; see rollout.vllm")
        temperature = self.trainer.get("temperature", 1.0)
        if self.rollout.engine != "transformers" and not 0 <= temperature <= 2:
            raise ValueError(f"trainer.temperature is {temperature}; vLLM samples at 0 to 2")
        if (self.rollout.engine == "vllm_server") != (self.rollout.vllm.server_url is not None):
            raise ValueError(
                "rollout.engine vllm_server and rollout.vllm.server_url belong together: set both "
                "or neither"
            )
        return self

    @model_validator(mode="after")
    def _no_dropout(self) -> "GrpoRun":
        if self.lora is not None and self.lora.dropout:
            raise ValueError(
                f"lora.dropout is {self.lora.dropout}; it must be 0 in GRPO, where dropout would "
                "tell old, reference and policy log-probs of the same weights apart"
            )
        return self
