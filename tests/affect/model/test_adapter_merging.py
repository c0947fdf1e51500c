"""A merged model gives the adapter's logits and is an ordinary Qwen2.5-VL, names and all."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForImageTextToText

from affect.model.adapter import add_adapter, merge_adapter
from affect.model.loading import load_policy
from affect.model.policy import PolicyBackbone
from tests.tiny import shared_processor
from tests.tiny_adapter import (
    ALPHA,
    LANGUAGE,
    MERGER,
    RANK,
    by_hand,
    logits,
    plain_base,
    save_base,
    trained_adapter,
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_base(tmp_path_factory.mktemp("base") / "final")


def test_the_merged_model_gives_the_adapters_logits(base: Path) -> None:
    policy = trained_adapter(base)
    before = logits(policy)
    merged = merge_adapter(policy)
    torch.testing.assert_close(logits(merged), before, atol=1e-5, rtol=0)
    expected, found = by_hand(base).state_dict(), merged.state_dict()
    assert found.keys() == expected.keys()
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], atol=1e-7, rtol=1e-6)


def test_the_merged_model_is_a_plain_one(base: Path) -> None:
    policy = trained_adapter(base)
    policy.enable_input_require_grads()  # as training under checkpointing leaves it
    policy.add_adapter("ref", policy.peft_config["default"])
    merged = merge_adapter(policy)
    plain = plain_base()
    assert type(merged) is type(plain) and type(merged.model) is PolicyBackbone
    assert not hasattr(merged, "peft_config")
    assert [name for name, _ in merged.named_modules()] == [n for n, _ in plain.named_modules()]
    assert all(weight.requires_grad for weight in merged.parameters())
    assert not merged.get_input_embeddings()._forward_hooks
    assert merged.lm_head.weight is merged.model.language_model.embed_tokens.weight
    assert merged.config.tie_word_embeddings is True
    add_adapter(merged, base="next", rank=2, alpha=4)  # a new one may go on top


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_saved_merged_model_has_the_bases_names_and_precision(
    base: Path, tmp_path: Path, dtype: str
) -> None:
    policy = trained_adapter(base, dtype)
    expected = logits(policy)
    merge_adapter(policy).save_pretrained(tmp_path)
    shared_processor().save_pretrained(tmp_path)
    before, after = (load_file(folder / "model.safetensors") for folder in (base, tmp_path))
    assert before.keys() == after.keys()
    assert {weight.dtype for weight in after.values()} == {getattr(torch, dtype)}
    moved = {name for name in before if not torch.equal(before[name].to(after[name]), after[name])}
    assert len(moved) == len(LANGUAGE + MERGER)
    atol = {"float32": 1e-5, "bfloat16": 0.2}[dtype]  # the sum is rounded to eight bits once
    loaded, _ = load_policy(tmp_path, dtype=dtype)
    torch.testing.assert_close(logits(loaded), expected, atol=atol, rtol=0)
    assert type(AutoModelForImageTextToText.from_pretrained(tmp_path)).__name__ == (
        "Qwen2_5_VLForConditionalGeneration"
    )


def test_bf16_sums_are_rounded_once(base: Path) -> None:
    policy = trained_adapter(base, "bfloat16")
    layer = policy.get_submodule(f"base_model.model.{LANGUAGE[0]}")
    a, b = (part["default"].weight for part in (layer.lora_A, layer.lora_B))
    exact = layer.base_layer.weight.double() + ALPHA / RANK * b.double() @ a.double()
    merged = merge_adapter(policy).get_submodule(LANGUAGE[0]).weight
    assert ((merged - exact).abs() <= 1.001 * 2**-8 * exact.abs()).all()


def test_a_plain_model_is_merged_already(base: Path) -> None:
    plain = plain_base()
    assert merge_adapter(plain) is plain


def test_a_sum_beyond_the_precision_is_refused(base: Path) -> None:
    policy = trained_adapter(base, "float16")
    with torch.no_grad():
        policy.get_submodule(f"base_model.model.{MERGER[0]}").lora_B["default"].weight.fill_(1e6)
    with pytest.raises(ValueError, match=r"merger\.mlp\.0: merged .* not finite in torch\.float16"):
        merge_adapter(policy)
