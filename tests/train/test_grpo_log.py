"""What a run writes down: metrics by name, and each step's completions with their rewards."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from affect.jsonl import read_jsonl
from affect.model.inputs import banned_token_ids
from affect.parsing import parse_reply
from affect.timeline import Timeline
from rewards import RewardSet
from tests.tiny import ANSWER, shared_processor
from tests.train.grpo_fixtures import (
    DURATION_SECONDS,
    build_trainer,
    completion,
    rows,
    script_completions,
)
from tests.train.recording_trainer import RecordingTrainer
from train.completion_log import CompletionLog

TERMS = ("struct", "count", "seg", "emo", "reason")
REPLIES = {
    "a": {
        0: completion(ANSWER),
        1: completion(ANSWER.replace("Fear", "Anger")),
        2: completion("[bold]x[/bold]"),
        3: completion("", extra=[banned_token_ids(shared_processor())[0]]),
    },
    "b": {
        0: completion("Here: " + ANSWER),
        1: completion(ANSWER[:150], finished=False),
        2: completion('{"segments": []}'),
        3: completion("Joy"),
    },
}


def logged_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[RecordingTrainer, CompletionLog]:
    script_completions(monkeypatch, REPLIES)
    log = CompletionLog(folder / "completions", max_table_rows=3)
    trainer = build_trainer(
        folder / "checkpoints",
        rows("ab"),
        completion_log=log,
        num_generations=4,
        max_completion_length=400,
        **settings,
    )
    trainer.train()
    return trainer, log


@pytest.mark.parametrize("beta", [0.0, 0.04])
def test_every_metric_that_users_ask_for_is_logged_and_finite(
    beta: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, _ = logged_run(tmp_path, monkeypatch, beta=beta)
    log = trainer.records.logs[0]
    expected = {
        *(f"rewards/{term}/mean" for term in TERMS),
        *(f"rewards/{term}/within_group_std" for term in (*TERMS, "total")),
        "reward", "reward_std", "frac_reward_zero_std", "entropy", "loss", "grad_norm",
        "learning_rate", "clip_ratio/region_mean", "clip_ratio/low_mean", "clip_ratio/high_mean",
        "completions/mean_length", "completions/min_length", "completions/max_length",
        "completions/clipped_ratio", "completions/num_truncated", "completions/num_dropped",
        "num_tokens", "step_time", *(["kl"] if beta else []),
    }  # fmt: skip
    assert expected <= log.keys()
    assert "kl" in log or not beta
    assert all(math.isfinite(log[name]) for name in expected)
    assert log["completions/num_dropped"] == 1
    assert log["completions/num_truncated"] == 1
    assert log["frac_reward_zero_std"] == 0


def test_means_and_spreads_are_those_of_the_scored_completions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, log = logged_run(tmp_path, monkeypatch)
    records = read_jsonl(log.folder / "step_000001.jsonl")
    metrics = trainer.records.logs[0]
    for term, name in [*((term, term) for term in TERMS), ("reward", "total")]:
        values = [one[term] for one in records if one[term] is not None]
        assert len(values) == 7
        mean = metrics["reward"] if name == "total" else metrics[f"rewards/{term}/mean"]
        assert mean == pytest.approx(sum(values) / 7, abs=1e-6)
        groups = [[one[term] for one in records if one["id"] == row] for row in "ab"]
        spreads = [torch.tensor([v for v in group if v is not None]).std() for group in groups]
        assert metrics[f"rewards/{name}/within_group_std"] == pytest.approx(
            float(sum(spreads)) / 2, abs=1e-6
        )


@pytest.mark.parametrize("preset", ["paper", "hardened"])
def test_completions_are_written_with_the_rewards_that_their_text_earns(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reward_set = RewardSet.from_preset(preset)
    trainer, log = logged_run(
        tmp_path, monkeypatch, rewards=reward_set.trl_functions(), weights=reward_set.weights
    )
    records = read_jsonl(log.folder / "step_000001.jsonl")
    assert sorted((one["id"], one["sample"]) for one in records) == [
        (name, sample) for name in "ab" for sample in range(4)
    ]
    parsed_answer = parse_reply(ANSWER, DURATION_SECONDS)
    truth = parsed_answer.timeline
    assert isinstance(truth, Timeline)
    advantages = trainer.records.samplings[0].output["advantages"].tolist()
    for record, advantage in zip(records, advantages, strict=True):
        scripted = REPLIES[record["id"]][record["sample"]]
        assert record["step"] == 1
        assert record["text"] == scripted.text
        assert record["num_tokens"] == len(scripted.token_ids)
        assert record["finished"] == scripted.finished
        assert record["advantage"] == advantage
        if (record["id"], record["sample"]) == ("a", 3):
            assert record["dropped"] is True
            assert [record[name] for name in (*TERMS, "reward")] == [None] * 6
            assert record["advantage"] == 0
            continue
        assert record["dropped"] is False
        prompt = f"Describe {record['id'] * 3}."
        parsed = parse_reply(record["text"], DURATION_SECONDS, record["num_tokens"])
        scores = reward_set.score(parsed, truth, prompt)
        for name in TERMS:
            assert record[name] == pytest.approx(scores[name], abs=1e-6), name
        assert record["reward"] == pytest.approx(scores.total, abs=1e-6)
    best = next(one for one in records if (one["id"], one["sample"]) == ("a", 0))
    assert [best[name] for name in ("struct", "count", "seg", "emo")] == [1.0] * 4


def test_each_step_has_its_files_and_the_table_shows_markup_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, log = logged_run(tmp_path, monkeypatch, max_steps=2, learning_rate=0.0)
    assert sorted(path.name for path in log.folder.iterdir()) == [
        "step_000001.jsonl", "step_000001.txt", "step_000002.jsonl", "step_000002.txt",
    ]  # fmt: skip
    for step in (1, 2):
        records = read_jsonl(log.folder / f"step_{step:06d}.jsonl")
        assert [one["step"] for one in records] == [step] * 8
        table = (log.folder / f"step_{step:06d}.txt").read_text(encoding="utf-8")
        shown = [one for one in records[:3] if one["text"] == "[bold]x[/bold]"]
        assert table.count("[bold]x[/bold]") == len(shown)
        assert f"{records[0]['id']} #0" in table and f"{records[3]['id']} #3" not in table


def test_a_sampling_for_several_updates_is_written_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, log = logged_run(tmp_path, monkeypatch, num_iterations=2, max_steps=4)
    assert len(trainer.records.micro_batches) == 4
    assert sorted(path.name for path in log.folder.glob("*.jsonl")) == [
        "step_000001.jsonl", "step_000003.jsonl",
    ]  # fmt: skip


def test_an_evaluation_writes_no_training_completions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, log = logged_run(
        tmp_path,
        monkeypatch,
        eval_rows=rows("ab"),
        eval_strategy="steps",
        eval_steps=1,
        per_device_eval_batch_size=8,
    )
    assert len(trainer.records.samplings) == 2
    assert len(read_jsonl(log.folder / "step_000001.jsonl")) == 8
    evaluated = trainer.records.logs[1]
    assert evaluated["eval_completions/num_dropped"] == 1
    assert math.isfinite(evaluated["eval_loss"])
    assert math.isfinite(evaluated["eval_rewards/total/within_group_std"])
