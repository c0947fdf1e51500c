"""Completions that must not count: truncated ones, as asked for, and those with a vision token."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from affect.model.inputs import banned_token_ids
from rewards import RewardSet
from tests.tiny import shared_processor
from tests.train.grpo_fixtures import (
    ScriptedReward,
    build_trainer,
    completion,
    fresh_policy,
    perturb,
    rows,
    script_completions,
)
from tests.train.recording_trainer import RecordingTrainer, gradients
from tests.train.slow_grpo import (
    SlowCompletion,
    assert_same_gradients,
    group_advantages,
    plain_log_probs,
    slow_loss,
)

LENGTH = 8
REWARDS = {"a": [1.0, 0.4, 0.5, 0.0], "b": [0.2, 0.9, 0.3, 0.1]}
# One of group a and two of group b met the limit.
REPLIES = {
    "a": {
        0: completion("Joy and Fear"),
        1: completion("a bright ball", finished=False),
        2: completion("Fear"),
        3: completion("a dark shape rushes in"),
    },
    "b": {
        0: completion("Joy", finished=False),
        1: completion("emotion in this"),
        2: completion("the viewer feels", finished=False),
        3: completion("Anger"),
    },
}


def scripted_trainer(
    folder: Path, monkeypatch: pytest.MonkeyPatch, replies: Any = REPLIES, **settings: Any
) -> RecordingTrainer:
    script_completions(monkeypatch, replies)
    defaults: dict[str, Any] = {
        "rewards": [ScriptedReward("scripted", REWARDS)],
        "attach": perturb,
        "num_generations": 4,
        "max_completion_length": LENGTH,
        "use_bias_correction_kl": False,
    }
    return build_trainer(folder, rows("ab"), **{**defaults, **settings})


def slow_step(trainer: RecordingTrainer, truncated: str, loss_type: str) -> tuple[Any, Tensor]:
    """The policy that sampled, and the loss of its batch by the equations."""
    sampling = trainer.records.samplings[0]
    policy, reference = fresh_policy(sampling.weights), fresh_policy()
    found = []
    for index, (one, sampled) in enumerate(zip(sampling.rows, sampling.completions, strict=True)):
        arguments = (trainer.clips.prompt(one), sampled.token_ids, trainer.temperature)
        log_probs = plain_log_probs(policy, *arguments)
        with torch.no_grad():
            reference_log_probs = plain_log_probs(reference, *arguments)
        rewards: list[float | None] = list(REWARDS[one["id"]])
        if truncated == "drop":
            replies = REPLIES[one["id"]]
            rewards = [r if replies[n].finished else None for n, r in enumerate(rewards)]
        found.append(
            SlowCompletion(
                log_probs,
                log_probs.detach(),
                reference_log_probs,
                group_advantages(rewards)[index % 4],
                counted=truncated == "keep" or sampled.finished,
                in_denominator=truncated != "drop" or sampled.finished,
            )
        )
    return policy, slow_loss(loss_type, found, beta=0.04, max_completion_length=LENGTH)


@pytest.mark.parametrize("loss_type", ["grpo", "dr_grpo", "bnpo", "dapo"])
@pytest.mark.parametrize("truncated", ["keep", "drop", "trl"])
def test_loss_and_gradient_with_truncated_completions(
    truncated: str, loss_type: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = scripted_trainer(tmp_path, monkeypatch, truncated=truncated, loss_type=loss_type)
    trainer.train()
    policy, expected = slow_step(trainer, truncated, loss_type)
    assert abs(trainer.records.micro_batches[0].loss - float(expected.detach())) < 1e-5
    expected.backward()
    assert_same_gradients(trainer.records.gradients[0], gradients(policy))
    log = trainer.records.logs[0]
    assert log["completions/num_truncated"] == 3
    assert log["completions/num_dropped"] == (3 if truncated == "drop" else 0)


def test_the_three_ways_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the test above could not tell them apart."""
    losses = []
    for truncated in ("keep", "drop", "trl"):
        trainer = scripted_trainer(tmp_path, monkeypatch, truncated=truncated)
        trainer.train()
        losses.append(trainer.records.micro_batches[0].loss)
    assert min(abs(a - b) for a in losses for b in losses if a is not b) > 1e-3


def test_drop_takes_truncated_ones_out_of_the_group_in_literal_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = scripted_trainer(tmp_path, monkeypatch, truncated="drop")
    trainer.train()
    sampling = trainer.records.samplings[0]
    advantages = sampling.output["advantages"].view(2, 4)
    first = 0 if sampling.rows[0]["id"] == "a" else 1
    # a without its second: 1, .5, 0: mean .5, deviation .5. b: .9 and .1, deviation .5656854.
    assert advantages[first].tolist() == pytest.approx([0.9998, 0.0, 0.0, -0.9998], abs=1e-6)
    assert advantages[1 - first].tolist() == pytest.approx(
        [0.0, 0.7069818, 0.0, -0.7069818], abs=1e-6
    )
    log = trainer.records.logs[0]
    assert log["rewards/scripted/within_group_std"] == pytest.approx((0.5 + 0.5656854) / 2)
    assert log["reward"] == pytest.approx((1 + 0.5 + 0 + 0.9 + 0.1) / 5)


CUT = {n: completion(text, finished=False) for n, text in enumerate(["Joy", "a", "b", "c d"])}


@pytest.mark.parametrize(
    ("loss_type", "old"),
    [("grpo", False), ("dr_grpo", False), ("bnpo", False), ("dapo", False), ("grpo", True)],
)
def test_a_step_without_any_completion_that_counts_changes_nothing(
    loss_type: str, old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"num_iterations": 2, "max_steps": 2} if old else {}
    settings |= {"truncated": "drop", "loss_type": loss_type}
    trainer = scripted_trainer(tmp_path, monkeypatch, dict.fromkeys("ab", CUT), **settings)
    before = trainer.weights()
    trainer.train()
    assert ("old_per_token_logps" in trainer.records.samplings[0].output) == old
    assert [batch.loss for batch in trainer.records.micro_batches] == [0.0] * (2 if old else 1)
    for found in trainer.records.gradients:
        assert all((value == 0).all() for value in found.values())
    after = trainer.weights()
    assert all(torch.equal(before[name], after[name]) for name in before)
    for log in trainer.records.logs:
        numbers = [value for value in log.values() if value is not None]
        assert all(math.isfinite(value) for value in numbers)
    log = trainer.records.logs[0]
    assert log["completions/num_dropped"] == 8
    assert log["reward"] is None and log["rewards/scripted/mean"] is None
    assert log["kl"] == 0


BANNED = banned_token_ids(shared_processor())


@pytest.mark.parametrize(
    ("truncated", "token"),
    [("keep", BANNED[0]), ("keep", BANNED[-1]), ("drop", BANNED[-1]), ("trl", BANNED[-1])],
)
def test_a_completion_with_a_vision_token_does_not_count(
    truncated: str, token: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could not have been sampled; should one turn up, only the rest of the batch trains."""
    replies = {
        "a": {**REPLIES["a"], 1: completion("a bright", extra=[token, token])},
        "b": {n: completion(text) for n, text in enumerate(["Joy", "emotion in", "the", "Anger"])},
    }
    terms = RewardSet.from_preset("paper")
    trainer = scripted_trainer(
        tmp_path,
        monkeypatch,
        replies,
        truncated=truncated,
        rewards=[ScriptedReward("scripted", REWARDS), *terms.trl_functions()],
        weights=[1.0, *[0.0] * len(terms.weights)],
        num_iterations=2,
        max_steps=2,
    )
    trainer.train()
    sampling = trainer.records.samplings[0]
    [dropped] = [n for n, flag in enumerate(sampling.dropped) if flag]
    assert sampling.completions[dropped].token_ids[-3:-1] == [token, token]
    assert trainer._rewards_per_func[dropped].isnan().all()
    others = [n for n in range(8) if n != dropped]
    assert not trainer._rewards_per_func[others].isnan().any()

    group = slice(dropped - 1, dropped + 3)
    assert sampling.output["advantages"][group].tolist() == pytest.approx(
        group_advantages([1.0, None, 0.5, 0.0]), abs=1e-6
    )
    assert not sampling.output["completion_mask"][dropped].any()
    for one in trainer.records.passes:
        assert one.log_probs.isfinite().all()
    assert all(math.isfinite(batch.loss) for batch in trainer.records.micro_batches)
    log = trainer.records.logs[0]
    assert log["completions/num_dropped"] == 1
    assert log["completions/num_truncated"] == 0

    # Its tokens have no gradient: another text in its place gives the same step.
    replies["a"][1] = completion("emotion", extra=[token])
    again = scripted_trainer(
        tmp_path, monkeypatch, replies, truncated=truncated, num_iterations=2, max_steps=2
    )
    again.train()
    for step in (0, 1):
        assert_same_gradients(again.records.gradients[step], trainer.records.gradients[step])
    policy, start = fresh_policy(sampling.weights), fresh_policy()
    slow = []
    for index in others:
        one, sampled = sampling.rows[index], sampling.completions[index]
        arguments = (trainer.clips.prompt(one), sampled.token_ids, trainer.temperature)
        log_probs = plain_log_probs(policy, *arguments)
        with torch.no_grad():
            reference = plain_log_probs(start, *arguments)
        advantage = float(sampling.output["advantages"][index])
        slow.append(SlowCompletion(log_probs, log_probs.detach(), reference, advantage))
    slow_loss("grpo", slow, beta=0.04).backward()
    assert_same_gradients(trainer.records.gradients[0], gradients(policy))


def test_a_ratio_that_would_overflow_stays_finite_for_a_dropped_completion(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its masked log-prob is 0; against an old one of -1000 the ratio would be e to the 1000."""
    replies = {"a": {1: completion("Joy and Fear and Anger", extra=[BANNED[0]])}}
    trainer = scripted_trainer(
        tmp_path,
        monkeypatch,
        replies,
        attach=None,  # all others have a ratio of 1 to the old and to the reference policy
        learning_rate=0.0,
        num_iterations=2,
        max_steps=2,
        temperature=0.005,
    )
    trainer.train()
    [dropped] = [n for n, flag in enumerate(trainer.records.samplings[0].dropped) if flag]
    for one in trainer.records.passes:
        if one.name != "policy":
            assert float(one.log_probs[dropped].min()) < -200  # exp(200) is more than float32 holds
    assert all(math.isfinite(batch.loss) for batch in trainer.records.micro_batches)
    for found in trainer.records.gradients:
        assert all(value.isfinite().all() for value in found.values())
