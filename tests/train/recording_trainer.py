"""The GRPO trainer with everything that passes through it written down; it changes nothing.

Example:
    trainer.train()
    trainer.records.micro_batches[0].loss, trainer.records.samplings[0].output["advantages"]
"""

import copy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from transformers import TrainerCallback

from affect.model.generation import Completion
from train.grpo_trainer import VideoGrpoTrainer


def gradients(model: Any) -> dict[str, Tensor]:
    """A copy of every trainable weight's gradient, zeros where there is none."""
    return {
        name: torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
        for name, weight in model.named_parameters()
        if weight.requires_grad
    }


@dataclass
class Sampling:
    """One generation batch: its rows in order, and what was made of them."""

    rows: list[dict[str, Any]]
    completions: list[Completion]
    dropped: list[bool]
    output: dict[str, Any]
    weights: dict[str, Tensor]


@dataclass
class MicroBatch:
    """One call of the loss; `row_index` are places in the generation batch."""

    inputs: dict[str, Any]
    loss: float
    row_index: list[int]
    weights: dict[str, Tensor]


@dataclass
class LogProbPass:
    """One pass over completions: "old", "reference" or "policy"."""

    name: str
    log_probs: Tensor


@dataclass
class Records:
    """What a `RecordingTrainer` saw, in order."""

    samplings: list[Sampling] = field(default_factory=list)
    micro_batches: list[MicroBatch] = field(default_factory=list)
    passes: list[LogProbPass] = field(default_factory=list)
    gradients: list[dict[str, Tensor]] = field(default_factory=list)
    logs: list[dict[str, Any]] = field(default_factory=list)


class RecordingTrainer(VideoGrpoTrainer):
    """The trainer, keeping copies of what went through it; it changes nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.records = Records()
        super().__init__(*args, **kwargs)
        self.add_callback(_Recorder(self.records))

    def weights(self) -> dict[str, Tensor]:
        """A copy of the policy's weights now."""
        return copy.deepcopy(self.model.state_dict())

    def policy_log_probs(self) -> Tensor:
        """(B*G, C) of the first sampling's micro-batches, put back in the order of its rows."""
        policy = [one.log_probs for one in self.records.passes if one.name == "policy"]
        order = [index for batch in self.records.micro_batches for index in batch.row_index]
        stacked = torch.cat(policy)
        result = torch.full_like(stacked, torch.nan)
        result[order] = stacked
        return result

    def _generate_and_score_completions(self, inputs: Any) -> Any:
        weights = self.weights()
        output = super()._generate_and_score_completions(inputs)
        # Survives TRL's shuffle and split, and tells which row a micro-batch's line came from.
        output["row_index"] = torch.arange(len(inputs))
        self.records.samplings.append(
            Sampling(self._rows, self._sampled, self._dropped, dict(output), weights)
        )
        return output

    def _get_per_token_logps_and_entropies(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        result = super()._get_per_token_logps_and_entropies(model, *args, **kwargs)
        name = "policy" if torch.is_grad_enabled() else "old"
        if model is self.ref_model:
            name = "reference"
        self.records.passes.append(LogProbPass(name, result[0].detach().clone()))
        return result

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        weights = self.weights()
        loss = super()._compute_loss(model, inputs)
        self.records.micro_batches.append(
            MicroBatch(dict(inputs), float(loss.detach()), inputs["row_index"].tolist(), weights)
        )
        return loss


class _Recorder(TrainerCallback):  # type: ignore[misc]
    def __init__(self, records: Records) -> None:
        self.records = records

    def on_pre_optimizer_step(self, *args: Any, model: Any, **kwargs: Any) -> None:
        self.records.gradients.append(gradients(model))

    def on_log(self, *args: Any, logs: dict[str, Any], **kwargs: Any) -> None:
        self.records.logs.append(dict(logs))
