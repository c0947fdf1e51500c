"""Ctrl-C during training: a checkpoint at the step's end, and the same run goes on from it."""

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from transformers import TrainerCallback

import train.interrupt
from affect.config import load_config
from affect.model.loading import load_policy
from affect.run_folder import RunFolder, checkpoint_steps
from affect.trained_budget import read_budget
from tests.paths import ROOT
from tests.train.drawn_rows import clip_store, draw_world, sft_trainer
from train.clips import ClipStore
from train.interrupt import StopOnInterrupt
from train.restart_command import restart_command
from train.run_start import INTERRUPTED_EXIT_CODE, train_to_the_end
from train.sft_config import SftRun

# Twelve rows in three epochs of two steps: the stop after step 3 lies within the second epoch.
SETTINGS: dict[str, Any] = {
    "per_device_train_batch_size": 2,
    "max_steps": 6,
    "optim": "adamw_torch",
    "learning_rate": 1e-3,
    "lr_scheduler_type": "cosine",
    "logging_steps": 1,
    "save_strategy": "steps",
    "save_steps": 100,
}


class Signals(TrainerCallback):  # type: ignore[misc]
    """Sends a signal to this process while the given steps run."""

    def __init__(self, number: int, *steps: int) -> None:
        self.number = number
        self.steps = steps

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step + 1 in self.steps:
            os.kill(os.getpid(), self.number)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_world(tmp_path_factory.mktemp("world"))


def start(
    world: Path, path: Path, *callbacks: TrainerCallback, **overrides: Any
) -> tuple[int, ClipStore, Any]:
    """What one start of train/sft.py does once its configuration is read."""
    folder = RunFolder(path)
    run = load_config(SftRun, ROOT / "configs/sft/demo.yaml", {"run_dir": str(path)})
    store = clip_store(world)
    trainer = sft_trainer(
        world,
        folder.checkpoints,
        store=store,
        callbacks=callbacks,
        **{**SETTINGS, **overrides},
    )
    return train_to_the_end(trainer, run, folder, max_completion_tokens=99), store, trainer


def logged(folder: RunFolder) -> list[dict[str, Any]]:
    """The lines of the steps, without the clock."""
    lines = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
    return [{**line, "elapsed_seconds": None} for line in lines if "loss" in line]


@pytest.mark.parametrize("logging_steps", [1, 2])
def test_a_stopped_run_goes_on_and_ends_as_if_it_had_not_been(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], logging_steps: int
) -> None:
    """The log's mean over steps 3 and 4, of which one lies before the stop, is kept too."""
    whole, stopped = RunFolder(tmp_path / "whole"), RunFolder(tmp_path / "stopped")
    settings = {"logging_steps": logging_steps}
    assert start(world, whole.path, **settings)[0] == 0
    before = signal.getsignal(signal.SIGINT)

    code, _, _ = start(world, stopped.path, Signals(signal.SIGINT, 3), **settings)
    assert code == INTERRUPTED_EXIT_CODE == 130
    assert signal.getsignal(signal.SIGINT) is before
    assert [path.name for path in stopped.checkpoints.glob("checkpoint-*")] == ["checkpoint-3"]
    assert not stopped.is_done and not stopped.final.exists()
    assert (stopped.checkpoints / "checkpoint-3" / "budget.json").is_file()
    captured = capsys.readouterr()
    assert "stopping after this step, with a checkpoint" in captured.err
    last = stopped.checkpoints / "checkpoint-3"
    assert f"stopped at step 3 of 6, with {last}; to go on from it, the same" in captured.err
    assert f"\n  {restart_command()}\n" in captured.err

    code, store, _ = start(world, stopped.path, **settings)
    assert code == 0 and stopped.is_done
    assert f"resuming from {stopped.checkpoints / 'checkpoint-3'}" in capsys.readouterr().out
    # The rows that were skipped (one step of the second epoch) are not decoded for it: the second
    # half of that epoch brings two clips, the third epoch the others.
    assert store.num_decodes == 4
    assert [line["step"] for line in logged(stopped)] == list(range(1, 7))[
        logging_steps - 1 :: logging_steps
    ]
    assert logged(stopped) == logged(whole)
    weights, again = (load_file(f.final / "model.safetensors") for f in (whole, stopped))
    assert all(torch.equal(weights[name], again[name]) for name in weights)


def test_what_a_finished_run_leaves(world: Path, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    code, _, trainer = start(world, folder.path, max_steps=2, save_steps=1)
    assert code == 0
    assert json.loads(folder.done.read_text())["steps"] == 2
    budgets = [folder.budget, folder.final / "budget.json"]
    budgets += [folder.checkpoints / f"checkpoint-{step}" / "budget.json" for step in (1, 2)]
    assert {read_budget(path).max_completion_tokens for path in budgets} == {99}
    assert not list(folder.final.glob("*.bin"))
    model, processor = load_policy(folder.final)
    trained = dict(trainer.model.named_parameters())
    assert all(p.equal(trained[name]) for name, p in model.named_parameters())
    assert model.config.get_text_config().use_cache is True
    assert processor.chat_template == trainer.processing_class.chat_template


def test_a_signal_in_the_last_step_ends_a_finished_run(world: Path, tmp_path: Path) -> None:
    code, _, _ = start(world, tmp_path / "run", Signals(signal.SIGINT, 2), max_steps=2)
    assert code == 0 and RunFolder(tmp_path / "run").is_done


class Twice(Signals):
    """A signal before each of a step's two micro-batches."""

    def on_substep_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step + 1 in self.steps:
            os.kill(os.getpid(), self.number)


TWO_MICRO_BATCHES = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 2}


def test_a_second_signal_ends_it_at_once(
    world: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(train.interrupt, "SAME_PRESS_SECONDS", 0.0)
    run = RunFolder(tmp_path / "run")
    before = signal.getsignal(signal.SIGINT)
    settings = {**TWO_MICRO_BATCHES, "save_steps": 2}
    code, _, _ = start(world, run.path, Twice(signal.SIGINT, 4), **settings)
    assert code == INTERRUPTED_EXIT_CODE
    assert signal.getsignal(signal.SIGINT) is before
    assert not run.is_done
    assert checkpoint_steps(run.checkpoints) == [2]
    last = run.checkpoints / "checkpoint-2"
    shown = capsys.readouterr().err
    assert f"stopped at step 3 of 6, with {last}; to go on from it, the same command:" in shown

    code, _, _ = start(world, tmp_path / "new", Twice(signal.SIGINT, 1), **settings)
    assert code == INTERRUPTED_EXIT_CODE
    shown = capsys.readouterr().err
    assert "stopped at step 0 of 6, without any checkpoint; to start over, the same" in shown


def test_the_launchers_echo_of_a_signal_is_no_second_one(world: Path, tmp_path: Path) -> None:
    """torchrun passes on what the terminal has already sent to every process."""
    run = RunFolder(tmp_path / "run")
    code, _, _ = start(world, run.path, Twice(signal.SIGINT, 2), **TWO_MICRO_BATCHES)
    assert code == INTERRUPTED_EXIT_CODE
    assert checkpoint_steps(run.checkpoints) == [2]


def test_a_signal_while_the_checkpoint_is_written_waits_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(train.interrupt, "SAME_PRESS_SECONDS", 0.0)
    with StopOnInterrupt() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert after_step(stop, 1)
        os.kill(os.getpid(), signal.SIGTERM)
    assert "the checkpoint is being written" in capsys.readouterr().err


@pytest.mark.parametrize(("variable", "stops"), [("ACCELERATE_MIXED_PRECISION", True), ("", False)])
def test_the_death_of_the_launcher_stops_the_run(
    monkeypatch: pytest.MonkeyPatch, variable: str, stops: bool
) -> None:
    """Started without one, a process outlives the shell that started it, as nohup wants it."""
    for name in ("ACCELERATE_MIXED_PRECISION", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "no")
    # Whoever really started the tests may be gone already, in which case 1 is nothing new.
    monkeypatch.setattr(os, "getppid", lambda: 4242)
    with StopOnInterrupt() as stop:
        assert not after_step(stop, 1)
        monkeypatch.setattr(os, "getppid", lambda: 1)
        assert after_step(stop, 2) is stops


def after_step(stop: StopOnInterrupt, step: int) -> bool:
    control = SimpleNamespace(should_save=False, should_training_stop=False)
    args = SimpleNamespace(device="cpu")
    stop.on_step_end(args, SimpleNamespace(global_step=step), control)
    assert control.should_save is control.should_training_stop
    return control.should_save


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_waits_for_the_end_of_a_sampling(number: int) -> None:
    """A checkpoint in between could not restore the completions that are still to be used."""
    with StopOnInterrupt(steps_per_sampling=4) as stop:
        assert not after_step(stop, 4)
        os.kill(os.getpid(), number)
        assert [after_step(stop, step) for step in (5, 6, 7, 8)] == [False, False, False, True]


def test_a_loaders_process_does_not_answer_for_the_run() -> None:
    """Forked while the handler stands, it gets the terminal's Ctrl-C too."""
    with StopOnInterrupt() as stop:
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
            os._exit(3 if stop.requested else 0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert not stop.requested
