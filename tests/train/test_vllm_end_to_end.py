"""GRPO with vLLM rollouts as users start it: colocated, a server, two processes, ZeRO-3, Ctrl-C.

Nothing is replaced: `accelerate launch`, the engine's own processes, weights through files.
"""

import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from affect.run_folder import RunFolder
from tests.paths import ROOT
from tests.train.launching import (
    GLOO,
    ONE_PROCESS,
    TWO_PROCESSES,
    Places,
    completions,
    entry,
    grpo_settings,
    launch,
    launch_command,
    launch_environment,
    make_places,
    metrics,
    sharded,
    start_arguments,
    train,
)
from tests.train.vllm_rollouts import PYTHON, needs_vllm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), needs_vllm]

# Two groups of four in a step, however many processes there are.
SETTINGS = [*grpo_settings(4, 3, 110), "--trainer.top_k=0", "--trainer.save_steps=1"]
# What float32 leaves between two implementations, and the ban on vision tokens.
AGREES = 1e-3


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("vllm_runs"))


def colocated(places: Places) -> list[str]:
    return [
        *("--rollout.engine", "vllm_colocate", "--rollout.vllm.memory_share", "0.1"),
        *("--rollout.vllm.python", str(PYTHON)),
        *(*places.drawn(model=places.started), *SETTINGS),
        "--trainer.per_device_train_batch_size=8",
    ]


@pytest.fixture(scope="module")
def whole(places: Places) -> RunFolder:
    """A colocated run of three steps that nothing disturbs."""
    return train("grpo", places.folder / "whole", ONE_PROCESS, *colocated(places))


@pytest.fixture(scope="module")
def server(places: Places) -> Iterator[list[str]]:
    """Arguments that name a server, started as docs/training.md says; it ends at a SIGTERM."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = places.folder / "shared"
    log = places.folder / "server.log"
    command = [
        *(str(ROOT / "launch" / "vllm_server.sh"), "--model", str(places.started)),
        *("--max-model-tokens", "878", "--sync-root", str(shared), "--port", str(port)),
        *("--dtype", "float32", "--memory-share", "0.1", "--eager"),
    ]
    with log.open("wb") as file:
        process = subprocess.Popen(
            command,
            env=launch_environment(VLLM_PYTHON=str(PYTHON)),
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    until = time.monotonic() + 180
    while b"\nserving " not in log.read_bytes():
        assert process.poll() is None and time.monotonic() < until, log.read_text()[-3000:]
        time.sleep(0.2)
    yield [
        *("--rollout.engine", "vllm_server", "--rollout.vllm.sync_folder", str(shared)),
        *("--rollout.vllm.server_url", f"http://127.0.0.1:{port}"),
    ]
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0


def engines(folder: Path) -> list[str]:
    """Command lines of rollout engines that were started for a run in this folder."""
    found = subprocess.run(["ps", "-eww", "-o", "args"], capture_output=True, text=True, check=True)
    return [
        line
        for line in found.stdout.splitlines()
        if "train.vllm_server" in line and str(folder.resolve()) in line
    ]


def check_run(run: RunFolder, num_steps: int) -> None:
    lines = metrics(run)
    assert [line["step"] for line in lines] == list(range(1, num_steps + 1))
    for line in lines:
        assert all(math.isfinite(line[key]) for key in ("loss", "kl", "reward", "grad_norm"))
        assert 0 < line["sampling/logp_difference_mean"] < AGREES
        assert line["sampling/logp_difference_max"] < 10 * AGREES
        assert line["completions/num_too_long"] == 0
        assert len(completions(run, line["step"])) == 8
    assert not engines(run.path)
    assert not (run.path / "vllm_sync").exists()


def sampled(run: RunFolder, step: int) -> list[tuple[str, int, str]]:
    return sorted((one["id"], one["sample"], one["text"]) for one in completions(run, step))


def test_three_steps_with_an_engine_beside_the_trainer(whole: RunFolder) -> None:
    check_run(whole, 3)
    assert any(line["reward"] > 0 for line in metrics(whole))
    # The weights changed between the samplings, and the engine's with them.
    assert any(line["grad_norm"] > 0 for line in metrics(whole)[:2])


def test_two_processes_with_one_server_sample_what_one_process_does(
    places: Places, whole: RunFolder, server: list[str]
) -> None:
    run = train(
        "grpo",
        places.folder / "served",
        TWO_PROCESSES,
        *(*server, *GLOO, *places.drawn(model=places.started), *SETTINGS),
    )
    check_run(run, 3)
    assert sampled(run, 1) == sampled(whole, 1)
    assert metrics(run)[0]["loss"] == pytest.approx(metrics(whole)[0]["loss"], abs=1e-4)


def test_weights_sharded_by_zero3_reach_the_server(
    places: Places, whole: RunFolder, server: list[str]
) -> None:
    run = train(
        "grpo",
        places.folder / "sharded",
        sharded(3, places.folder),
        *(*server, *GLOO, *places.drawn(model=places.started), *SETTINGS),
        "--trainer.max_steps=2",
        DS_ACCELERATOR="cpu",
    )
    check_run(run, 2)
    assert sampled(run, 1) == sampled(whole, 1)


def test_ctrl_c_ends_the_engine_and_the_run_goes_on_as_if_nothing_had_been(
    places: Places, whole: RunFolder
) -> None:
    run = RunFolder(places.folder / "stopped")
    arguments = start_arguments("grpo", run.path, *colocated(places))
    process = subprocess.Popen(
        launch_command(ONE_PROCESS, entry("grpo"), arguments),
        env=launch_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not run.completions(1).is_file():
        assert process.poll() is None, process.communicate()[0][-3000:]
        time.sleep(0.05)
    assert len(engines(run.path)) == 1
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    told = process.communicate()[0]
    assert process.returncode != 0 and "the same command" in told
    assert not engines(run.path)
    result = launch(ONE_PROCESS, entry("grpo"), arguments)
    assert result.returncode == 0, result.stderr[-3000:]
    check_run(run, 3)
    for step in (1, 2, 3):
        assert sampled(run, step) == sampled(whole, step)


def test_a_server_that_is_not_there_is_told_by_its_address(places: Places) -> None:
    result = launch(
        ONE_PROCESS,
        entry("grpo"),
        start_arguments(
            "grpo",
            places.folder / "nowhere",
            *("--rollout.engine", "vllm_server"),
            *("--rollout.vllm.server_url", "http://127.0.0.1:9"),
            *(*places.drawn(model=places.started), *SETTINGS),
        ),
    )
    assert result.returncode != 0
    assert "the rollout engine at http://127.0.0.1:9 can't be reached" in result.stderr


def test_an_engine_ends_with_a_trainer_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, time\n"
        "from pathlib import Path\n"
        "from train.vllm_process import EngineProcess\n"
        "arguments = ['--model', 'none', '--max-model-tokens', '8', '--sync-root', sys.argv[1]]\n"
        "engine = EngineProcess(Path(sys.argv[2]), arguments, Path(sys.argv[1], 'log'))\n"
        "time.sleep(2)\n"
        "assert engine.process.poll() is None\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    result = subprocess.run([sys.executable, "-c", code, str(tmp_path), str(PYTHON)], check=False)
    assert result.returncode == -signal.SIGKILL
    until = time.monotonic() + 30
    while engines(tmp_path):
        assert time.monotonic() < until
        time.sleep(0.2)
