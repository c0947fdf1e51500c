"""The trainer with an engine: new weights before each sampling, rows left out, log-probs compared.

The engine here is a second copy of the policy in this process, which really samples.
"""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from affect.model.generation import generate
from tests.tiny import shared_processor
from tests.train.grpo_fixtures import (
    ScriptedReward,
    SyntheticClipStore,
    build_trainer,
    clips,
    fresh_policy,
    perturb,
    rows,
)
from tests.train.recording_trainer import RecordingTrainer
from train.engine_trainer import EngineGrpoTrainer
from train.rollouts import GroupRequest, Rollouts, SamplingSettings, together


class RecordingEngineTrainer(RecordingTrainer, EngineGrpoTrainer):
    """Records what goes through it."""


class CopyEngine:
    """Samples with a copy of the policy; `stale` keeps it from taking new weights."""

    def __init__(self, without_room: Sequence[str] = (), stale: bool = False) -> None:
        self.model = fresh_policy()
        self.without_room = without_room
        self.stale = stale
        self.synced: list[float] = []
        self.requests: list[GroupRequest] = []

    def sync(self, model: Any, accelerator: Any) -> None:
        self.synced.append(float(sum(weight.detach().sum() for weight in model.parameters())))
        if not self.stale:
            self.model.load_state_dict(model.state_dict())

    def sample(
        self, requests: Sequence[GroupRequest], settings: SamplingSettings, accelerator: Any
    ) -> Rollouts:
        self.requests += requests
        groups = generate(
            self.model,
            shared_processor(),
            [one.prompt for one in requests],
            num_samples=len(requests[0].seeds),
            max_new_tokens=settings.max_new_tokens,
            temperature=settings.temperature,
            seeds=[one.seeds for one in requests],
        )
        names = [one.prompt.name for one in requests]
        return Rollouts(
            [
                None if name in self.without_room else group
                for name, group in zip(names, groups, strict=True)
            ]
        )

    def close(self) -> None:
        pass


def trainer_with(folder: Path, engine: Any, names: str = "ab", **settings: Any) -> Any:
    ours = {"logp_alarm", "alarm_every_steps", "stop_on_alarm"}
    given = {name: settings.pop(name) for name in ours & settings.keys()}
    return build_trainer(
        folder,
        rows(names),
        trainer_class=functools.partial(RecordingEngineTrainer, engine=engine, **given),
        **settings,
    )


def differences(trainer: Any) -> list[float]:
    return [
        log["sampling/logp_difference_mean"]
        for log in trainer.records.logs
        if "sampling/logp_difference_mean" in log
    ]


def test_an_engine_with_the_same_weights_changes_nothing(tmp_path: Path) -> None:
    engine = CopyEngine()
    reward = [ScriptedReward("scripted", {"a": [0.0, 1.0], "b": [1.0, 0.0]})]
    with_engine = trainer_with(tmp_path / "a", engine, max_steps=2, rewards=reward)
    with_engine.train()
    without = trainer_with(tmp_path / "b", None, max_steps=2, rewards=reward)
    without.train()
    for ours, plain in zip(with_engine.records.samplings, without.records.samplings, strict=True):
        assert [c.token_ids for c in ours.completions] == [c.token_ids for c in plain.completions]
    assert len(engine.synced) == 2 and engine.synced[0] != engine.synced[1]
    for trainer in (with_engine, without):
        assert len(differences(trainer)) == 2
        assert max(differences(trainer)) < 1e-5
    # Frames as the trainer has them, and a seed of its own for each completion.
    assert len({seed for one in engine.requests for seed in one.seeds}) == 8
    assert {one.prompt.name for one in engine.requests} == {"a", "b"}
    assert all(one.clip.frames.dtype == "uint8" for one in engine.requests)


def test_weights_that_were_not_taken_raise_the_alarm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = fresh_policy()
    perturb(model)
    engine = CopyEngine(stale=True)
    trainer = trainer_with(
        tmp_path, engine, model=model, max_steps=4, logp_alarm=0.01, alarm_every_steps=3
    )
    trainer.train()
    assert min(differences(trainer)) > 0.01
    told = capsys.readouterr().err
    assert told.count("log-probs from sampling and from training differ") == 2
    assert "step 1:" in told and "step 4:" in told
    assert "weights that were not synced" in told
    largest = trainer.records.logs[0]["sampling/logp_difference_max"]
    assert largest >= differences(trainer)[0]


def test_the_difference_is_that_of_the_tokens_that_count(tmp_path: Path) -> None:
    """Literally: |training's log-prob - sampling's| over all completions' tokens."""
    model = fresh_policy()
    perturb(model)
    trainer = trainer_with(tmp_path, CopyEngine(stale=True), model=model)
    trainer.train()
    (sampling,) = trainer.records.samplings
    policy = trainer.policy_log_probs()
    found = [
        abs(float(policy[row, place]) - log_prob)
        for row, completion in enumerate(sampling.completions)
        for place, log_prob in enumerate(completion.log_probs)
    ]
    assert differences(trainer) == [pytest.approx(sum(found) / len(found), rel=1e-5)]
    (log,) = [one for one in trainer.records.logs if "sampling/logp_difference_max" in one]
    assert log["sampling/logp_difference_max"] == pytest.approx(max(found), rel=1e-5)


def test_the_alarm_can_end_the_run(tmp_path: Path) -> None:
    model = fresh_policy()
    perturb(model)
    trainer = trainer_with(
        tmp_path, CopyEngine(stale=True), model=model, logp_alarm=0.01, stop_on_alarm=True
    )
    with pytest.raises(ValueError, match="come from another policy"):
        trainer.train()


def test_several_micro_batches_and_updates_of_one_sampling(tmp_path: Path) -> None:
    """One difference per sampling, of its first update; later ones train another policy."""
    trainer = trainer_with(
        tmp_path,
        CopyEngine(),
        "abcd",
        per_device_train_batch_size=2,
        gradient_accumulation_steps=2,
        steps_per_generation=4,
        max_steps=4,
    )
    trainer.train()
    assert len(trainer.records.samplings) == 2 and len(trainer.records.micro_batches) == 8
    assert len(differences(trainer)) == 2
    assert max(differences(trainer)) < 1e-5


def test_a_row_without_room_is_counted_and_does_not_count(tmp_path: Path) -> None:
    trainer = trainer_with(tmp_path, CopyEngine(without_room=["a"]))
    trainer.train()
    (sampling,) = trainer.records.samplings
    names = [row["id"] for row in sampling.rows]
    assert sampling.dropped == [name == "a" for name in names]
    mask = sampling.output["completion_mask"]
    assert all(int(mask[row].sum() == 0) == (name == "a") for row, name in enumerate(names))
    log = trainer.records.logs[0]
    assert log["completions/num_too_long"] == 2 and log["completions/num_dropped"] == 2
    assert torch.isfinite(torch.tensor(trainer.records.micro_batches[0].loss))


def test_an_evaluation_samples_with_the_engine_and_is_not_compared(tmp_path: Path) -> None:
    engine = CopyEngine()
    trainer = trainer_with(
        tmp_path,
        engine,
        max_steps=2,
        eval_rows=rows("c"),
        store=SyntheticClipStore(clips(rows("abc"))),
        eval_strategy="steps",
        eval_steps=1,
        per_device_eval_batch_size=2,
    )
    trainer.train()
    # A sampling before step 1, an evaluation after it, and both once more.
    assert [one.prompt.name for one in engine.requests if one.prompt.name == "c"] == ["c", "c"]
    assert len(differences(trainer)) == 2 and max(differences(trainer)) < 1e-5
    assert len(engine.synced) == 3  # the second step samples with the weights evaluated before


class _Ranks:
    """Two processes of which the other failed, or not."""

    device = torch.device("cpu")
    num_processes = 2

    def __init__(self, num_failed_elsewhere: int) -> None:
        self.elsewhere = num_failed_elsewhere

    def reduce(self, value: torch.Tensor, how: str) -> torch.Tensor:
        assert how == "sum"
        return value + self.elsewhere


def fail(error: Exception) -> None:
    raise error


def test_what_fails_on_one_process_fails_on_all() -> None:
    assert together(_Ranks(0), lambda: 3) == 3
    with pytest.raises(ValueError, match="failed on 1 of 2 processes"):
        together(_Ranks(1), lambda: 3)
    with pytest.raises(ValueError, match="mine"):
        together(_Ranks(1), lambda: fail(ValueError("mine")))
    with pytest.raises(ValueError, match="rollout engine: disk"):
        together(_Ranks(0), lambda: fail(OSError("disk")))
