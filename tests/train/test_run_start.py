"""A run's folder: who may write there, what a second start finds, and what is recorded."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from affect.config import load_config
from affect.run_folder import RunFolder
from affect.trained_budget import TrainedBudget, read_budget
from affect.video import FrameBudget
from tests.paths import ROOT
from train.grpo_config import GrpoRun
from train.run_start import MetricsFile, SaveBudget, open_run
from train.sft_config import SftRun

TRACKER_FOLDERS = ("WANDB_DIR", "TENSORBOARD_LOGGING_DIR", "TRACKIO_DIR")


@pytest.fixture(autouse=True)
def no_tracker_folders(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in TRACKER_FOLDERS:
        monkeypatch.setenv(name, "to be put back")
        monkeypatch.delenv(name)
    yield


def sft_run(folder: Path, **overrides: Any) -> SftRun:
    named = {name.replace("__", "."): value for name, value in overrides.items()}
    return load_config(SftRun, ROOT / "configs/sft/demo.yaml", {"run_dir": str(folder), **named})


def opened(run: SftRun | GrpoRun) -> RunFolder:
    folder = open_run(run, ["train/sft.py", "--seed", "0"])
    assert folder is not None
    return folder


def state(step: int, main: bool = True) -> Any:
    return SimpleNamespace(global_step=step, is_world_process_zero=main)


def test_a_new_run_is_written_down(tmp_path: Path) -> None:
    run = sft_run(tmp_path / "run")
    folder = opened(run)
    assert load_config(SftRun, folder.config) == run
    environment = json.loads(folder.environment.read_text())
    assert environment["command"] == ["train/sft.py", "--seed", "0"]
    assert environment["packages"]["trl"] == "1.16.0"
    assert {name: os.environ[name] for name in TRACKER_FOLDERS} == {
        "WANDB_DIR": str(folder.path),
        "TENSORBOARD_LOGGING_DIR": str(folder.path / "tensorboard"),
        "TRACKIO_DIR": str(folder.path / "trackio"),
    }


def test_a_tracker_folder_that_the_user_set_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_DIR", "/elsewhere")
    opened(sft_run(tmp_path / "run"))
    assert os.environ["WANDB_DIR"] == "/elsewhere"


def test_only_the_first_process_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert opened(sft_run(tmp_path / "run")).path == tmp_path / "run"
    assert not (tmp_path / "run").exists()


def test_a_done_run_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = sft_run(tmp_path / "run")
    folder = opened(run)
    folder.write_done({"steps": 3})
    before = {path: path.stat().st_mtime_ns for path in folder.path.iterdir()}
    assert open_run(run, ["train/sft.py"]) is None
    assert f"{folder.path} is done already: {folder.final}" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in folder.path.iterdir()} == before


@pytest.mark.parametrize("progress", ["done", "metrics", "checkpoint"])
def test_other_settings_in_the_same_folder(tmp_path: Path, progress: str) -> None:
    folder = opened(sft_run(tmp_path / "run"))
    if progress == "done":
        folder.write_done({"steps": 3})
    elif progress == "metrics":
        folder.metrics.write_text('{"step": 1}\n')
    else:
        (folder.checkpoints / "checkpoint-5").mkdir(parents=True)
    before = folder.config.read_bytes()
    other = sft_run(
        tmp_path / "run",
        seed=1,
        video__fps=1.0,
        trainer__max_steps=9,
        trainer__lr_scheduler_type="",
    )
    with pytest.raises(ValueError) as caught:
        open_run(other, [])
    assert str(caught.value) == (
        f"{folder.path} holds a run with other settings (seed, trainer.lr_scheduler_type, "
        "trainer.max_steps, video.fps); choose another run_dir, or remove that folder to start over"
    )
    assert folder.config.read_bytes() == before


def test_the_same_settings_go_on(tmp_path: Path) -> None:
    folder = opened(sft_run(tmp_path / "run"))
    folder.metrics.write_text('{"step": 1}\n')
    assert opened(sft_run(tmp_path / "run")) == folder


def test_a_key_that_was_not_there_before_is_another_setting(tmp_path: Path) -> None:
    folder = opened(sft_run(tmp_path / "run"))
    folder.metrics.write_text('{"step": 1}\n')
    with pytest.raises(ValueError, match=r"\(trainer\.label_names\)"):
        open_run(sft_run(tmp_path / "run", trainer__label_names=[]), [])


def test_a_start_that_came_to_nothing_may_be_mended(tmp_path: Path) -> None:
    """Rows were too long, say: the user lowers max_frames and starts again in the same folder."""
    opened(sft_run(tmp_path / "run"))
    mended = sft_run(tmp_path / "run", video__max_frames=8)
    assert load_config(SftRun, opened(mended).config) == mended


def test_a_run_of_another_kind(tmp_path: Path) -> None:
    folder = opened(sft_run(tmp_path / "run"))
    folder.write_done({"steps": 3})
    grpo = load_config(GrpoRun, ROOT / "configs/grpo/demo.yaml", {"run_dir": str(tmp_path / "run")})
    with pytest.raises(ValueError, match=r"holds a run of another kind.*\n.*data\.max_tokens"):
        open_run(grpo, [])


# --- what is recorded ---------------------------------------------------------------------------


def test_metrics_lines(tmp_path: Path) -> None:
    metrics = MetricsFile(tmp_path / "run" / "metrics.jsonl")
    metrics.on_log(None, state(1), None, {"loss": 1.5, "kl": float("nan"), "num_tokens": 7})
    metrics.on_log(None, state(2), None, {"loss": float("inf"), "note": "x"})
    metrics.on_log(None, state(2), None, {})
    metrics.on_log(None, state(2, main=False), None, {"loss": 9.0})
    first, second = (json.loads(line) for line in metrics.path.read_text().splitlines())
    assert 0 <= first.pop("elapsed_seconds") < 5 and 0 <= second.pop("elapsed_seconds") < 5
    assert first == {"step": 1, "loss": 1.5, "kl": None, "num_tokens": 7}
    assert second == {"step": 2, "loss": None, "note": "x"}


def test_a_resumed_run_drops_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = [json.dumps({"step": step, "loss": step / 2}) + "\n" for step in (1, 2, 3, 4)]
    path.write_text("".join(lines))
    MetricsFile(path).on_train_begin(None, state(2), None)
    assert path.read_text() == lines[0] + lines[1]


@pytest.mark.parametrize("torn", ['{"step": 2, "lo', '{"step": 2}'])
def test_a_line_that_a_killed_process_left_is_dropped(tmp_path: Path, torn: str) -> None:
    """Even one that looks whole: its end never came, and the next line must not be glued to it."""
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n' + torn)
    MetricsFile(path).on_train_begin(None, state(5), None)
    assert path.read_text() == '{"step": 1}\n'


def test_a_first_start_and_other_processes_leave_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    MetricsFile(path).on_train_begin(None, state(0), None)
    assert not path.exists()
    path.write_text('{"step": 4}\n')
    MetricsFile(path).on_train_begin(None, state(0, main=False), None)
    assert path.read_text() == '{"step": 4}\n'


def test_a_budget_beside_every_checkpoint(tmp_path: Path) -> None:
    budget = TrainedBudget.of(FrameBudget(max_frames=6), max_completion_tokens=40)
    (tmp_path / "checkpoint-3").mkdir()
    args = SimpleNamespace(output_dir=str(tmp_path))
    SaveBudget(budget).on_save(args, state(3, main=False), None)
    assert list((tmp_path / "checkpoint-3").iterdir()) == []
    SaveBudget(budget).on_save(args, state(3), None)
    assert read_budget(tmp_path / "checkpoint-3" / "budget.json") == budget


def test_trl_is_not_loaded_before_a_run_is_open() -> None:
    """TRL loads trackio, which asks at once where to write; only an open run says that."""
    code = "import sys, train.run_start; sys.exit('trl' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
