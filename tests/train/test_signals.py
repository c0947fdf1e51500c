"""Ctrl-C and SIGTERM, as a terminal, Slurm and kill send them, to runs that are really launched."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from affect.run_folder import checkpoint_steps
from tests.train.killed_runs import KilledRun, log_lines
from tests.train.launching import (
    GLOO,
    ONE_PROCESS,
    TWO_PROCESSES,
    Places,
    launch_environment,
    make_places,
)
from train.checkpoints import CONTENTS_FILE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

NUM_STEPS = 12
PAUSE_SECONDS = 6


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("signals"))


def sft(places: Places, name: str, launcher: Sequence[str], *arguments: str) -> KilledRun:
    """It pauses in step 4, so that there is a step to be stopped in."""
    settings = [
        *(*places.drawn(model=places.base), *arguments, "--trainer.logging_steps=1"),
        *("--trainer.per_device_train_batch_size=1", f"--trainer.max_steps={NUM_STEPS}"),
        *("--trainer.save_steps=2", "--trainer.save_total_limit=9"),
    ]
    variables = {"PAUSE": f"4 {PAUSE_SECONDS}"}
    return KilledRun("sft", places.folder / name, launcher, settings, variables)


def wait_for_step(run: KilledRun, process: subprocess.Popen[str], step: int) -> None:
    while not any(line["step"] == step for line in lines_so_far(run.run.metrics)):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


def lines_so_far(metrics: Path) -> list[dict[str, int]]:
    if not metrics.is_file():
        return []
    return [json.loads(line) for line in metrics.read_text().split("\n")[:-1]]


def check_it_stopped(run: KilledRun, shown: str, step: int, checkpoint: int) -> str:
    """At this step, with this checkpoint as the newest; returns the command to go on."""
    assert checkpoint_steps(run.run.checkpoints)[-1] == checkpoint, shown[-3000:]
    folder = run.run.checkpoints / f"checkpoint-{checkpoint}"
    assert not run.run.is_done
    told = f"stopped at step {step} of {NUM_STEPS}, with {folder}; to go on from it, the same"
    assert shown.count(told) == 1, shown[-3000:]
    [_, after] = shown.split(told)
    return after.splitlines()[1].strip()


def test_the_launcher_alone_gets_it(places: Places) -> None:
    """kill -INT of the launcher ends it at once; its process notices, saves and says how to go on.

    What it says is then typed, from another folder.
    """
    run = sft(places, "alone", ONE_PROCESS)
    process = run.open()
    wait_for_step(run, process, 3)
    process.send_signal(signal.SIGINT)
    _, shown = process.communicate()  # until its process has closed stderr, too
    command = check_it_stopped(run, shown, 4, 4)

    environment = launch_environment(NOTES=str(places.folder), SCRIPT=str(run.script))
    again = subprocess.run(
        ["bash", "-c", command],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert "checkpoint-4" in again.stdout
    assert run.run.is_done
    assert [line["step"] for line in log_lines(run.run)] == list(range(1, NUM_STEPS + 1))


@pytest.mark.parametrize(
    ("number", "launcher"),
    [(signal.SIGINT, "one"), (signal.SIGINT, "two"), (signal.SIGTERM, "two")],
    ids=["ctrl_c", "ctrl_c_on_two", "sigterm_on_two"],
)
def test_all_get_it(places: Places, number: signal.Signals, launcher: str) -> None:
    """A terminal's Ctrl-C and Slurm's SIGTERM go to launcher and processes; torchrun repeats it."""
    name = f"all_{launcher}_{number.name}"
    if launcher == "one":
        run = sft(places, name, ONE_PROCESS)
    else:
        run = sft(places, name, TWO_PROCESSES, *GLOO)
    process = run.open()
    wait_for_step(run, process, 3)
    os.killpg(process.pid, number)
    _, shown = process.communicate()
    check_it_stopped(run, shown, 4, 4)
    contents = json.loads((run.run.checkpoints / "checkpoint-4" / CONTENTS_FILE).read_text())
    num_processes = {"one": 1, "two": 2}[launcher]
    assert contents["num_processes"] == num_processes
    assert f"rng_state{'_1' * (num_processes - 1)}.pth" in contents["files"]


def test_twice(places: Places) -> None:
    """The second ends the step where it is; the last checkpoint is what there is to go on from."""
    run = sft(places, "twice", ONE_PROCESS)
    process = run.open()
    wait_for_step(run, process, 3)
    os.killpg(process.pid, signal.SIGTERM)
    time.sleep(3)
    os.killpg(process.pid, signal.SIGTERM)
    _, shown = process.communicate()
    check_it_stopped(run, shown, 3, 2)
