"""What an engine outside the training process must do to sample completions for GRPO.

Without one, `train.grpo_trainer` samples with the training model (`affect.model.generation`). An
engine gets the prompt's ids and the frames that the trainer has, and must make the same ids, grid
and positions of them; `train.vllm_rollouts` is one.

Example:
    engine.sync(model, accelerator)
    rollouts = engine.sample([GroupRequest(prompt, clip, (1, 2))], settings, accelerator)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from affect.model.generation import Completion
from affect.model.inputs import PromptInputs
from affect.video import SampledVideo


@dataclass(frozen=True)
class GroupRequest:
    """One prompt, its clip, and a seed for each completion wanted."""

    prompt: PromptInputs
    clip: SampledVideo
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class SamplingSettings:
    """As `affect.model.generation.generate` takes them."""

    max_new_tokens: int
    temperature: float
    top_k: int
    top_p: float


@dataclass(frozen=True)
class Rollouts:
    """Completions per request, in order; None for a request that the engine has no room for.

    Log-probs are those of the distribution that was sampled from.
    """

    groups: list[list[Completion] | None]


class RolloutEngine(Protocol):
    """Every process calls `sync` and `sample` equally often, so both may wait for the others."""

    def sync(self, model: Any, accelerator: Any) -> None:
        """Give the engine the model's weights; afterwards nothing of older ones is left in it."""

    def sample(
        self, requests: Sequence[GroupRequest], settings: SamplingSettings, accelerator: Any
    ) -> Rollouts:
        """Completions of this process's requests."""

    def close(self) -> None:
        """End what was started for the engine."""


def together(accelerator: Any, work: Callable[[], Any]) -> Any:
    """The result of `work`, once every process is through with its own.

    If it fails with a ValueError or OSError on one process, all fail, instead of the others waiting
    for it in the next collective call until that times out.

    Raises:
        ValueError: this process's, or one that says that another process failed.
    """
    error: ValueError | OSError | None = None
    result = None
    try:
        result = work()
    except (ValueError, OSError) as caught:
        error = caught
    failed = torch.tensor(int(error is not None), device=accelerator.device)
    num_failed = int(accelerator.reduce(failed, "sum"))
    if isinstance(error, ValueError):
        raise error
    if error is not None:
        raise ValueError(f"rollout engine: {error}") from error
    if num_failed:
        raise ValueError(
            f"rollouts failed on {num_failed} of {accelerator.num_processes} processes; each says "
            "why on its own stderr"
        )
    return result
