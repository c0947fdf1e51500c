"""kill -9 in GRPO: rows, completions, rewards and losses go on as in the run that was not killed.

Five rows, two prompts a step, so epochs are steps 1-2, 3-4, 5-6 and 7; a checkpoint every three.
"""

from typing import Any

import pytest

from affect.run_folder import RunFolder
from tests.train.killed_runs import (
    CLIP_OF_ROW,
    KilledRun,
    Start,
    check_same_weights,
    five_rows,
    log_lines,
    resumed_from,
)
from tests.train.launching import ONE_PROCESS, Places, completions, grpo_settings, make_places

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

NUM_STEPS = 7


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("killed_grpo"))


def grpo(places: Places, name: str) -> KilledRun:
    settings = [
        *(*places.drawn(model=places.started), *five_rows(places)),
        *grpo_settings(2, NUM_STEPS, 110),
        *("--trainer.per_device_train_batch_size=4", "--trainer.save_steps=3"),
        *("--trainer.gradient_accumulation_steps=1", "--trainer.save_total_limit=1"),
    ]
    return KilledRun("grpo", places.folder / name, ONE_PROCESS, settings)


@pytest.fixture(scope="module")
def whole(places: Places) -> tuple[KilledRun, Start]:
    run = grpo(places, "whole")
    return run, run.finish()


def all_completions(run: RunFolder) -> list[dict[str, Any]]:
    """Of every step that has a file, which must be the run's steps and no others."""
    names = sorted(path.name for path in (run.path / "completions").glob("*.jsonl"))
    assert names == [f"step_{step:06d}.jsonl" for step in range(1, NUM_STEPS + 1)]
    return [line for step in range(1, NUM_STEPS + 1) for line in completions(run, step)]


def check_reads(start: Start, whole: Start, step: int) -> None:
    """The start read what the whole run read after `step` steps, and decoded nothing else."""
    rows = start.rows["0"]
    stream = whole.rows["0"][2 * step :]
    assert rows == stream[: len(rows)] and len(rows) >= 2
    assert start.decodes["0"] == [CLIP_OF_ROW[row] for row in rows]


def test_the_run_that_is_not_killed(whole: tuple[KilledRun, Start]) -> None:
    run, start = whole
    lines = all_completions(run.run)
    assert len(lines) == 4 * NUM_STEPS
    assert [line["id"] for line in lines[::2]] == start.rows["0"]
    orders = [start.rows["0"][place : place + 4] for place in (0, 4, 8)]
    assert orders[0] != orders[1] != orders[2]
    assert any(line["reward_std"] > 0 for line in log_lines(run.run))


def test_killed_four_times(places: Places, whole: tuple[KilledRun, Start]) -> None:
    run = grpo(places, "killed")
    folder = run.run.checkpoints

    first = run.start("begin 5")  # the last checkpoint lies within epoch 1
    assert "Signals.SIGKILL" in first.result.stderr
    before = completions(run.run, 4)

    second = run.start("files 6")  # all of the checkpoint's files but the list of them
    assert resumed_from(second) == "checkpoint-3"
    check_reads(second, whole[1], 3)
    assert completions(run.run, 4) == before

    third = run.start("saved 6")  # at the end of an epoch
    assert f"{folder / 'checkpoint-6'} is not whole" in third.result.stderr
    assert resumed_from(third) == "checkpoint-3"

    # What a full disk or a broken copy leaves.
    weights = folder / "checkpoint-6" / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-7])
    fourth = run.start("saved 6")
    assert f"model.safetensors has {len(content) - 7} bytes of" in fourth.result.stderr
    assert resumed_from(fourth) == "checkpoint-3"
    check_reads(fourth, whole[1], 3)

    last = run.finish()
    assert resumed_from(last) == "checkpoint-6"
    check_reads(last, whole[1], 6)
    assert log_lines(run.run) == log_lines(whole[0].run)
    assert all_completions(run.run) == all_completions(whole[0].run)
    check_same_weights(run.run, whole[0].run)
