"""Loss and gradient against the equations, written out with plain forwards of one row at a time."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.train.grpo_fixtures import (
    ScriptedReward,
    SyntheticClipStore,
    build_trainer,
    clips,
    completion,
    fresh_policy,
    perturb,
    rows,
    script_completions,
)
from tests.train.recording_trainer import RecordingTrainer, Sampling, gradients
from tests.train.slow_grpo import (
    SlowCompletion,
    assert_same_gradients,
    group_advantages,
    plain_log_probs,
    share_clipped,
    slow_loss,
)

REWARDS = {"a": [1.0, 0.5, 0.5, 0.0], "b": [0.2, 0.9, 0.4, 0.1]}
LENGTH = 8
REPLIES = {
    "a": {
        0: completion("Joy and Fear"),
        1: completion("a bright ball", finished=False),
        2: completion("Fear"),
        3: completion("a dark shape rushes in", finished=False),
    },
    "b": {0: completion("Joy"), 2: completion("emotion in this"), 3: completion("Anger")},
}


def slow_completions(
    trainer: RecordingTrainer,
    sampling: Sampling,
    *,
    policy: Any,
    old: Any | None = None,
    rewards: Mapping[str, Sequence[float | None]] = REWARDS,
) -> list[SlowCompletion]:
    """The generation batch, row by row; `old` is the policy that sampled, None if the same."""
    reference = fresh_policy() if trainer.beta else None
    found = []
    for index, (one, sampled) in enumerate(zip(sampling.rows, sampling.completions, strict=True)):
        prompt = trainer.clips.prompt(one)
        arguments = (prompt, sampled.token_ids, trainer.temperature)
        log_probs = plain_log_probs(policy, *arguments)
        with torch.no_grad():
            old_log_probs = plain_log_probs(old, *arguments) if old else log_probs.detach()
            reference_log_probs = plain_log_probs(reference, *arguments) if reference else None
        size = trainer.num_generations
        advantage = group_advantages(rewards[one["id"]])[index % size]
        found.append(SlowCompletion(log_probs, old_log_probs, reference_log_probs, advantage))
    return found


def slow_gradients(policy: Any, loss: Tensor) -> dict[str, Tensor]:
    policy.zero_grad()
    loss.backward()
    return gradients(policy)


def scripted_trainer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> RecordingTrainer:
    script_completions(monkeypatch, REPLIES)
    return build_trainer(
        folder,
        rows("ab"),
        rewards=[ScriptedReward("scripted", REWARDS)],
        attach=perturb,
        **{
            "num_generations": 4,
            "max_completion_length": LENGTH,
            "use_bias_correction_kl": False,
            **settings,
        },
    )


@pytest.mark.parametrize(
    ("loss_type", "beta"),
    [("grpo", 0.04), ("grpo", 0.0), ("dr_grpo", 0.04), ("bnpo", 0.04), ("dapo", 0.04)],
)
def test_on_policy_loss_and_gradient(
    loss_type: str, beta: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = scripted_trainer(tmp_path, monkeypatch, loss_type=loss_type, beta=beta)
    trainer.train()
    [sampling], [batch] = trainer.records.samplings, trainer.records.micro_batches
    policy = fresh_policy(sampling.weights)
    slow = slow_completions(trainer, sampling, policy=policy)
    expected = slow_loss(loss_type, slow, beta=beta, max_completion_length=LENGTH)
    assert abs(batch.loss - float(expected.detach())) < 1e-5
    assert_same_gradients(trainer.records.gradients[0], slow_gradients(policy, expected))
    if beta:
        assert trainer.records.logs[0]["kl"] > 1e-3  # the perturbed policy is off its reference


@pytest.mark.parametrize("bias_corrected_kl", [False, True])
def test_off_policy_loss_and_gradient(
    bias_corrected_kl: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two iterations per sampling: at steps 2 and 4 the ratio is not 1; at 4, old is not start."""
    trainer = scripted_trainer(
        tmp_path,
        monkeypatch,
        num_iterations=2,
        max_steps=4,
        learning_rate=3e-3,
        use_bias_correction_kl=bias_corrected_kl,
    )
    trainer.train()
    records = trainer.records
    assert len(records.samplings) == 2 and len(records.micro_batches) == 4
    for step in (1, 3):
        sampling, batch = records.samplings[step // 2], records.micro_batches[step]
        policy = fresh_policy(batch.weights)
        slow = slow_completions(
            trainer, sampling, policy=policy, old=fresh_policy(sampling.weights)
        )
        expected = slow_loss("grpo", slow, beta=0.04, bias_corrected_kl=bias_corrected_kl)
        assert abs(batch.loss - float(expected.detach())) < 1e-5
        assert_same_gradients(records.gradients[step], slow_gradients(policy, expected))
        share = share_clipped(slow)
        assert 0.05 < share < 0.95
        assert records.logs[step]["clip_ratio/region_mean"] == pytest.approx(share, abs=1e-6)


LAYOUTS = {
    "4x1": {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1},
    "2x2": {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2},
    "1x4": {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 4},
}
CLIPS = clips(rows("abcd"))
FOUR_REWARDS = {"a": [1.0, 0.0], "b": [0.2, 0.9], "c": [0.5, 0.1], "d": [0.0, 0.3]}


def step_gradients(folder: Path, layout: str, **settings: Any) -> dict[str, Tensor]:
    trainer = build_trainer(
        folder,
        rows("abcd"),
        rewards=[ScriptedReward("scripted", FOUR_REWARDS)],
        attach=perturb,
        max_completion_length=LENGTH,
        **LAYOUTS[layout],
        **settings,
    )
    trainer.train()
    assert len(trainer.records.micro_batches) == LAYOUTS[layout]["gradient_accumulation_steps"]
    [found] = trainer.records.gradients
    total = sum(batch.loss for batch in trainer.records.micro_batches)
    return {**found, "loss": torch.tensor([total])}


@pytest.mark.parametrize(
    ("loss_type", "dropped"),
    [
        ("grpo", "none"),
        ("grpo", "one"),
        ("grpo", "a micro-batch"),
        ("dr_grpo", "one"),
        ("dr_grpo", "a micro-batch"),
        ("dapo", "one"),
    ],
)
def test_accumulation_does_not_change_the_update(
    loss_type: str, dropped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = {0: completion("Joy and Fear"), 1: completion("Fear")}
    replies = {name: dict(reply) for name in "abcd"}
    if dropped != "none":
        replies["c"][0] = completion("a bright ball", finished=False)
    if dropped == "a micro-batch":
        replies["c"][1] = completion("a dark", finished=False)
        # Leaves the rows in order, so that the group is a micro-batch of its own.
        monkeypatch.setattr(torch, "randperm", lambda size, **kwargs: torch.arange(size))
    script_completions(monkeypatch, replies)
    settings = {"loss_type": loss_type, "truncated": "drop"}
    whole = step_gradients(tmp_path, "4x1", **settings)
    for layout in ("2x2", "1x4"):
        assert_same_gradients(step_gradients(tmp_path, layout, **settings), whole)


def test_bnpo_leaves_a_fully_dropped_micro_batch_out_of_its_mean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """bnpo is the mean of its micro-batches' token means; an empty one is none of them."""
    reply = {0: completion("Joy and Fear"), 1: completion("Fear")}
    cut = {0: completion("a ball", finished=False), 1: completion("a", finished=False)}
    monkeypatch.setattr(torch, "randperm", lambda size, **kwargs: torch.arange(size))
    results = []
    for names in ("abcd", "abd"):
        script_completions(monkeypatch, {**dict.fromkeys("abd", reply), "c": cut})
        trainer = build_trainer(
            tmp_path,
            rows(names),
            store=SyntheticClipStore(CLIPS),
            rewards=[ScriptedReward("scripted", FOUR_REWARDS)],
            attach=perturb,
            truncated="drop",
            loss_type="bnpo",
            max_completion_length=LENGTH,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=len(names),
        )
        trainer.train()
        results.append(trainer.records.gradients[0])
    assert_same_gradients(results[0], results[1])


def test_checkpointing_does_not_change_the_gradients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for checkpointing in (False, True):
        trainer = scripted_trainer(tmp_path, monkeypatch, gradient_checkpointing=checkpointing)
        trainer.train()
        assert trainer.model.is_gradient_checkpointing == checkpointing
        results.append(trainer.records.gradients[0])
    assert_same_gradients(results[1], results[0], tolerance=1e-6)


def test_the_tower_gets_no_gradient_and_the_merger_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = scripted_trainer(tmp_path, monkeypatch)
    before = trainer.weights()
    trainer.train()
    after = trainer.weights()
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    tower = {name for name in before if ".visual." in name and ".merger." not in name}
    assert tower and not changed & tower
    assert {name for name in before if ".merger." in name} <= changed
    assert all(
        parameter.grad is None
        for name, parameter in trainer.model.named_parameters()
        if name in tower
    )
