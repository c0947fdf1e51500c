"""Tiny policies with an adapter that has learned something, and their checkpoints.

Example:
    base = save_base(tmp_path / "base")
    policy = trained_adapter(base)  # on `tiny_policy(BASE_SEED)`, which is what lies there
    save_adapter(policy, tmp_path / "adapter")
"""

from pathlib import Path
from typing import Any

import torch

from affect.model.adapter import AdapterPolicy, add_adapter
from tests.tiny import batch_inputs, shared_processor, synthetic_clip, tiny_policy, tiny_prompt

RANK, ALPHA = 4, 8.0
BASE_SEED = 3
# What the default target names, in order.
LANGUAGE = [
    f"model.language_model.layers.{layer}.{part}"
    for layer in (0, 1)
    for part in (
        *("mlp.down_proj", "mlp.gate_proj", "mlp.up_proj"),
        *("self_attn.k_proj", "self_attn.o_proj", "self_attn.q_proj", "self_attn.v_proj"),
    )
]
MERGER = ["model.visual.merger.mlp.0", "model.visual.merger.mlp.2"]


def save_base(folder: Path) -> Path:
    """The checkpoint of `tiny_policy(BASE_SEED)`."""
    model, processor = tiny_policy(BASE_SEED)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def new_adapter(base: Path, dtype: str = "float32", **settings: Any) -> AdapterPolicy:
    """A fresh adapter on the base, which changes nothing yet."""
    model, _ = tiny_policy(BASE_SEED)
    model.eval().to(getattr(torch, dtype))
    return add_adapter(model, **{"base": str(base), "rank": RANK, "alpha": ALPHA, **settings})


def trained_adapter(base: Path, dtype: str = "float32", **settings: Any) -> AdapterPolicy:
    """An adapter that changes every module it is on, as after training."""
    policy = new_adapter(base, dtype, **settings)
    move_adapter(policy)
    return policy


@torch.no_grad()
def move_adapter(policy: AdapterPolicy, seed: int = 1) -> None:
    """Random steps of the weights that train."""
    generator = torch.Generator().manual_seed(seed)
    for weight in policy.parameters():
        if weight.requires_grad:
            weight += 0.05 * torch.randn(weight.shape, generator=generator)


def save_adapter(policy: AdapterPolicy, folder: Path) -> Path:
    """As a trainer saves it."""
    policy.save_pretrained(folder)
    shared_processor().save_pretrained(folder)
    return folder


def adapter_weights(policy: Any, name: str = "default") -> dict[str, torch.Tensor]:
    """Copies of one adapter's weights, by names without the adapter's."""
    return {
        key.replace(f".{name}.", "."): weight.detach().clone()
        for key, weight in policy.named_parameters()
        if f".{name}." in key
    }


def plain_base() -> Any:
    """What lies at `base`."""
    return tiny_policy(BASE_SEED)[0].eval()


def some_inputs() -> dict[str, Any]:
    return batch_inputs(
        [
            tiny_prompt(shared_processor(), synthetic_clip(1)),
            tiny_prompt(shared_processor(), synthetic_clip(2, num_frames=5), text="And this one?"),
        ]
    )


@torch.no_grad()
def logits(model: Any) -> torch.Tensor:
    """Of the tokens that are there; padding may give anything."""
    batch = some_inputs()
    found: torch.Tensor = model(**batch).logits[batch["attention_mask"].bool()]
    return found.float()


def by_hand(base: Path) -> Any:
    """The plain model with W + alpha / rank * B @ A written into each target."""
    weights = adapter_weights(trained_adapter(base))
    plain = plain_base()
    with torch.no_grad():
        for name in LANGUAGE + MERGER:
            half = {h: weights[f"base_model.model.{name}.lora_{h}.weight"] for h in "AB"}
            plain.get_submodule(name).weight += ALPHA / RANK * half["B"] @ half["A"]
    return plain
