"""train/sft.py or train/grpo.py, with notes on what it reads, and killed at a chosen moment.

Nothing of a run is replaced: rows and decodes are written down as they pass, and SIGKILL is sent
where KILL says. Started by `accelerate launch` in place of the entry point that SCRIPT names.

    NOTES=/tmp/notes KILL="begin 5" SCRIPT=train/sft.py accelerate launch noted_run.py --config ...

Moments: "begin N", the start of step N; "model N" and "files N", while the checkpoint of step N is
written (the model alone, or all but its list of contents); "saved N", when it is whole. With
KILL_RANK, another process than the first. PAUSE="N seconds" sleeps in step N. FORGET=NAME leaves a
weight out of the optimizer.
"""

import os
import runpy
import signal
import time
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback

import train.repeatable
import train.run_start
from affect.video import ClipCache
from train.clips import ClipStore

RANK = os.environ.get("RANK", "0")


def note(kind: str, text: str) -> None:
    """Append a line to this process's notes; loader processes share them."""
    with open(Path(os.environ["NOTES"]) / f"{kind}-{RANK}", "a") as file:
        file.write(text + "\n")


def die_at(moment: str) -> None:
    """SIGKILL, if this is the moment."""
    if os.environ.get("KILL") == moment and os.environ.get("KILL_RANK", "0") == RANK:
        os.kill(os.getpid(), signal.SIGKILL)


class AtStepBegin(TrainerCallback):  # type: ignore[misc]
    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        die_at(f"begin {state.global_step + 1}")
        step, _, seconds = os.environ.get("PAUSE", "0").partition(" ")
        if state.global_step + 1 == int(step):
            end = time.monotonic() + float(seconds)
            while time.monotonic() < end:
                time.sleep(0.05)


prompt, decode = ClipStore.prompt, ClipCache._decode
save_optimizer = Trainer._save_optimizer_and_scheduler
seal = train.repeatable.seal_checkpoint
train_to_the_end = train.run_start.train_to_the_end
create = Trainer.create_optimizer


def noted_prompt(store: ClipStore, row: Any) -> Any:
    note("rows", row["id"])
    return prompt(store, row)


def noted_decode(clips: ClipCache, key: Any, path: Any, *how: Any) -> Any:
    note("decodes", Path(path).stem)
    return decode(clips, key, path, *how)


def killed_after_model(trainer: Any, folder: str) -> None:
    die_at(f"model {trainer.state.global_step}")
    save_optimizer(trainer, folder)


def killed_before_seal(folder: Path, num_processes: int) -> None:
    die_at(f"files {folder.name.removeprefix('checkpoint-')}")
    seal(folder, num_processes)
    die_at(f"saved {folder.name.removeprefix('checkpoint-')}")


def create_optimizer(trainer: Any, *args: Any) -> Any:
    optimizer = create(trainer, *args)
    for name, weight in trainer.model.named_parameters():
        if name == os.environ.get("FORGET"):
            for group in optimizer.param_groups:
                group["params"] = [one for one in group["params"] if one is not weight]
    return optimizer


def watched(trainer: Any, *args: Any, **kwargs: Any) -> int:
    trainer.add_callback(AtStepBegin())
    return train_to_the_end(trainer, *args, **kwargs)


ClipStore.prompt = noted_prompt  # type: ignore[method-assign]
ClipCache._decode = noted_decode  # type: ignore[method-assign]
Trainer._save_optimizer_and_scheduler = killed_after_model
Trainer.create_optimizer = create_optimizer
train.repeatable.seal_checkpoint = killed_before_seal
train.run_start.train_to_the_end = watched
runpy.run_path(os.environ["SCRIPT"], run_name="__main__")
