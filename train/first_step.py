"""After the first step that could move them: every trainable weight has moved.

A weight that the optimizer was never given, a learning rate that the weights' precision swallows or
an engine that steps on copies make a run that looks well and learns nothing. What may stand still
is told apart: a warm-up's first rate is 0, GRPO's first gradients are exactly 0 where all rewards
of a group are equal, and an early rate may be smaller than a float can show. Such weights are
looked at again after the next step, until a few steps at the highest rate are over.

Works under DDP and ZeRO 1 to 3, where it looks at the optimizer's float32 weights.

Example: trainer.add_callback(FirstStepChange(model))  # before training, after the freezing
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import TrainerCallback

# A gradient below this, clipped, may drown in the epsilon by which Adam divides.
SMALLEST_GRADIENT = 1e-5
# fp16 begins with losses, and so gradients, that are this much larger.
FP16_SCALE = 2.0**16
# An update counts as visible from so many times half of the space between two floats.
VISIBLE_UPDATE = 8.0
# So many steps with gradients at the highest rate are looked at. An adapter's A has its first
# gradient in the second step, since its B starts at 0.
NUM_STEPS = 3


@dataclass
class _Watched:
    """A trainable weight that has not been seen to move; gradient: the largest of the step."""

    name: str
    parameter: nn.Parameter
    gradient: float = 0.0
    before: tuple[float, float, float] | None = None  # sums of the weight before the step
    size: float = 0.0


class FirstStepChange(TrainerCallback):  # type: ignore[misc]
    """Stops the run if a weight stands still after a step that must have moved it."""

    def __init__(self, model: nn.Module) -> None:
        self.still = [
            _Watched(name, parameter)
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
        ]
        self._hooks = [one.parameter.register_hook(_noting(one)) for one in self.still]
        self._num_weights = len(self.still)
        self._rate = 0.0
        self._is_past_highest = False
        self._num_steps_left = NUM_STEPS

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Remember the weights: DeepSpeed steps within the backward pass, before other events."""
        if not self.still:
            return
        rate = max(float(group["lr"]) for group in kwargs["optimizer"].param_groups)
        self._is_past_highest = rate < self._rate
        self._rate = rate
        for one in self.still:
            one.gradient = 0.0
            weight = _weight(one.parameter)
            one.before = None if weight is None else _fingerprint(weight)
            one.size = 0.0 if weight is None else _typical_size(weight)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Compare, and let go of what has moved.

        Raises:
            RuntimeError: names weights that stood still, and why that may be; or most of them
                did at the highest rate, which is then too small for their precision.
        """
        if not self.still:
            return
        gradients = _largest_of_all_processes([one.gradient for one in self.still], args.device)
        weights = [_weight(one.parameter) for one in self.still]
        stayed, blocked = [], []
        for one, gradient, weight in zip(self.still, gradients, weights, strict=True):
            if weight is not None and _fingerprint(weight) != one.before:
                continue
            stayed.append(one)
            dtype = torch.float32 if weight is None else weight.dtype
            if self._must_have_moved(args, one, gradient, dtype):
                blocked.append(one.name)
        self.still = stayed
        if blocked:
            self._stop_listening()
            more = f" and {len(blocked) - 5} more" if len(blocked) > 5 else ""
            raise RuntimeError(
                f"step {state.global_step} had gradients and a learning rate of {self._rate:g}, "
                f"but these trainable weights did not change: {', '.join(blocked[:5])}{more}; "
                "the optimizer was not given them, or does not step"
            )
        if any(gradients) and self._is_at_highest(args):
            self._num_steps_left -= 1
        if not self._num_steps_left:
            num_still = len(self.still)
            self._stop_listening()
            if num_still > self._num_weights / 2:
                raise RuntimeError(
                    f"{num_still} of {self._num_weights} trainable weights did not change in "
                    f"{NUM_STEPS} steps with gradients at a learning rate of {self._rate:g}: it is "
                    "too small to show in their precision; set model.dtype: float32, or raise "
                    "trainer.learning_rate"
                )
        if not self.still:
            self._stop_listening()

    def _is_at_highest(self, args: Any) -> bool:
        return self._is_past_highest or self._rate >= float(args.learning_rate)

    def _must_have_moved(
        self, args: Any, one: _Watched, gradient: float, dtype: torch.dtype
    ) -> bool:
        scale = FP16_SCALE if args.fp16 else 1.0
        if not SMALLEST_GRADIENT * scale <= gradient < math.inf:
            return False  # none, or one that overflowed, for which fp16 skips the step
        # Adam and its kin move by about the rate, whatever the gradient's size.
        update = self._rate * (gradient if "sgd" in str(args.optim).lower() else 1.0)
        return update > VISIBLE_UPDATE * torch.finfo(dtype).eps / 2 * one.size

    def _stop_listening(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        self.still = []


def _noting(one: _Watched) -> Any:
    def note(gradient: Tensor) -> None:
        largest = float(gradient.detach().abs().max())
        one.gradient = max(one.gradient, largest if math.isfinite(largest) else math.inf)

    return note


def _weight(parameter: nn.Parameter) -> Tensor | None:
    """What the optimizer steps on: the parameter, or ZeRO's float32 copy, put together.

    None where ZeRO has no copy of it, so that it can't move.
    """
    if not hasattr(parameter, "ds_id") and not hasattr(parameter, "_hp_mapping"):
        return parameter.detach()
    from deepspeed.utils import safe_get_full_fp32_param

    try:
        whole: Tensor | None = safe_get_full_fp32_param(parameter)
    except KeyError:  # ZeRO-3's way to say so, on every process
        return None
    return whole


def _fingerprint(weight: Tensor) -> tuple[float, float, float]:
    """Three sums that don't all stay when weights move: plain, by place, and of squares."""
    flat = weight.reshape(-1)
    halves = flat[: len(flat) // 2]
    return (
        float(flat.sum(dtype=torch.float64)),
        float(halves.sum(dtype=torch.float64)),
        float(torch.linalg.vector_norm(flat, dtype=torch.float64)),
    )


def _typical_size(weight: Tensor) -> float:
    """The median of the weights' sizes, from a sample of evenly spaced ones."""
    flat = weight.reshape(-1)
    return float(flat[:: max(1, len(flat) // 4096)].abs().float().median())


def _largest_of_all_processes(values: list[float], device: Any) -> list[float]:
    """Each value's maximum over the processes, so that all of them judge alike."""
    together = torch.tensor(values, device=device)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.all_reduce(together, torch.distributed.ReduceOp.MAX)
    largest: list[float] = together.tolist()
    return largest
