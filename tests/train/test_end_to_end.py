"""The two commands as users type them, on a very small model: one process and two.

Sharded runs are compared with these in `test_repeat_on_ranks`.

Nothing is replaced: `accelerate launch`, the entry points, real video files, the trackers' files.
"""

import json
import math
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from affect.run_folder import RunFolder
from affect.trained_budget import read_budget
from tests.paths import SHARED, needs_shared
from tests.train.drawn_rows import CLIPS
from tests.train.launching import (
    GLOO,
    ONE_PROCESS,
    TWO_PROCESSES,
    Places,
    changed_weights,
    check_only_the_tower_stood_still,
    completions,
    entry,
    grpo_settings,
    launch,
    make_places,
    metrics,
    start_arguments,
    train,
)
from train.grpo_config import TERMS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # DeepSpeed may compile for a minute

TRACKERS = ["--trainer.report_to", "[wandb, tensorboard, trackio]"]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("end_to_end"))


# --- real video files -----------------------------------------------------------------------------

REAL = [
    *("--data.rows", str(SHARED / "videos" / "real.jsonl")),
    *("--data.video_root", str(SHARED / "videos"), "--video.max_frames", "6"),
]


@pytest.fixture(scope="module")
def real_sft(places: Places) -> RunFolder:
    return train(
        "sft",
        places.folder / "real_sft",
        ONE_PROCESS,
        *("--model.path", str(places.base), "--data.max_tokens", "4096", *REAL, *TRACKERS),
        *("--trainer.per_device_train_batch_size", "2", "--trainer.max_steps", "3"),
        *("--trainer.logging_steps", "1", "--trainer.warmup_steps", "0"),
    )


@pytest.fixture(scope="module")
def real_grpo(places: Places, real_sft: RunFolder) -> RunFolder:
    return train(
        "grpo",
        places.folder / "real_grpo",
        ONE_PROCESS,
        *("--model.path", str(real_sft.final), "--data.max_prompt_tokens", "4096"),
        *(*REAL, *TRACKERS, *grpo_settings(2, 3, 24)),
    )


@needs_shared
def test_a_cold_start_on_real_clips(places: Places, real_sft: RunFolder) -> None:
    check_only_the_tower_stood_still(places.base, real_sft.final)
    lines = metrics(real_sft)
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert all(math.isfinite(line["loss"]) and line["grad_norm"] > 0 for line in lines)
    assert yaml.safe_load(real_sft.config.read_text())["trainer"]["max_steps"] == 3
    command = json.loads(real_sft.environment.read_text())["command"]
    assert command[0] == "train/sft.py" and "--trainer.max_steps" in command
    assert json.loads(real_sft.done.read_text())["steps"] == 3
    assert (real_sft.checkpoints / "checkpoint-3").is_dir()
    budget = read_budget(real_sft.final / "budget.json")
    assert budget == read_budget(real_sft.budget)
    assert (budget.video.max_frames, budget.prompt) == (6, "segment")
    assert budget.prompt_hash is not None


@needs_shared
def test_grpo_on_real_clips(real_sft: RunFolder, real_grpo: RunFolder) -> None:
    changed_weights(real_sft.final, real_grpo.final)  # both load; no reply earned a reward yet
    lines = metrics(real_grpo)
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert abs(lines[0]["kl"]) < 1e-4  # the reference is the cold-started model
    for line in lines:
        assert math.isfinite(line["loss"]) and math.isfinite(line["grad_norm"])
        assert {f"rewards/{term}/mean" for term in TERMS} <= line.keys()
        assert {f"rewards/{term}/within_group_std" for term in TERMS} <= line.keys()
    known = {"step", "id", "sample", "text", "num_tokens", "finished", "dropped", *TERMS}
    for step in (1, 2, 3):
        first, second = completions(real_grpo, step)
        assert known <= first.keys()
        assert first["id"] == second["id"] and (first["sample"], second["sample"]) == (0, 1)
        assert real_grpo.completions(step).with_suffix(".txt").read_text().count(first["id"]) == 2
    assert read_budget(real_grpo.final / "budget.json").max_completion_tokens == 24
    assert real_grpo.is_done and (real_grpo.checkpoints / "checkpoint-3").is_dir()


def written(folder: Path) -> dict[Path, int]:
    """When each file of a run was written; wandb's service closes its own after the run's end."""
    return {
        path: path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if "wandb" not in path.relative_to(folder).parts
    }


@needs_shared
@pytest.mark.parametrize("name", ["sft", "grpo"])
def test_a_finished_run_is_left_alone(name: str, real_sft: RunFolder, real_grpo: RunFolder) -> None:
    run = {"sft": real_sft, "grpo": real_grpo}[name]
    before = written(run.path)
    command = json.loads(run.environment.read_text())["command"]
    result = subprocess.run(
        [sys.executable, str(entry(name)), *command[1:]], capture_output=True, text=True, check=True
    )
    assert result.stdout == f"{run.path} is done already: {run.final}\n"
    assert written(run.path) == before


SHOWN = {
    "sft": ["loss", "mean_token_accuracy", "learning_rate"],
    "grpo": ["reward", "kl", "completions/mean_length", *(f"rewards/{t}/mean" for t in TERMS)],
}


@needs_shared
@pytest.mark.parametrize("name", ["sft", "grpo"])
def test_trackers_write_into_the_run(name: str, real_sft: RunFolder, real_grpo: RunFolder) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = {"sft": real_sft, "grpo": real_grpo}[name]
    tags = [f"train/{tag}" for tag in SHOWN[name]]

    [offline] = run.path.glob("wandb/offline-run-*/run-*.wandb")
    content = offline.read_bytes()
    assert all(tag.encode() in content for tag in tags)
    tables = list(offline.parent.glob("files/media/table/completions*.table.json"))
    assert bool(tables) == (name == "grpo")

    events = EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    for tag, shown in zip(tags, SHOWN[name], strict=True):
        written = [(event.step, event.value) for event in events.Scalars(tag)]
        assert written == [
            (line["step"], pytest.approx(line[shown], rel=1e-6)) for line in metrics(run)
        ]

    [database] = run.path.glob("trackio/*.db")
    with sqlite3.connect(database) as connection:
        rows = [json.loads(text) for (text,) in connection.execute("SELECT metrics FROM metrics")]
    assert all(sum(tag in row for row in rows) == 3 for tag in tags)


# --- two processes --------------------------------------------------------------------------------

# The real entry point; each process notes the rows it is given, and process 1 gets a Ctrl-C.
NOTING_SCRIPT = """
import os, signal, sys
from pathlib import Path
from accelerate import PartialState
from transformers import TrainerCallback
import train.run_start
import train.sft_trainer
from train.sft import main

rank = int(os.environ["RANK"])
collate = train.sft_trainer.VideoSftCollator.__call__
finish = train.run_start.train_to_the_end

def noting(collator, rows):
    ids = [row["id"] for row in rows]
    with open(Path(os.environ["NOTES"]) / f"process-{rank}", "a") as file:
        file.write(f"{PartialState().num_processes} {' '.join(ids)}\\n")
    return collate(collator, rows)

class CtrlC(TrainerCallback):
    def on_step_begin(self, args, state, control, **kwargs):
        if rank == 1 and state.global_step == 1:
            os.kill(os.getpid(), signal.SIGINT)

def interrupted(trainer, *args, **kwargs):
    trainer.add_callback(CtrlC())
    return finish(trainer, *args, **kwargs)

train.sft_trainer.VideoSftCollator.__call__ = noting
train.run_start.train_to_the_end = interrupted
sys.exit(main())
"""


def test_two_processes_share_the_rows_and_stop_together(places: Places, tmp_path: Path) -> None:
    script = tmp_path / "noting.py"
    script.write_text(NOTING_SCRIPT)
    arguments = [
        *places.drawn(model=places.base),
        *("--trainer.per_device_train_batch_size", "1", "--trainer.max_steps", "4"),
        *("--trainer.logging_steps", "1", *GLOO),
    ]
    run = RunFolder(tmp_path / "run")
    stopped = launch(
        TWO_PROCESSES, script, start_arguments("sft", run.path, *arguments), NOTES=str(tmp_path)
    )
    assert stopped.returncode != 0
    assert "stopped at step 2 of 4" in stopped.stderr, stopped.stderr[-5000:]
    assert not run.is_done
    # Two steps are one epoch of four rows: each process has two of them, and no row is seen twice.
    given = [(tmp_path / f"process-{rank}").read_text().splitlines()[:2] for rank in (0, 1)]
    assert all(line.startswith("2 ") for lines in given for line in lines)
    assert sorted(line.split()[1] for lines in given for line in lines) == sorted(CLIPS)

    finished = train("sft", run.path, TWO_PROCESSES, *arguments)
    assert [line["step"] for line in metrics(finished)] == [1, 2, 3, 4]
    check_only_the_tower_stood_still(places.base, finished.final)


def test_processes_that_do_not_know_each_other_are_refused(places: Places, tmp_path: Path) -> None:
    """Without gloo each would count one, train alone on all rows, and write the same folder."""
    arguments = [*places.drawn(model=places.base), "--trainer.use_cpu", "false"]
    result = launch(
        TWO_PROCESSES, entry("sft"), start_arguments("sft", tmp_path / "run", *arguments)
    )
    assert result.returncode != 0
    assert "2 processes were started, but each counts 1" in result.stderr
    assert "trainer.ddp_backend: gloo" in result.stderr
    assert not (tmp_path / "run" / "checkpoints").exists()


@pytest.fixture(scope="module")
def grpo_on_two(places: Places) -> RunFolder:
    return train(
        "grpo",
        places.folder / "grpo_on_two",
        TWO_PROCESSES,
        *(*places.drawn(model=places.started), *grpo_settings(4, 2, 110), *GLOO),
    )


def test_grpo_on_two_processes(places: Places, grpo_on_two: RunFolder) -> None:
    for step in (1, 2):
        rows = completions(grpo_on_two, step)
        # One whole group from each process, and not the same.
        assert len(rows) == 8 and len({row["id"] for row in rows}) == 2
        assert [row["sample"] for row in rows] == [0, 1, 2, 3] * 2
    assert {row["id"] for step in (1, 2) for row in completions(grpo_on_two, step)} == set(CLIPS)
    assert any(line["reward_std"] > 0 for line in metrics(grpo_on_two))
    check_only_the_tower_stood_still(places.started, grpo_on_two.final)
