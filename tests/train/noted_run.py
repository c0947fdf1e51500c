"""train/sft.py or train/grpo.py, with notes on what it reads, and killed at a chosen moment.

Nothing of a run is replaced: rows and decodes are written down as they pass, and SIGKILL is sent
where KILL says. Started by `accelerate launch` in place of the entry point that SCRIPT names.

    NOTES=/tmp/notes KILL="begin 5" SCRIPT=train/sft.py accelerate launch noted_run.py --config ...

Moments: "begin N", the start of step N; "model N" and "files N", while the checkpoint of step N is
written (the model alone, or all but its list of contents); "saved N", when it is whole. With
KILL_RANK, another process than the first. PAUSE="N seconds" sleeps in step N. FORGET=NAME leaves a
weight out of the optimizer. CUT=NAME cuts a clip's file in half once the rows are checked, and
HANG=NAME makes the decoding of a clip never end. SLEEP="RANK STEP" makes a process sleep for ever
in the rewards of a step.

At the end of each step the calls of the model's parts so far are noted, without those that sample:
whole model, tower, merger, first layer, and backward passes through the first layer.
"""

import os
import runpy
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from transformers import Trainer, TrainerCallback

import train.grpo_trainer
import train.repeatable
import train.run_start
from affect.model.policy import causal_model
from affect.video import ClipCache, GuardedReader
from rewards import RewardSet
from train.clips import ClipStore

# For a decode that never ends, in the worker process, which finds the checkout by itself.
sys.path.append(str(Path(__file__).resolve().parents[2]))
hang = import_module("tests.affect.video.hostile_reads").hang

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


class Calls(TrainerCallback):  # type: ignore[misc]
    """Counts calls of the model's parts while the process does not sample."""

    is_sampling = False

    def __init__(self, model: Any) -> None:
        policy = causal_model(model)
        layer = policy.model.language_model.layers[0]
        parts = {"model": policy, "tower": policy.model.visual.blocks[0]}
        parts.update(merger=policy.model.visual.merger, layer=layer)
        self.counts = dict.fromkeys([*parts, "backward"], 0)
        for name, part in parts.items():
            part.register_forward_pre_hook(lambda *_, name=name: self.count(name))
        weight = next(one for one in layer.parameters() if one.requires_grad)
        weight.register_hook(lambda gradient: self.count("backward"))

    def count(self, name: str) -> None:
        if not Calls.is_sampling:
            self.counts[name] += 1

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        counts = ",".join(f"{name}={number}" for name, number in self.counts.items())
        note("calls", f"{state.global_step}:{counts}")


def hanging_sample(reader: GuardedReader, path: Any, budget: Any) -> Any:
    if Path(path).stem == os.environ.get("HANG"):
        return reader.call(hang, path)
    return sample(reader, path, budget)


def noted_sampling(trainer: Any, *args: Any, **kwargs: Any) -> Any:
    Calls.is_sampling = True
    try:
        return sample_completions(trainer, *args, **kwargs)
    finally:
        Calls.is_sampling = False


def sleeping_rewards(rewards: RewardSet) -> Any:
    functions = trl_functions(rewards)
    rank, _, step = os.environ.get("SLEEP", "").partition(" ")
    if rank != RANK:
        return functions
    first = functions[0]

    def sleeping(*args: Any, **columns: Any) -> Any:
        if columns["trainer_state"].global_step + 1 == int(step):
            time.sleep(3600)
        return first(*args, **columns)

    sleeping.__name__ = first.__name__
    return [sleeping, *functions[1:]]


sample = GuardedReader.sample
trl_functions = RewardSet.trl_functions
sample_completions = train.grpo_trainer.VideoGrpoTrainer._generate_single_turn
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
    trainer.add_callback(Calls(trainer.model))
    cut = os.environ.get("CUT")
    if cut and RANK == "0":
        path = trainer.clips.data.video_root / "videos" / f"{cut}.mp4"
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    trainer.accelerator.wait_for_everyone()
    return train_to_the_end(trainer, *args, **kwargs)


GuardedReader.sample = hanging_sample  # type: ignore[method-assign]
RewardSet.trl_functions = sleeping_rewards  # type: ignore[method-assign]
train.grpo_trainer.VideoGrpoTrainer._generate_single_turn = noted_sampling
ClipStore.prompt = noted_prompt  # type: ignore[method-assign]
ClipCache._decode = noted_decode  # type: ignore[method-assign]
Trainer._save_optimizer_and_scheduler = killed_after_model
Trainer.create_optimizer = create_optimizer
train.repeatable.seal_checkpoint = killed_before_seal
train.run_start.train_to_the_end = watched
runpy.run_path(os.environ["SCRIPT"], run_name="__main__")
