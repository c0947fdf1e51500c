"""After the first step: every trainable part has a gradient, and no frozen one has.

A frozen embedding under checkpointing, a wrapped tower or a detached merger make a run that looks
well and learns nothing; this stops it at step one. Works under DDP and ZeRO, since it listens where
gradients are accumulated.

Example: trainer.add_callback(FirstStepGradients(model))  # before training, after the freezing
"""

import re
from typing import Any

from torch import Tensor, nn
from transformers import TrainerCallback


def parameter_group(name: str) -> str:
    """The part of the model a parameter belongs to: "merger", "layers.3", "embed_tokens", ...

    Of an adapter each weight is a part of its own: "layers.3.self_attn.q_proj.lora_A".

    Raises:
        ValueError: the name belongs to none of Qwen2.5-VL's parts.
    """
    adapter = re.search(r"((?:visual\.merger|language_model\.layers\.\d+)\..*\.lora_[AB])\.", name)
    if adapter is not None:
        return adapter.group(1).removeprefix("language_model.").removeprefix("visual.")
    match = re.search(
        r"(visual\.merger|visual|language_model\.layers\.\d+|embed_tokens|language_model\.norm|lm_head)",
        name,
    )
    if match is None:
        raise ValueError(f"no part of Qwen2.5-VL is called {name}")
    return match.group(1).removeprefix("language_model.").removeprefix("visual.")


class FirstStepGradients(TrainerCallback):  # type: ignore[misc]
    """Stops the run if, after its first step, gradients are not exactly where they belong."""

    def __init__(self, model: nn.Module) -> None:
        self.groups: dict[str, set[str]] = {}
        self.frozen: list[tuple[str, nn.Parameter]] = []
        self.touched: list[str] = []
        self.reached: set[str] = set()
        self._hooks: list[Any] = []
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                self.groups.setdefault(parameter_group(name), set()).add(name)
                self._hooks.append(parameter.register_hook(self._note(name)))
            else:
                self.frozen.append((name, parameter))

    def _note(self, name: str) -> Any:
        def note(gradient: Tensor) -> None:
            self.reached.add(name)

        return note

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Look at the frozen weights while gradients are there; at the step's end none are."""
        if self._hooks:
            self.touched = [
                name
                for name, parameter in self.frozen
                # Thawed counts too: sharded gradients are never seen on the parameter.
                if parameter.grad is not None or parameter.requires_grad
            ]

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Check once, then stop listening.

        Raises:
            RuntimeError: names the parts without a gradient, or the frozen weights with one.
        """
        if not self._hooks:
            return
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
        silent = sorted(group for group, names in self.groups.items() if not names & self.reached)
        if silent:
            raise RuntimeError(
                f"after the first step these trainable parts have no gradient: {', '.join(silent)}"
            )
        if self.touched:
            raise RuntimeError(f"frozen weights received a gradient: {', '.join(self.touched[:5])}")
