"""Two real processes of which one meets a bad clip or stands still.

The clips of one run break once its rows are checked: one file is cut in half, and the decoding of
another never ends. Five rows, two a step.
"""

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from affect.run_folder import RunFolder
from tests.train.killed_runs import (
    KilledRun,
    Start,
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
    completions,
    grpo_settings,
    make_places,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

NUM_STEPS = 4
BROKEN = {"CUT": "wide", "HANG": "long"}
BAD_IDS = {"wide", "long"}
REPLACING = ["--data.decode_timeout_seconds=2", "--data.max_bad_clips_share=0.5"]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("trouble"))


def run_of(places: Places, name: str, stage: str, launcher: Sequence[str]) -> KilledRun:
    rows_per_process = 2 if launcher is ONE_PROCESS else 1
    if stage == "sft":
        settings = [
            *(*places.drawn(model=places.base), "--trainer.learning_rate=1e-4"),
            *(f"--trainer.max_steps={NUM_STEPS}", "--trainer.logging_steps=1"),
            *("--trainer.warmup_steps=0", "--trainer.gradient_checkpointing=true"),
        ]
    else:
        settings = [*places.drawn(model=places.started), *grpo_settings(2, NUM_STEPS, 110)]
        rows_per_process *= 2
    # Under this seed GRPO, which takes four of the five rows in an epoch, meets both bad clips.
    arguments = [*settings, *five_rows(places), "--trainer.save_steps=3", "--seed=1"]
    arguments.append(f"--trainer.per_device_train_batch_size={rows_per_process}")
    arguments += [] if launcher is ONE_PROCESS else GLOO
    return KilledRun(stage, places.folder / name, launcher, arguments)


@pytest.fixture
def whole_clips(places: Places) -> Iterator[None]:
    """Puts back what a run cut."""
    path = places.world / "videos" / f"{BROKEN['CUT']}.mp4"
    content = path.read_bytes()
    yield
    path.write_bytes(content)


def jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def replaced_by(run: RunFolder) -> dict[str, str]:
    return {line["id"]: line["replaced_by"] for line in jsonl(run.replaced_rows)}


def check_named(run: RunFolder, start: Start) -> None:
    """Both clips in the quarantine, the record and on stderr."""
    assert set(replaced_by(run)) == BAD_IDS
    reasons = {Path(line["path"]).stem: line["reason"] for line in jsonl(run.quarantine)}
    assert set(reasons) == {"wide", "long"}
    assert reasons["long"] == "decoding took longer than 2 s and was ended"
    for row in BAD_IDS:
        assert f"bad clip: row {row}: " in start.result.stderr


@pytest.mark.usefixtures("whole_clips")
@pytest.mark.parametrize("stage", ["sft", "grpo"])
def test_bad_clips_on_one_process_and_on_two(places: Places, stage: str) -> None:
    runs, starts = [], []
    for name, launcher in (("one", ONE_PROCESS), ("two", TWO_PROCESSES)):
        run = run_of(places, f"{stage}_{name}", stage, launcher)
        run.arguments = [*run.arguments, *REPLACING]
        run.variables = BROKEN
        path = places.world / "videos" / "wide.mp4"
        content = path.read_bytes()
        if name == "two":  # killed and resumed, with the clips as they then are
            assert run.start("begin 4", KILL_RANK="1").result.returncode != 0
            run.variables = {}
        starts.append(run.finish())
        path.write_bytes(content)
        runs.append(run.run)
    one, two = runs
    assert resumed_from(starts[1]) == "checkpoint-3"
    check_named(one, starts[0])
    assert replaced_by(two) == replaced_by(one)
    check_same_calls(starts[1], num_steps=1)
    for line, other in zip(log_lines(two), log_lines(one), strict=True):
        assert line["step"] == other["step"]
        assert line["loss"] == pytest.approx(other["loss"], abs=1e-5)
        assert line["data/num_replaced"] == other["data/num_replaced"]
    assert sum(line["data/num_replaced"] for line in log_lines(one)) >= len(BAD_IDS)
    check_same_weights(two, one, tolerance=1e-5)
    if stage == "grpo":
        check_completions(one, two)


def check_completions(one: RunFolder, two: RunFolder) -> None:
    names = replaced_by(one)
    replaced: dict[str, int] = {}
    for step in range(1, NUM_STEPS + 1):
        lines, others = (completions(run, step) for run in (one, two))
        keys = ("id", "sample", "replaces", "text")
        assert [[x[key] for key in keys] for x in lines] == [[x[k] for k in keys] for x in others]
        for line in lines:
            assert line["id"] not in BAD_IDS
            if line["replaces"] is not None:
                assert line["id"] == names[line["replaces"]]
                replaced[line["replaces"]] = replaced.get(line["replaces"], 0) + 1
    assert replaced and all(number % 2 == 0 for number in replaced.values())  # whole groups


@pytest.mark.usefixtures("whole_clips")
def test_too_many_bad_clips_stop_both_processes(places: Places) -> None:
    run = run_of(places, "too_many", "sft", TWO_PROCESSES)
    start = run.start(CUT="wide")
    assert start.result.returncode != 0 and not run.run.is_done
    assert "1 of 5 rows have a clip that can't be read, and" in start.result.stderr
    assert "data.max_bad_clips_share allows 0.1; they are listed in" in start.result.stderr


def test_a_process_that_stands_still_is_named(places: Places) -> None:
    """Process 1 never leaves its reward function in step 2; process 0 waits for its rewards."""
    run = run_of(places, "stalled", "grpo", TWO_PROCESSES)
    run.arguments = [*run.arguments, "--stall_timeout_seconds=10"]
    process = run.open(SLEEP="1 2")
    _, err = process.communicate(timeout=300)
    ended_at = time.time()
    assert process.returncode != 0 and not run.run.is_done
    assert "rank 1 of 2 stood still for " in err and "in rewards (in sampling, " in err
    assert "forward and backward, training), step 2" in err
    assert "rank 0 of 2 waits for the other processes (" in err
    assert "in sleeping" in err  # the stack names the function
    assert "exitcode  : 124" in err
    spoke_at = [path.stat().st_mtime for path in run.run.stalled.iterdir()]
    assert len(spoke_at) == 2 and ended_at - min(spoke_at) < 20
    assert left_over(process.pid) == []


def left_over(session: int) -> list[str]:
    """Command lines of processes of the session that are still there."""
    deadline = time.monotonic() + 10
    while (found := in_session(session)) and time.monotonic() < deadline:
        time.sleep(0.2)
    for process_id in found:  # leave none behind a failing test
        os.kill(process_id, signal.SIGKILL)
    return list(found.values())


def in_session(session: int) -> dict[int, str]:
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if os.getsid(int(folder.name)) == session:
                    command = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                    found[int(folder.name)] = command.decode(errors="replace")
            except (ProcessLookupError, FileNotFoundError):
                continue
    return found
