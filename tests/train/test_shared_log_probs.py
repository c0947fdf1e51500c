"""The shared pass against the plain one, through whole trainers: same log-probs, loss, gradients.

Both trainers get the same completions; only how log-probs are computed differs.
"""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from affect.model.adapter import add_adapter
from tests.tiny import shared_processor
from tests.train.grpo_fixtures import (
    ScriptedReward,
    build_trainer,
    checkpoint,
    completion,
    fresh_policy,
    perturb,
    row,
    rows,
    script_completions,
)
from tests.train.recording_trainer import RecordingTrainer
from train.log_probs import log_prob_pass

PAD = shared_processor().tokenizer.pad_token_id
REWARDS = {
    "a": [1.0, 0.5, 0.25, 0.0],
    "b": [0.2, 0.9, 0.4, 0.1],
    "c": [0.7, 0.7, 0.7, 0.7],  # equal: no advantage, only the KL term
    "d": [0.0, 0.3, 0.0, 0.9],
}
REPLIES = {
    "a": {
        0: completion("Joy and Fear"),
        1: completion("a bright ball", finished=False),
        2: completion("Fear"),
        3: completion("a dark shape rushes in", finished=False),
    },
    "b": {
        0: completion("Joy"),
        1: completion("emotion in this"),
        2: completion("Anger"),
        3: completion(""),
    },
    "c": {n: completion("Fear and Joy"[: 4 + n]) for n in range(4)},
    # All cut off: with `truncated: trl` the whole group is masked.
    "d": {n: completion("a dark shape"[: 6 + n], finished=False) for n in range(4)},
}
GROUPS = [
    row("a"),
    row(
        "b", text="Describe the viewer's emotion in this silent video, in as few words as you can."
    ),
    row("c", video="clip_a"),  # another prompt about the same clip
    row("d"),
]


def trained(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    *,
    given: list[dict[str, Any]] = GROUPS,
    moved: bool = True,
    **settings: Any,
) -> RecordingTrainer:
    script_completions(monkeypatch, REPLIES)
    model = settings.pop("model", None) or fresh_policy()
    trainer = build_trainer(
        folder,
        given,
        model=model,
        rewards=[ScriptedReward("scripted", REWARDS)],
        num_generations=4,
        max_completion_length=8,
        log_prob_pass=log_prob_pass(mode, "sdpa", PAD),
        **settings,
    )
    if moved:  # away from the reference, so that the KL term has a gradient
        perturb(trainer.model)
    trainer.train()
    return trainer


def assert_same(
    shared: RecordingTrainer, plain: RecordingTrainer, *, log_probs: float, gradients: float
) -> None:
    """Log-probs within a distance; gradients within a share of their norm, tensor by tensor."""
    first, second = shared.records, plain.records
    assert [one.name for one in first.passes if one.name == "policy"]
    for name in ("old", "ref"):
        key = f"{name}_per_token_logps"
        for one, other in zip(first.samplings, second.samplings, strict=True):
            assert (key in one.output) == (key in other.output)
            if key in one.output and one.output[key] is not None:
                assert torch.allclose(one.output[key], other.output[key], atol=log_probs)
    for one, other in zip(first.passes, second.passes, strict=True):
        assert one.name == other.name
        assert torch.allclose(one.log_probs, other.log_probs, atol=log_probs)
    assert len(first.gradients) == len(second.gradients) > 0
    for found, expected in zip(first.gradients, second.gradients, strict=True):
        assert_close_gradients(found, expected, gradients)
    assert first.logs[0]["loss"] == pytest.approx(second.logs[0]["loss"], abs=1e-6)
    for key in ("entropy", "kl", "clip_ratio/region_mean"):
        if key in second.logs[0]:
            assert first.logs[0][key] == pytest.approx(second.logs[0][key], abs=1e-4), key


def assert_close_gradients(
    found: dict[str, Tensor], expected: dict[str, Tensor], share: float
) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        if not value.any():
            assert found[name].abs().max() <= 1e-8, name
        else:
            assert float((found[name] - value).norm() / value.norm()) <= share, name


LOSSES = {
    "grpo": {"loss_type": "grpo"},
    "dapo": {"loss_type": "dapo"},
    "dr_grpo": {"loss_type": "dr_grpo"},
    "bnpo": {"loss_type": "bnpo"},
    "sequence level": {"loss_type": "grpo", "importance_sampling_level": "sequence"},
    "without a reference": {"loss_type": "dapo", "beta": 0.0},
}


@pytest.mark.parametrize("truncated", ["keep", "trl", "drop"])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_type(
    loss: str, truncated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, plain = (
        trained(tmp_path / mode, monkeypatch, mode, truncated=truncated, **LOSSES[loss])
        for mode in ("shared", "plain")
    )
    assert_same(shared, plain, log_probs=1e-5, gradients=1e-5)


VARIANTS: dict[str, dict[str, Any]] = {
    "checkpointing": {"gradient_checkpointing": True},
    # Two updates per sampling, twice over it: old log-probs are computed, ratios leave 1.
    "several iterations": {
        "num_iterations": 2,
        "per_device_train_batch_size": 8,
        "steps_per_generation": 2,
        "max_steps": 4,
        # Steps in proportion to the gradient: Adam's would magnify rounding.
        "optim": "sgd",
        "learning_rate": 0.05,
    },
    "micro-batches that split a group": {
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 8,
    },
    "one completion at a time": {
        "per_device_train_batch_size": 1,
        "gradient_accumulation_steps": 16,
        "gradient_checkpointing": True,
    },
    "entropy bonus": {"entropy_coef": 0.1},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_way_to_run(variant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, plain = (
        trained(tmp_path / mode, monkeypatch, mode, **VARIANTS[variant])
        for mode in ("shared", "plain")
    )
    assert_same(shared, plain, log_probs=1e-5, gradients=1e-5)


@pytest.mark.parametrize("checkpointing", [False, True])
def test_lora(checkpointing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared, plain = (
        trained(
            tmp_path / mode,
            monkeypatch,
            mode,
            model=add_adapter(fresh_policy(), base=str(checkpoint()), rank=4, alpha=8),
            gradient_checkpointing=checkpointing,
        )
        for mode in ("shared", "plain")
    )
    assert all("lora" in name for name in shared.records.gradients[0])
    assert_same(shared, plain, log_probs=1e-5, gradients=1e-5)


def test_bfloat16(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looser, since sums are rounded in another order: .03 in log-probs, 3 % of a norm."""
    shared, plain, exact = (
        trained(tmp_path / name, monkeypatch, mode, bf16=bf16)
        for name, mode, bf16 in (
            ("shared", "shared", True),
            ("plain", "plain", True),
            ("exact", "plain", False),
        )
    )
    assert torch.allclose(shared.policy_log_probs(), plain.policy_log_probs(), atol=0.03)
    for name, value in exact.records.gradients[0].items():
        if value.norm() > 1e-4:
            rounding = [
                float((one.records.gradients[0][name] - value).norm() / value.norm())
                for one in (shared, plain)
            ]
            assert rounding[0] <= max(0.03, 2 * rounding[1]), name


@pytest.mark.parametrize("loss", ["grpo", "dapo", "dr_grpo"])
@pytest.mark.parametrize("truncated", ["keep", "trl"])
def test_four_groups_at_once_are_one_at_a_time(
    loss: str, truncated: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layouts = {"4x1": (16, 1), "1x4": (4, 4), "half groups": (2, 8)}
    found = {
        name: trained(
            tmp_path / name,
            monkeypatch,
            "shared",
            loss_type=loss,
            truncated=truncated,
            per_device_train_batch_size=size,
            gradient_accumulation_steps=accumulation,
        ).records.gradients[0]
        for name, (size, accumulation) in layouts.items()
    }
    assert_close_gradients(found["1x4"], found["4x1"], 1e-5)
    assert_close_gradients(found["half groups"], found["4x1"], 1e-5)


def test_a_prompt_stands_once_in_a_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lengths: dict[str, list[int]] = {"shared": [], "plain": []}
    for mode, seen in lengths.items():
        model = fresh_policy()
        trainer = trained(tmp_path / mode, monkeypatch, mode, model=model, given=rows("a"))
        model.model.language_model.layers[0].register_forward_pre_hook(
            lambda module, args, kwargs, seen=seen: seen.append(args[0].shape[:2].numel()),
            with_kwargs=True,
        )
        inputs = trainer.records.micro_batches[0].inputs
        with torch.no_grad():
            trainer._compute_loss(trainer.model, inputs)
    num_prompt = trainer.clips.prompt(row("a")).num_tokens
    num_completion = [len(one.token_ids) for one in REPLIES["a"].values()]
    assert lengths["shared"] == [num_prompt - 1 + sum(num_completion)]
    assert lengths["plain"] == [4 * (num_prompt + max(num_completion))]
