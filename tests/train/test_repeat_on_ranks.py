"""Two processes take the steps that one takes, plainly and with ZeRO, and again after a kill.

Five rows, two a step. With two processes each step is one row from each, and an epoch's last step
has one row, which the other process fills up. Tower frozen, output layer tied, checkpointing on.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from affect.model.loading import load_policy
from affect.run_folder import RunFolder
from tests.train.killed_runs import (
    KilledRun,
    check_same_calls,
    check_same_weights,
    five_rows,
    log_lines,
    resumed_from,
)
from tests.train.launching import (
    GLOO,
    ONE_PROCESS,
    TWO_PROCESSES,
    Places,
    check_only_the_tower_stood_still,
    completions,
    grpo_settings,
    make_places,
    sharded,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]  # DeepSpeed may compile for a minute

NUM_SFT_STEPS = 8
NUM_GRPO_STEPS = 4
KINDS = ["ddp", "zero2", "zero3"]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("ranks"))


def sft(places: Places, name: str, launcher: Sequence[str], *arguments: str) -> KilledRun:
    settings = [
        *(*places.drawn(model=places.base), *five_rows(places), *arguments),
        *(f"--trainer.max_steps={NUM_SFT_STEPS}", "--trainer.logging_steps=1"),
        *("--trainer.save_steps=4", "--trainer.warmup_steps=0", "--trainer.learning_rate=1e-4"),
        "--trainer.gradient_checkpointing=true",
    ]
    variables = {"DS_ACCELERATOR": "cpu"} if "zero" in name else {}
    return KilledRun("sft", places.folder / name, launcher, settings, variables)


def grpo(places: Places, name: str, launcher: Sequence[str], *arguments: str) -> KilledRun:
    settings = [
        *(*places.drawn(model=places.started), *five_rows(places)),
        *(*grpo_settings(2, NUM_GRPO_STEPS, 110), "--trainer.save_steps=3", *arguments),
        "--trainer.gradient_checkpointing=true",
    ]
    variables = {"DS_ACCELERATOR": "cpu"} if "zero" in name else {}
    return KilledRun("grpo", places.folder / name, launcher, settings, variables)


def two_processes(kind: str, folder: Path) -> Sequence[str]:
    if kind == "ddp":
        return TWO_PROCESSES
    pytest.importorskip("deepspeed")
    return sharded(int(kind[-1]), folder)


def check_whole_model(run: RunFolder, expected: RunFolder) -> None:
    """`final/` is an ordinary model: the same files and weights as one process writes."""
    files, others = (sorted(path.name for path in one.final.iterdir()) for one in (run, expected))
    assert files == others
    weights, plain = (load_file(one.final / "model.safetensors") for one in (run, expected))
    assert weights.keys() == plain.keys() and not any("lm_head" in name for name in weights)
    assert {n: w.dtype for n, w in weights.items()} == {n: w.dtype for n, w in plain.items()}
    tokens = torch.arange(40)[None]
    models = [load_policy(one.final)[0].eval() for one in (run, expected)]
    with torch.no_grad():
        found, wanted = (model(input_ids=tokens).logits for model in models)
    assert torch.allclose(found, wanted, atol=1e-3) and found.abs().max() > 0.1


# --- cold start -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sft_on_one(places: Places) -> tuple[KilledRun, list[str]]:
    run = sft(places, "sft_one", ONE_PROCESS, "--trainer.per_device_train_batch_size=2")
    return run, run.finish().rows["0"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cold_start(
    places: Places, tmp_path: Path, sft_on_one: tuple[KilledRun, list[str]], kind: str
) -> None:
    one, stream = sft_on_one
    run = sft(
        places,
        f"sft_{kind}",
        two_processes(kind, tmp_path),
        *("--trainer.per_device_train_batch_size=1", *GLOO),
    )
    first = run.start("begin 7", KILL_RANK="1")
    assert first.result.returncode != 0 and not run.run.is_done
    # Two rows a step, one from each process; then an epoch's fifth, filled up with its first.
    dealt = list(zip(first.rows["0"], first.rows["1"], strict=False))
    for epoch in (0, 1):
        rows = stream[5 * epoch : 5 * epoch + 5]
        filled = [(rows[0], rows[1]), (rows[2], rows[3]), (rows[4], rows[0])]
        assert dealt[3 * epoch : 3 * epoch + 3] == filled

    # From the middle of epoch 1, whose order is not that of epoch 0.
    last = run.finish()
    assert resumed_from(last) == "checkpoint-4"
    assert last.rows["0"][:2] == [stream[7], stream[9]]
    assert last.rows["1"][0] == stream[8]
    check_same_calls(first, num_steps=6)
    check_same_calls(last, num_steps=4)
    check_same_steps(log_lines(run.run), log_lines(one.run))
    check_same_weights(run.run, one.run, tolerance=1e-5)
    check_only_the_tower_stood_still(places.base, run.run.final)
    check_whole_model(run.run, one.run)


def check_same_steps(lines: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert [line["step"] for line in lines] == [line["step"] for line in expected]
    for line, other in zip(lines, expected, strict=True):
        assert line["loss"] == pytest.approx(other["loss"], abs=1e-5)
        assert line["grad_norm"] == pytest.approx(other["grad_norm"], rel=1e-3, abs=1e-5)
        for name in ("mean_token_accuracy", "num_tokens", "learning_rate", "reward", "kl"):
            assert line.get(name) == pytest.approx(other.get(name), abs=1e-5), name


@pytest.mark.parametrize("stage", [2, 3])
def test_a_weight_that_the_optimizer_was_not_given(
    places: Places, tmp_path: Path, stage: int
) -> None:
    """ZeRO keeps copies of its own, on which it steps."""
    pytest.importorskip("deepspeed")
    run = sft(
        places,
        f"forgotten_zero{stage}",
        sharded(stage, tmp_path),
        *("--trainer.per_device_train_batch_size=1", *GLOO),
    )
    name = "model.language_model.layers.0.mlp.up_proj.weight"
    start = run.start(FORGET=name)
    assert start.result.returncode != 0 and not run.run.is_done
    assert "step 1 had gradients and a learning rate of 0.0001, but these" in start.result.stderr
    assert f"trainable weights did not change: {name}; the optimizer" in start.result.stderr


# --- GRPO -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grpo_on_one(places: Places) -> KilledRun:
    run = grpo(places, "grpo_one", ONE_PROCESS, "--trainer.per_device_train_batch_size=4")
    run.finish()
    return run


@pytest.mark.parametrize("kind", KINDS)
def test_grpo(places: Places, tmp_path: Path, grpo_on_one: KilledRun, kind: str) -> None:
    run = grpo(
        places,
        f"grpo_{kind}",
        two_processes(kind, tmp_path),
        *("--trainer.per_device_train_batch_size=2", *GLOO),
        # Processes then lack different numbers of clips: two rows share one.
        *([f"--data.tower_cache={tmp_path / 'tower'}"] if kind == "zero3" else []),
    )
    # Within the second epoch of two steps.
    first = run.start("begin 4", KILL_RANK="1")
    assert first.result.returncode != 0 and not run.run.is_done
    last = run.finish()
    assert resumed_from(last) == "checkpoint-3"
    for start in (first, last):  # the other process may have gone on until its launcher ended it
        dealt = list(zip(start.rows["0"], start.rows["1"], strict=False))
        assert dealt and all(row_of_0 != row_of_1 for row_of_0, row_of_1 in dealt)
    check_same_calls(first, num_steps=3)
    check_same_calls(last, num_steps=1)
    for step in range(1, NUM_GRPO_STEPS + 1):
        check_same_completions(run.run, grpo_on_one.run, step)
    check_same_steps(log_lines(run.run), log_lines(grpo_on_one.run))
    check_same_weights(run.run, grpo_on_one.run, tolerance=1e-5)
    check_only_the_tower_stood_still(places.started, run.run.final)
    check_whole_model(run.run, grpo_on_one.run)


def check_same_completions(run: RunFolder, expected: RunFolder, step: int) -> None:
    lines, others = (completions(one, step) for one in (run, expected))
    assert [line["text"] for line in lines] == [line["text"] for line in others]
    for line, other in zip(lines, others, strict=True):
        numbers = {name: value for name, value in other.items() if isinstance(value, float)}
        assert {name: line[name] for name in numbers} == pytest.approx(numbers, abs=1e-5)
        assert (line["id"], line["sample"]) == (other["id"], other["sample"])
