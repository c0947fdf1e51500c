"""Narrow tiles give TRL's numbers, and through a trainer no tensor of tokens x words comes up."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from trl.trainer.utils import add_fused_lm_head

from affect.model.policy import install_policy
from speed.largest_tensor import LargestTensor
from speed.log_probs import Shape
from speed.log_probs_pass import HeadPass
from tests.tiny import plain_model
from tests.train.grpo_fixtures import ScriptedReward, build_trainer, fresh_policy, rows
from train import narrow_head
from train.narrow_head import install_narrow_head, tile_words

NUM_WORDS = 40_000
NUM_TOKENS = 4 * 25


@pytest.mark.parametrize(
    ("num_tokens", "words"),
    [(1, 32_768), (128, 32_768), (129, 16_384), (2048, 2048), (3000, 1024), (100_000, 1024)],
)
def test_tile_words(num_tokens: int, words: int) -> None:
    assert tile_words(num_tokens) == words


def head_outputs(
    monkeypatch: pytest.MonkeyPatch, *, narrow: bool, temperature: float, **settings: Any
) -> tuple[Any, dict[str, Tensor]]:
    """Outputs and gradients for nine places, two of them without a label."""
    outputs = ("log_probs", "entropy", "mean_logits", "is_top1", "log_sum_sq_probs")
    model = install_policy(plain_model(seed=2))
    add_fused_lm_head(model, temperature=temperature, outputs=outputs, **settings)
    if narrow:
        monkeypatch.setattr(narrow_head, "_TILE_ELEMENTS", 700)
        monkeypatch.setattr(narrow_head, "_LEAST_WORDS", 64)  # 506 words: eight tiles
        install_narrow_head(model, temperature=temperature, outputs=outputs, **settings)
    chance = torch.Generator().manual_seed(0)
    ids = torch.randint(10, 200, (1, 9), generator=chance)
    labels = torch.randint(0, 506, (1, 9), generator=chance)
    labels[0, [0, 5]] = -100
    found = model(
        input_ids=ids, shift_labels=labels, fused_lm_head=True, attention_mask=torch.ones(1, 9)
    )
    (found.log_probs.sum() + 0.3 * found.entropy.sum() + found.loss).backward()
    named = model.named_parameters()
    return found, {name: one.grad for name, one in named if one.grad is not None}


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("in_fp32", [False, True])
def test_numbers_are_those_of_wide_tiles(
    temperature: float, in_fp32: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (narrow, narrow_gradients), (wide, wide_gradients) = (
        head_outputs(
            monkeypatch, narrow=narrow, temperature=temperature, cast_lm_head_to_fp32=in_fp32
        )
        for narrow in (True, False)
    )
    for name in ("loss", "log_probs", "entropy", "mean_logits", "log_sum_sq_probs"):
        assert torch.allclose(narrow[name], wide[name], atol=1e-5), name
    assert torch.equal(narrow.is_top1, wide.is_top1)
    assert narrow.log_probs[0, [0, 5]].tolist() == [0.0, 0.0]
    assert set(narrow_gradients) == set(wide_gradients)
    for name, one in narrow_gradients.items():
        assert torch.allclose(one, wide_gradients[name], atol=1e-5), name


def test_other_calls_go_to_the_forward_that_was_there() -> None:
    model = install_policy(plain_model(seed=2)).eval()
    ids = torch.arange(20, 29)[None]
    before = model(input_ids=ids, labels=ids)
    add_fused_lm_head(model)
    fused = model(input_ids=ids, labels=ids, fused_lm_head=True)
    install_narrow_head(model)
    after = model(input_ids=ids, labels=ids)
    assert torch.equal(before.logits, after.logits) and torch.equal(before.loss, after.loss)
    still_fused = model(input_ids=ids, labels=ids, fused_lm_head=True)
    assert torch.equal(fused.log_probs, still_fused.log_probs)
    sampled = model.generate(input_ids=ids, max_new_tokens=2, do_sample=False)
    assert sampled.shape == (1, 11)


def wide_trainer(folder: Path, **settings: Any) -> Any:
    """Four completions of 25 tokens from a policy of 40,000 words."""
    model = fresh_policy()
    model.resize_token_embeddings(NUM_WORDS, mean_resizing=False)
    return build_trainer(
        folder,
        rows("a"),
        model=model,
        rewards=[ScriptedReward("scripted", {"a": [1.0, 0.0, 0.5, 0.2]})],
        num_generations=4,
        max_completion_length=25,
        beta=0.0,
        **settings,
    )


@pytest.mark.parametrize("checkpointing", [False, True])
def test_a_step_of_the_trainer_makes_nothing_of_tokens_by_words(
    checkpointing: bool, tmp_path: Path
) -> None:
    trainer = wide_trainer(tmp_path, gradient_checkpointing=checkpointing)
    with LargestTensor() as seen:
        trainer.train()
    [micro_batch] = trainer.records.micro_batches
    num_tokens = int(micro_batch.inputs["completion_mask"].sum())
    assert num_tokens == NUM_TOKENS
    weights = NUM_WORDS * 64
    # TRL's tiles are 32,768 words wide, or narrower ones; the embedding is 64 wide.
    assert seen.num_elements <= max(weights, num_tokens * 32_768)
    assert seen.num_elements < num_tokens * NUM_WORDS, (seen.shape, seen.operation)
    assert NUM_WORDS not in seen.shape or 64 in seen.shape


def test_the_plain_way_is_caught_by_the_same_watcher() -> None:
    shape = Shape(num_words=4096, hidden_size=64, num_tokens=160)
    one_pass = HeadPass(shape)
    found = {}
    for contender in ("plain", "wide tiles", "ours"):
        with LargestTensor() as seen:
            found[contender] = one_pass.run(contender)
        if contender == "plain":
            assert seen.num_elements == 160 * 4096
    for name, value in found["plain"].items():
        assert found["ours"][name] == pytest.approx(value, rel=1e-5)
        assert found["wide tiles"][name] == pytest.approx(value, rel=1e-5)


def test_forward_and_backward_are_watched() -> None:
    weight = torch.ones(3, 5, requires_grad=True)
    with LargestTensor() as seen:
        torch.ones(2, 3).matmul(weight).square().sum().backward()
    assert seen.num_elements == 15  # the weight's gradient; the forward makes 10 at most
    with LargestTensor() as seen:
        torch.empty(4, 4).mul_(2.0)
    assert (seen.num_elements, seen.shape) == (16, (4, 4))
