"""What changes a clip's features changes the digest, and nothing else does."""

from typing import Any

import pytest
import torch

from affect.model.tower_identity import is_sharded, tower_identity
from affect.video import FrameBudget
from tests.tiny import shared_processor, tiny_policy

BUDGET = FrameBudget(max_pixels=112 * 112, min_pixels=56 * 56)


def identity(model: Any, **changes: Any) -> str:
    settings: dict[str, Any] = {"arithmetic": ["cpu", "float32"], "budget": BUDGET, **changes}
    return tower_identity(model, shared_processor(), **settings)


def test_the_same_tower_has_the_same_identity() -> None:
    first, second = tiny_policy()[0], tiny_policy()[0]
    assert identity(first) == identity(second)
    assert len(identity(first)) == 64 and not is_sharded(first)


def test_merger_and_language_model_have_no_part_in_it() -> None:
    """They train, and the cold start's features must serve GRPO."""
    model, _ = tiny_policy()
    before = identity(model)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "visual." not in name or "visual.merger." in name:
                weight += 1.0
    assert identity(model) == before


def test_every_weight_before_the_merger_has() -> None:
    model, _ = tiny_policy()
    before = identity(model)
    for name, weight in model.model.visual.named_parameters():
        if name.startswith("merger."):
            continue
        with torch.no_grad():
            old = weight.flatten()[-1].clone()
            weight.view(-1)[-1] += 1e-3
            assert identity(model) != before, name
            weight.view(-1)[-1] = old
    assert identity(model) == before
    assert identity(model.to(torch.bfloat16)) != before


@pytest.mark.parametrize(
    "changes",
    [
        {"budget": BUDGET.model_copy(update={"fps": 1.0})},
        {"budget": BUDGET.model_copy(update={"max_pixels": 56 * 56})},
        {"arithmetic": ["cuda", "float32"]},
        {"arithmetic": ["cpu", "bf16"]},
    ],
)
def test_so_has_all_that_changes_patches_or_arithmetic(changes: dict[str, Any]) -> None:
    model, _ = tiny_policy()
    assert identity(model, **changes) != identity(model)


@pytest.mark.parametrize(
    ("name", "value"), [("image_mean", [0.5, 0.5, 0.5]), ("rescale_factor", 1 / 128)]
)
def test_so_have_the_processors_settings(
    name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, processor = tiny_policy()
    before = identity(model)
    monkeypatch.setattr(processor.video_processor, name, value)
    assert identity(model) != before


@pytest.mark.parametrize(("name", "value"), [("window_size", 112), ("fullatt_block_indexes", [0])])
def test_so_has_the_towers_config(name: str, value: Any) -> None:
    model, _ = tiny_policy()
    before = identity(model)
    setattr(model.model.visual.config, name, value)
    assert identity(model) != before
