"""An adapter sits on language model and merger, and a target that reaches further is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch

from affect.model.adapter import add_adapter
from affect.model.adapter_targets import target_modules
from affect.model.policy import causal_model, freeze_tower
from tests.tiny import tiny_policy
from tests.tiny_adapter import (
    LANGUAGE,
    MERGER,
    RANK,
    new_adapter,
    save_base,
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_base(tmp_path_factory.mktemp("base") / "final")


def test_the_default_targets_one_by_one() -> None:
    model, _ = tiny_policy()
    assert target_modules(model) == LANGUAGE + MERGER
    everything = dict(model.named_modules())
    linear = {name for name in everything if isinstance(everything[name], torch.nn.Linear)}
    tower = {name for name in linear if "visual." in name and ".merger." not in name}
    assert linear - set(LANGUAGE + MERGER) - tower == {"lm_head"}
    assert len(tower) == 10  # which is what `all-linear` would reach


def test_only_the_adapter_trains(base: Path) -> None:
    policy = new_adapter(base)
    trains = [name for name, weight in policy.named_parameters() if weight.requires_grad]
    assert sorted(trains) == sorted(
        f"base_model.model.{module}.lora_{half}.default.weight"
        for module in LANGUAGE + MERGER
        for half in "AB"
    )
    assert policy.get_base_model().model.language_model.layers[0].mlp.up_proj.lora_A[
        "default"
    ].weight.shape == (RANK, 64)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        (r".*\.qkv", r"target \.\*\\\.qkv reaches model\.visual\.blocks\.0\.attn\.qkv and 1 more"),
        (r".*_proj", r"reaches model\.visual\.blocks\.0\.mlp\.gate_proj and 5 more"),
        (["gate_proj", "up_proj"], r"target gate_proj, up_proj reaches model\.visual\.blocks\.0"),
        (r".*embed_tokens", r"reaches model\.language_model\.embed_tokens; .* are tied"),
        ("lm_head", r"reaches lm_head; .* are tied"),
        (r".*merger.*", r"reaches model\.visual\.merger and "),
        (r".*norm", r"reaches .* only linear layers"),
        ("q_proj", r"target q_proj matches no module; .* the whole name must match"),
        ("all-linear", "all-linear reaches the vision tower"),
        ("(", r"target \( is no regular expression"),
        ("", "matches no module"),
    ],
    ids=str,
)
def test_targets_that_are_refused(targets: Any, message: str) -> None:
    model, _ = tiny_policy()
    with pytest.raises(ValueError, match=message):
        add_adapter(model, base="base", rank=2, alpha=4, targets=targets)
    assert not any("lora" in name for name, _ in model.named_parameters())  # nothing half-done


def test_a_narrower_target(base: Path) -> None:
    policy = new_adapter(base, targets=r".*self_attn\.[qv]_proj")
    found = {name for name, weight in policy.named_parameters() if weight.requires_grad}
    assert len(found) == 2 * 2 * 2 and not any("merger" in name for name in found)


def test_an_adapted_model_is_not_frozen_anew(base: Path) -> None:
    """It would thaw the base under the adapter, and the run would train all weights."""
    policy = new_adapter(base)
    for model in (policy, causal_model(policy)):
        with pytest.raises(ValueError, match="carries an adapter"):
            freeze_tower(model)
