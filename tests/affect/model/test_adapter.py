"""An adapter sits where it should, computes what LoRA's formula says, and merges into the base."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from affect.adapter_config import ADAPTER_CONFIG_FILE, DEFAULT_TARGETS
from affect.model.adapter import AdapterPolicy, adapter_config
from affect.model.generation import generate
from affect.model.loading import load_policy
from affect.model.policy import PolicyBackbone, causal_model, tower_features
from tests.tiny import batch_inputs, shared_processor, synthetic_clip, tiny_prompt
from tests.tiny_adapter import (
    ALPHA,
    LANGUAGE,
    MERGER,
    RANK,
    adapter_weights,
    by_hand,
    logits,
    new_adapter,
    plain_base,
    save_adapter,
    save_base,
    trained_adapter,
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_base(tmp_path_factory.mktemp("base") / "final")


# --- what it computes -----------------------------------------------------------------------------


def test_a_new_adapter_changes_nothing(base: Path) -> None:
    plain = plain_base()
    assert torch.equal(logits(new_adapter(base)), logits(plain))


def test_first_weights_follow_the_seed(base: Path) -> None:
    torch.manual_seed(0)
    one = adapter_weights(new_adapter(base, seed=7))
    drawn = torch.rand(1)
    same, other = (adapter_weights(new_adapter(base, seed=seed)) for seed in (7, 8))
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)
    torch.manual_seed(0)
    assert torch.equal(torch.rand(1), drawn)  # and nothing else's random numbers are moved


def test_logits_are_those_of_the_formula(base: Path) -> None:
    policy = trained_adapter(base)
    plain = plain_base()
    assert (logits(policy) - logits(plain)).abs().max() > 0.1
    torch.testing.assert_close(logits(policy), logits(by_hand(base)), atol=1e-5, rtol=0)


def test_the_tower_gives_the_same_features(base: Path) -> None:
    policy = trained_adapter(base)
    plain = plain_base()
    prompt = tiny_prompt(shared_processor(), synthetic_clip(1))
    found, expected = (
        tower_features(model, prompt.pixel_values_videos, prompt.video_grid_thw)
        for model in (policy, plain)
    )
    assert torch.equal(found, expected) and found.grad_fn is None
    # Features in place of patches, as GRPO passes them.
    batch = batch_inputs([prompt])
    with torch.no_grad():
        whole = policy(**batch).logits
        short = policy(**{**batch, "pixel_values_videos": found}).logits
    torch.testing.assert_close(short, whole, atol=1e-5, rtol=0)


def test_replies_are_those_of_the_merged_model(base: Path) -> None:
    policy = trained_adapter(base)
    prompt = tiny_prompt(shared_processor(), synthetic_clip(1))
    settings: dict[str, Any] = {"max_new_tokens": 12, "temperature": 1.0, "seeds": [[1, 2]]}
    replies = [
        generate(model, shared_processor(), [prompt], num_samples=2, **settings)
        for model in (policy, by_hand(base))
    ]
    [[one, other]], [[same, _]] = replies
    assert one.token_ids == same.token_ids != other.token_ids
    torch.testing.assert_close(one.log_probs, same.log_probs, atol=1e-4, rtol=0)


def test_dropout_is_for_training_only(base: Path) -> None:
    policy = trained_adapter(base, dropout=0.5)
    assert not policy.training
    assert torch.equal(logits(policy), logits(trained_adapter(base)))
    policy.train()
    assert not torch.equal(logits(policy), logits(policy))
    policy.set_dropout(0.0)
    assert torch.equal(logits(policy), logits(trained_adapter(base)))
    assert adapter_config(policy).dropout == 0.0


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_adapter_weights_stay_float32(base: Path, dtype: str) -> None:
    policy = trained_adapter(base, dtype)
    assert {weight.dtype for weight in adapter_weights(policy).values()} == {torch.float32}
    assert next(policy.parameters()).dtype == getattr(torch, dtype)
    assert torch.isfinite(logits(policy)).all()
    policy.to_base_dtype()  # for ZeRO-3
    policy.add_adapter("ref", policy.peft_config["default"])
    assert {weight.dtype for weight in policy.parameters()} == {getattr(torch, dtype)}


# --- on disk --------------------------------------------------------------------------------------


def test_what_is_saved(base: Path, tmp_path: Path) -> None:
    policy = trained_adapter(base)
    policy.add_adapter("ref", policy.peft_config["default"])  # as TRL does for the reference
    policy.save_pretrained(tmp_path)
    # No reference, no pickle, no empty card.
    files = sorted(path.name for path in tmp_path.rglob("*"))
    assert files == [ADAPTER_CONFIG_FILE, "adapter_model.safetensors"]
    weights = load_file(tmp_path / "adapter_model.safetensors")
    assert sorted(weights) == sorted(
        f"base_model.model.{module}.lora_{half}.weight"
        for module in LANGUAGE + MERGER
        for half in "AB"
    )
    config = json.loads((tmp_path / ADAPTER_CONFIG_FILE).read_text())
    assert config["base_model_name_or_path"] == str(base.resolve())
    assert (config["r"], config["lora_alpha"], config["lora_dropout"]) == (RANK, ALPHA, 0.0)
    assert config["target_modules"] == DEFAULT_TARGETS


def test_what_is_saved_loads_the_same(base: Path, tmp_path: Path) -> None:
    policy = trained_adapter(base, dropout=0.5)
    loaded, processor = load_policy(save_adapter(policy, tmp_path))
    assert isinstance(loaded, AdapterPolicy) and not loaded.training
    assert torch.equal(logits(loaded), logits(policy))
    assert adapter_config(loaded) == adapter_config(policy)
    assert type(causal_model(loaded).model) is PolicyBackbone
    assert processor.tokenizer.padding_side == "left"


def test_saving_again_changes_no_byte(base: Path, tmp_path: Path) -> None:
    first = save_adapter(trained_adapter(base), tmp_path / "first")
    second = save_adapter(load_policy(first)[0], tmp_path / "second")
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in second.iterdir())
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
