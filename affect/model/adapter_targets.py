"""Which modules an adapter sits on: linear layers of language model and merger, nothing else.

Example: `target_modules(model, r".*self_attn\\.[qv]_proj")` names the query and value layers.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from peft.tuners.lora import LoraLayer
from torch import nn

from affect.adapter_config import DEFAULT_TARGETS
from affect.model.policy import causal_model


def target_modules(model: Any, targets: str | Sequence[str] = DEFAULT_TARGETS) -> list[str]:
    """Names of the modules that `targets` chooses: a regular expression for whole names, or a list
    of name endings (PEFT's two forms).

    Raises:
        ValueError: not a regular expression, no module, or modules that must not be adapted (the
            tower, embeddings, the output layer, anything but linear layers); names them.
    """
    shown = targets if isinstance(targets, str) else ", ".join(targets)
    if targets == "all-linear":
        raise ValueError(
            "the adapter's target all-linear reaches the vision tower, which is frozen; give a "
            "regular expression, or leave it away for language model and merger"
        )
    try:
        pattern = re.compile(targets) if isinstance(targets, str) else None
    except re.error as error:
        raise ValueError(
            f"the adapter's target {shown} is no regular expression: {error}"
        ) from error
    inner = causal_model(model)
    chosen = {
        name: module
        for name, module in _plain_modules(inner)
        if (
            pattern.fullmatch(name)
            if pattern
            else any(name == end or name.endswith(f".{end}") for end in targets)
        )
    }
    if not chosen:
        raise ValueError(
            f"the adapter's target {shown} matches no module; names look like "
            "model.language_model.layers.0.self_attn.q_proj and model.visual.merger.mlp.0, and the "
            "whole name must match"
        )
    refused = [
        name
        for name, module in chosen.items()
        if not isinstance(module, nn.Linear)
        or "lm_head" in name
        or (".visual." in f".{name}" and ".visual.merger." not in f".{name}")
    ]
    if refused:
        raise ValueError(
            f"the adapter's target {shown} reaches {refused[0]}"
            + (f" and {len(refused) - 1} more" if len(refused) > 1 else "")
            + "; only linear layers of language model and merger may be adapted: the vision tower "
            "is frozen, and embeddings and output layer are tied"
        )
    return sorted(chosen)


def adapted_layers(policy: Any) -> dict[str, Any]:
    """Every layer that has an adapter, by its name within `policy`."""
    return {name: part for name, part in policy.named_modules() if isinstance(part, LoraLayer)}


def _plain_modules(inner: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Names and modules as they are without an adapter, whether or not there is one."""
    adapted = adapted_layers(inner)
    for name, module in inner.named_modules():
        if name in adapted:
            yield name, adapted[name].get_base_layer()
        elif name and not any(name.startswith(f"{outer}.") for outer in adapted):
            yield name, module
