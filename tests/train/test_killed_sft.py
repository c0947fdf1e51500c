"""kill -9 in a cold start: what goes on afterwards is the run that was never killed.

Five rows, two a step, so epochs are steps 1-3, 4-6 and 7-8; a checkpoint every two steps.
"""

import pytest

from tests.train.killed_runs import (
    CLIP_OF_ROW,
    ROW_IDS,
    KilledRun,
    Start,
    check_same_weights,
    five_rows,
    log_lines,
    resumed_from,
)
from tests.train.launching import ONE_PROCESS, Places, make_places

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SETTINGS = [
    *("--trainer.per_device_train_batch_size", "2", "--trainer.max_steps", "8"),
    *("--trainer.logging_steps", "1", "--trainer.save_steps", "2"),
    *("--trainer.warmup_steps", "2", "--trainer.save_total_limit", "1"),
]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("killed_sft"))


def sft(places: Places, name: str, *arguments: str) -> KilledRun:
    given = [*places.drawn(model=places.base), *five_rows(places), *SETTINGS, *arguments]
    return KilledRun("sft", places.folder / name, ONE_PROCESS, given)


@pytest.fixture(scope="module")
def whole(places: Places) -> tuple[KilledRun, Start]:
    run = sft(places, "whole")
    return run, run.finish()


def first_row(step: int) -> int:
    """Where the rows of a step begin in the stream of the run, steps counted from 0."""
    return step // 3 * 5 + step % 3 * 2


def check_reads(start: Start, whole: Start, step: int) -> None:
    """The start read what the whole run read after `step` steps, and decoded nothing else."""
    rows = start.rows.get("0", [])
    stream = whole.rows["0"][first_row(step) :]
    assert rows == stream[: len(rows)] and len(rows) >= min(len(stream), 2)
    assert start.decodes.get("0", []) == [CLIP_OF_ROW[row] for row in rows]


def test_the_run_that_is_not_killed(whole: tuple[KilledRun, Start]) -> None:
    run, start = whole
    stream = start.rows["0"]
    assert [line["step"] for line in log_lines(run.run)] == [1, 2, 3, 4, 5, 6, 7, 8]
    epochs = [stream[0:5], stream[5:10]]
    assert all(sorted(epoch) == sorted(ROW_IDS) for epoch in epochs)
    assert epochs[0] != epochs[1]
    assert log_lines(run.run)[0]["learning_rate"] == 0.0  # the warm-up's first; nothing moves


def test_killed_four_times(places: Places, whole: tuple[KilledRun, Start]) -> None:
    """With a loader process, which reads ahead; the whole run had none."""
    run = sft(places, "killed", "--trainer.dataloader_num_workers", "1")
    folder = run.run.checkpoints

    first = run.start("begin 6")  # within epoch 1; the last checkpoint too
    assert "Signals.SIGKILL" in first.result.stderr
    assert resumed_from(first) is None

    second = run.start("model 6")  # half a checkpoint
    assert resumed_from(second) == "checkpoint-4"
    check_reads(second, whole[1], 4)
    half = folder / "checkpoint-6"
    assert (half / "model.safetensors").is_file() and not (half / "optimizer.pt").exists()

    third = run.start("saved 6")  # at the end of epoch 1; checkpoint-4 is not yet removed
    assert f"{half} is not whole and is passed over: it has no readable" in third.result.stderr
    assert resumed_from(third) == "checkpoint-4"
    check_reads(third, whole[1], 4)
    assert (folder / "checkpoint-4").is_dir()

    fourth = run.start("saved 8")  # all steps done, but not the run
    assert resumed_from(fourth) == "checkpoint-6"
    check_reads(fourth, whole[1], 6)
    assert not run.run.is_done

    last = run.finish()
    assert resumed_from(last) == "checkpoint-8"
    assert last.rows == last.decodes == {}
    assert log_lines(run.run) == log_lines(whole[0].run)
    check_same_weights(run.run, whole[0].run)
