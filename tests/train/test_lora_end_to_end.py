"""Both commands with `lora`, as users start them on two processes: plain, ZeRO-2 and ZeRO-3.

The base has learned a little; a cold start puts an adapter on it, GRPO trains that adapter on.
"""

import shutil
from pathlib import Path

import pytest
import torch

from affect.adapter_config import read_adapter_config
from affect.model.adapter import read_adapter_weights
from affect.model.loading import load_policy
from affect.run_folder import RunFolder
from affect.trained_budget import read_budget
from evaluation.predict import main as predict
from evaluation.predictions import read_predictions
from tests.train.launching import (
    GLOO,
    TWO_PROCESSES,
    Places,
    completions,
    grpo_settings,
    make_places,
    metrics,
    sharded,
    train,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # DeepSpeed may compile for a minute

LAUNCHES = ["ddp", "zero2", "zero3"]
RANK = ["--lora.rank", "4", "--lora.alpha", "8"]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("lora"))


def launcher(name: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    if name == "ddp":
        return TWO_PROCESSES, {}
    pytest.importorskip("deepspeed")
    return sharded(int(name[-1]), folder), {"DS_ACCELERATOR": "cpu"}


def grpo(places: Places, folder: Path, name: str, cold_start: RunFolder) -> RunFolder:
    """Two steps from the cold start's adapter, with a checkpoint after each."""
    start, variables = launcher(name, places.folder)
    return train(
        "grpo",
        folder,
        start,
        *(*places.drawn(model=cold_start.final), *grpo_settings(4, 2, 110), *GLOO, *RANK),
        *("--trainer.save_steps", "1", "--trainer.save_total_limit", "2"),
        *("--trainer.learning_rate", "1e-3"),
        **variables,
    )


class Runs:
    """The two runs of each launch, made when first asked for."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._runs: dict[str, RunFolder] = {}

    def sft(self, name: str) -> RunFolder:
        if f"sft {name}" not in self._runs:
            start, variables = launcher(name, self.places.folder)
            self._runs[f"sft {name}"] = train(
                "sft",
                self.places.folder / f"sft_{name}",
                start,
                *(*self.places.drawn(model=self.places.started), *GLOO, *RANK),
                *("--trainer.per_device_train_batch_size", "2", "--trainer.max_steps", "2"),
                *("--trainer.logging_steps", "1", "--trainer.warmup_steps", "0"),
                *("--trainer.gradient_checkpointing", "true", "--trainer.adam_beta2", "0.999"),
                **variables,
            )
        return self._runs[f"sft {name}"]

    def grpo(self, name: str) -> RunFolder:
        """All from the same cold start, so that they can be compared."""
        if f"grpo {name}" not in self._runs:
            cold_start = self.sft("ddp")
            folder = self.places.folder / f"grpo_{name}"
            self._runs[f"grpo {name}"] = grpo(self.places, folder, name, cold_start)
        return self._runs[f"grpo {name}"]


@pytest.fixture(scope="module")
def runs(places: Places) -> Runs:
    return Runs(places)


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_cold_start(places: Places, runs: Runs, name: str) -> None:
    run = runs.sft(name)
    losses, expected = ([line["loss"] for line in metrics(runs.sft(one))] for one in (name, "ddp"))
    assert len(losses) == 2 and losses == pytest.approx(expected, abs=1e-3)
    config = read_adapter_config(run.final)
    assert (config.base, config.rank) == (str(places.started.resolve()), 4)
    names = {path.name for path in run.final.rglob("*")}
    assert {"adapter_model.safetensors", "processor_config.json", "budget.json"} <= names
    assert not {"model.safetensors", "training_args.bin", "README.md", "ref"} & names
    weights = read_adapter_weights(run.final)
    assert len(weights) == 2 * (2 * 7 + 2)  # of two language layers and the merger
    for key, weight in weights.items():
        assert weight.abs().max() > 0, key  # B begins at zero


@pytest.mark.parametrize("name", LAUNCHES)
def test_grpo_trains_the_adapter_on(places: Places, runs: Runs, name: str) -> None:
    cold_start, run = runs.sft("ddp"), runs.grpo(name)
    lines = metrics(run)
    assert len(lines) == 2
    # The reference is base and adapter.
    assert abs(lines[0]["kl"]) < 1e-4
    assert any(line["reward_std"] > 0 for line in lines)
    assert read_adapter_config(run.final).base == str(places.started.resolve())
    assert not list(run.path.rglob("ref")) and not list(run.path.rglob("adapter_model.bin"))
    before, after = (read_adapter_weights(one.final) for one in (cold_start, run))
    assert before.keys() == after.keys()
    assert all(not torch.equal(before[key], after[key]) for key in before)
    # Sharding changes where numbers lie, not what they are.
    sampled, expected = (
        [row["text"] for row in completions(r, 1)] for r in (run, runs.grpo("ddp"))
    )
    assert sampled == expected
    for line, plain in zip(lines, metrics(runs.grpo("ddp")), strict=True):
        assert line["reward"] == pytest.approx(plain["reward"], abs=1e-6)
        assert line["loss"] == pytest.approx(plain["loss"], abs=1e-4)


@pytest.mark.parametrize("name", ["ddp", "zero2"])
def test_a_run_cut_short_ends_as_one_that_was_not(
    places: Places, runs: Runs, tmp_path: Path, name: str
) -> None:
    whole = runs.grpo(name)
    copy = tmp_path / "run"
    shutil.copytree(whole.path, copy)
    shutil.rmtree(copy / "final")
    shutil.rmtree(copy / "checkpoints" / "checkpoint-2")
    (copy / "done.json").unlink()
    config = copy / "config.yaml"
    config.write_text(config.read_text().replace(str(whole.path), str(copy)))
    resumed = grpo(places, copy, name, runs.sft("ddp"))
    expected, found = (read_adapter_weights(run.final) for run in (whole, resumed))
    assert all(torch.equal(found[key], expected[key]) for key in expected)
    assert completions(resumed, 2) == completions(whole, 2)
    kl, expected_kl = (metrics(run)[1]["kl"] for run in (resumed, whole))
    assert kl == expected_kl


def test_its_answers_are_those_of_the_adapter(places: Places, runs: Runs, tmp_path: Path) -> None:
    run = runs.grpo("ddp")
    rows = places.world / "rows.jsonl"
    arguments = ["--run", str(run.path), "--rows", str(rows), "--out", str(tmp_path)]
    assert predict([*arguments, "--name", "test"]) == 0
    answers = read_predictions(tmp_path / "predictions" / "test.jsonl").replies
    assert len(answers) == 4 and all(answer.text for answer in answers.values())
    assert read_budget(run.final / "budget.json") == read_budget(run.budget)
    loaded, _ = load_policy(run.final)
    assert set(loaded.peft_config) == {"default"}
