"""How a training run begins and ends: its folder, TRL's arguments, resuming, the saved model.

Example:
    folder = open_run(run, argv)          # None where the run is done already
    args = trl_arguments(GRPOConfig, run, folder)
    ...
    train_to_the_end(trainer, run, folder)
"""

import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, ProgressCallback, TrainerCallback

from affect.atomic import write_text_atomic
from affect.config import check_known, load_config, save_config
from affect.run_folder import RunFolder, checkpoint_steps
from affect.trained_budget import BUDGET_FILE, ROW_PROMPT, SEGMENT_PROMPT, TrainedBudget
from train.checkpoints import find_checkpoint
from train.first_step import FirstStepChange
from train.interrupt import StopOnInterrupt
from train.marked_trainer import MarkOptimizerSteps
from train.progress import ReadableProgress
from train.publishing import PUSH_KEYS, publish_finished, without_push
from train.repeatable import check_repeatable
from train.restart_command import restart_command
from train.resume import load_weights_on_resume
from train.run_lock import lock_run
from train.sections import TrainRun
from train.stages import stage
from train.stall_timeout import collective_timeout_seconds
from train.stalls import StallWatch

INTERRUPTED_EXIT_CODE = 130

# What a run computes does not hang on these: a resumed run may have others.
MAY_CHANGE = frozenset(
    {
        *("data.clip_cache_megabytes", "data.decode_timeout_seconds"),
        "data.tower_cache_megabytes",
        *("rollout.logp_alarm", "rollout.alarm_every_steps", "rollout.stop_on_alarm"),
        *(f"rollout.vllm.{key}" for key in ("python", "memory_share", "server_url", "sync_folder")),
        *("rollout.vllm.start_timeout_seconds", "rollout.vllm.timeout_seconds"),
        *("data.on_bad_clip", "data.max_bad_clips_share"),
        *("stall_timeout_seconds", "trainer.ddp_timeout"),
        *(f"trainer.{key}" for key in PUSH_KEYS),
    }
)


def say(text: str) -> None:
    """One line to the user, from the main process only."""
    if _is_main_process():
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def warn(text: str) -> None:
    """As `say`, on stderr: what a user must see where stdout goes into a file."""
    if _is_main_process():
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def _is_main_process() -> bool:
    return os.environ.get("RANK", "0") == "0"


def open_run(run: TrainRun, command: list[str]) -> RunFolder | None:
    """The run's folder with its config and environment written; None if the run is done.

    A start that ended before its first logged step, say because rows were too long, claims nothing:
    its settings may be mended in place.

    Raises:
        ValueError: the folder holds a run with another config (names the keys that differ), or
            another process trains there.
    """
    folder = RunFolder(run.run_dir)
    if _is_main_process() and not folder.is_done:
        lock_run(folder.path)
    if folder.config.is_file() and has_trained(folder):
        changed = _changed_keys(folder, run)
        if changed:
            raise ValueError(
                f"{folder.path} holds a run with other settings ({', '.join(changed)}); choose "
                "another run_dir, or remove that folder to start over"
            )
    if folder.is_done:
        say(f"{folder.path} is done already: {folder.final}")
        return None
    if _is_main_process():
        save_config(folder.config, run)
        folder.write_environment(command)
    # Trackers write where the run writes.
    os.environ.setdefault("WANDB_DIR", str(folder.path))
    os.environ.setdefault("TENSORBOARD_LOGGING_DIR", str(folder.path / "tensorboard"))
    os.environ.setdefault("TRACKIO_DIR", str(folder.path / "trackio"))
    return folder


def has_trained(folder: RunFolder) -> bool:
    """Whether a start got as far as its first logged step or checkpoint."""
    return folder.is_done or folder.metrics.is_file() or bool(checkpoint_steps(folder.checkpoints))


def _changed_keys(folder: RunFolder, run: TrainRun) -> list[str]:
    try:
        before = load_config(type(run), folder.config)
    except ValueError as error:
        raise ValueError(
            f"{folder.path} holds a run of another kind or version; choose another run_dir\n{error}"
        ) from error
    changed = _differences(before.model_dump(mode="json"), run.model_dump(mode="json"))
    return [key for key in changed if key not in MAY_CHANGE]


def _differences(before: Any, now: Any, prefix: str = "") -> list[str]:
    if isinstance(before, dict) and isinstance(now, dict):
        names: list[str] = []
        for key in sorted({*before, *now}):
            names += _differences(before.get(key), now.get(key), f"{prefix}{key}.")
        return names
    return [] if before == now else [prefix.rstrip(".")]


def trl_arguments(config_class: Any, run: TrainRun, folder: RunFolder, **ours: Any) -> Any:
    """TRL's arguments from `run.trainer`, with what the run decides laid over them.

    Raises:
        ValueError: a key that TRL's config does not have (with the nearest one), a bad value, one
            that a resumed run could not repeat, or processes that don't know each other.
    """
    known = {field.name for field in dataclasses.fields(config_class) if field.init}
    check_known(run.trainer, known, "trainer")
    settings = {
        **_collective_timeout(run),
        "report_to": "none",
        "logging_steps": 1,
        **without_push(run.trainer),
        "output_dir": str(folder.checkpoints),
        "run_name": folder.path.name,
        "seed": run.seed,
        "data_seed": run.seed,
        "remove_unused_columns": False,
        "ddp_find_unused_parameters": False,
        # Written into the saved model's config; the training forwards switch their cache off.
        "use_cache": True,
        **ours,
    }
    try:
        args = config_class(**settings)
    except (TypeError, ValueError) as error:
        raise ValueError(f"trainer: {error}") from error
    num_started = int(os.environ.get("WORLD_SIZE", "1"))
    if args.world_size != num_started:
        raise ValueError(
            f"{num_started} processes were started, but each counts {args.world_size}, so each "
            "would train alone on all rows; on the CPU set trainer.use_cpu: true or "
            "trainer.ddp_backend: gloo"
        )
    check_repeatable(args)
    if args.use_cpu and torch.distributed.is_initialized():
        # transformers hands ddp_timeout on only where it does not use the CPU.
        limit = timedelta(seconds=args.ddp_timeout)
        torch.distributed.set_timeout(limit)
    return args


def _collective_timeout(run: TrainRun) -> dict[str, int]:
    """torch's limit for waiting processes: past the one at which stages are named.

    Raises:
        ValueError: the user's own limit would speak first.
    """
    seconds = collective_timeout_seconds(run.stall_timeout_seconds)
    if seconds is None:
        return {}
    own = run.trainer.get("ddp_timeout")
    if own is not None and own <= (run.stall_timeout_seconds or 0):
        raise ValueError(
            f"trainer.ddp_timeout ({own}) must be above stall_timeout_seconds "
            f"({run.stall_timeout_seconds:g}), whose message says what the processes waited for"
        )
    return {"ddp_timeout": int(seconds)}


class MetricsFile(TrainerCallback):  # type: ignore[misc]
    """Appends every logged dictionary to metrics.jsonl, with step and seconds since the start."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._start_seconds = time.monotonic()
        self._first_step = 0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Drop lines of steps after the one this start resumes from, and an earlier end's line."""
        self._first_step = state.global_step
        if not state.is_world_process_zero or not self.path.is_file():
            return
        # Not splitlines(), for which more than a newline ends a line.
        lines = self.path.read_text(encoding="utf-8").split("\n")
        lines.pop()  # empty, or what a killed process was writing
        records = [(line, json.loads(line)) for line in lines]
        kept = [
            line + "\n"
            for line, record in records
            if record["step"] <= state.global_step and "train_runtime" not in record
        ]
        write_text_atomic(self.path, "".join(kept))

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kw: Any
    ) -> None:
        """One line; a value that is not finite is written as null."""
        if not state.is_world_process_zero or not logs:
            return
        if "train_loss" in logs and state.global_step == self._first_step:
            # All steps were done before: a mean over none is written as 0.
            logs = {**logs, "train_loss": None}
        elapsed = round(time.monotonic() - self._start_seconds, 3)
        record = {"step": state.global_step, "elapsed_seconds": elapsed, **logs}
        record = {
            key: None if isinstance(value, float) and not _is_finite(value) else value
            for key, value in record.items()
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def _is_finite(value: float) -> bool:
    return abs(value) < float("inf")


class SaveBudget(TrainerCallback):  # type: ignore[misc]
    """Writes budget.json beside every checkpoint, so that an export of it is complete."""

    def __init__(self, budget: TrainedBudget) -> None:
        self.budget = budget

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """After each checkpoint, on the main process."""
        if state.is_world_process_zero:
            folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            self.budget.write(folder / BUDGET_FILE)


def train_to_the_end(
    trainer: Any,
    run: TrainRun,
    folder: RunFolder,
    max_completion_tokens: int,
    steps_per_sampling: int = 1,
    before_end: Sequence[Callable[[], None]] = (),
) -> int:
    """Train (from the last checkpoint if there is one), save the model, mark the run done.

    Args:
        max_completion_tokens: written into budget.json, for evaluation and serving.
        steps_per_sampling: after a multiple of so many steps the user may stop the run.
        before_end: called before a process of a run that stands still is ended.

    Returns:
        0, or 130 where the user stopped the run; then a checkpoint is there to go on from.
    """
    budget = TrainedBudget.of(
        run.video,
        prompt=SEGMENT_PROMPT if run.data.prompt == "project" else ROW_PROMPT,
        max_completion_tokens=max_completion_tokens,
    )
    main = trainer.accelerator.is_main_process
    if main:
        budget.write(folder.budget)
    stop = StopOnInterrupt(steps_per_sampling)
    trainer.remove_callback(ProgressCallback)
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(ReadableProgress())
    trainer.add_callback(MetricsFile(folder.metrics))
    trainer.add_callback(SaveBudget(budget))
    trainer.add_callback(MarkOptimizerSteps())
    trainer.add_callback(stop)
    trainer.add_callback(FirstStepChange(trainer.model))
    load_weights_on_resume(trainer)
    command = restart_command()  # while the launcher lives, who knows it
    checkpoint, passed_over = find_checkpoint(folder.checkpoints, trainer.args.world_size)
    for line in passed_over:
        warn(line)
    if checkpoint is not None:
        say(f"resuming from {checkpoint}")
    elif passed_over:
        warn("no checkpoint is whole: starting over")
    watch = StallWatch(
        run.stall_timeout_seconds,
        folder.stalled,
        process_index=trainer.accelerator.process_index,
        num_processes=trainer.accelerator.num_processes,
        command=command,
        before_end=before_end,
    )
    if main:
        watch.clear()
    trainer.accelerator.wait_for_everyone()
    is_cut_short = False
    with stop, watch, stage("training"):
        try:
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        except KeyboardInterrupt:  # the second one; the first asks for a checkpoint
            is_cut_short = True
    if is_cut_short or (stop.requested and trainer.state.global_step < trainer.state.max_steps):
        warn(_how_to_go_on(trainer, folder, command))
        if not is_cut_short:
            # Who leaves first makes the launcher end the others, before they have said this.
            trainer.accelerator.wait_for_everyone()
        return INTERRUPTED_EXIT_CODE
    with watch, stage("final model"):
        trainer.save_model(str(folder.final))
    if main:
        # A pickle that nobody needs to load; an exported model is safetensors and JSON only.
        (folder.final / "training_args.bin").unlink(missing_ok=True)
        budget.write(folder.final / BUDGET_FILE)
        folder.write_done({"steps": trainer.state.global_step})
    trainer.accelerator.wait_for_everyone()
    say(f"done: {folder.final}")
    return publish_finished(run)


def _how_to_go_on(trainer: Any, folder: RunFolder, command: str) -> str:
    checkpoint, _ = find_checkpoint(folder.checkpoints, trainer.args.world_size)
    where = f"with {checkpoint}" if checkpoint else "without any checkpoint"
    then = "go on from it" if checkpoint else "start over"
    return (
        f"stopped at step {trainer.state.global_step} of {trainer.state.max_steps}, {where}; "
        f"to {then}, the same command:\n  {command}"
    )
