"""Two processes on rows that treat them unequally, with evaluations in between; counts calls.

GRPO: five rows, one group a process and step; row "a" is all dropped (cut off), "b" has equal
rewards, and the others train as usual. Then a cold start on three rows of one and two a step. After
every second step an evaluation of three rows, one each and one more.

    OUT=/tmp/out accelerate launch --config_file configs/accelerate/cpu2.yaml ragged_run.py
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from transformers import TrainerCallback

sys.path.append(str(Path(__file__).resolve().parents[2]))

from affect.model.policy import causal_model
from tests.tiny import ANSWER
from tests.train.drawn_rows import draw_world, sft_trainer
from tests.train.grpo_fixtures import (
    ScriptedReward,
    SyntheticClipStore,
    build_trainer,
    clips,
    completion,
    rows,
    script_completions,
)
from train.grpo_trainer import VideoGrpoTrainer

OUT = Path(os.environ["OUT"])
RANK = os.environ["RANK"]


class Calls(TrainerCallback):  # type: ignore[misc]
    """Calls of the model's parts by the end of each step, without those that sample."""

    def __init__(self, model: Any) -> None:
        self.is_sampling = False
        self.steps: list[dict[str, int]] = []
        policy = causal_model(model)
        layer = policy.model.language_model.layers[0]
        parts = {"model": policy, "tower": policy.model.visual.blocks[0], "layer": layer}
        self.counts = dict.fromkeys([*parts, "backward", "evaluations"], 0)
        for name, part in parts.items():
            part.register_forward_pre_hook(lambda *_, name=name: self.count(name))
        weight = next(one for one in layer.parameters() if one.requires_grad)
        weight.register_hook(lambda gradient: self.count("backward"))

    def count(self, name: str) -> None:
        if not self.is_sampling:
            self.counts[name] += 1

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.steps.append(dict(self.counts))

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.count("evaluations")

    def write(self, name: str, **more: Any) -> None:
        (OUT / f"{name}-{RANK}.json").write_text(json.dumps({"steps": self.steps, **more}))


class EvaluateEverySecondStep(TrainerCallback):  # type: ignore[misc]
    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step % 2 == 0:
            self.trainer.evaluate()


def run_grpo(patch: pytest.MonkeyPatch) -> None:
    finished = {0: completion(ANSWER), 1: completion("no answer")}
    cut_off = {0: completion("cut", finished=False), 1: completion("off", finished=False)}
    scripted = dict.fromkeys("bcdexyz", finished) | {"a": cut_off}
    script_completions(patch, scripted)
    values = dict.fromkeys("cdexyz", (1.0, 0.0)) | {"a": (1.0, 0.0), "b": (0.5, 0.5)}
    trainer = build_trainer(
        OUT / "grpo",
        rows("abcde"),
        store=SyntheticClipStore(clips(rows("abcdexyz"))),
        rewards=[ScriptedReward("scripted", values)],
        truncated="drop",
        eval_rows=rows("xyz"),
        num_generations=2,
        per_device_train_batch_size=2,
        per_device_eval_batch_size=2,
        max_steps=6,
        ddp_backend="gloo",
        gradient_checkpointing=True,
        ddp_find_unused_parameters=False,
    )
    calls = Calls(trainer.model)
    sample = VideoGrpoTrainer._generate_single_turn

    def sampling(self: Any, *args: Any, **kwargs: Any) -> Any:
        calls.is_sampling = True
        try:
            return sample(self, *args, **kwargs)
        finally:
            calls.is_sampling = False

    patch.setattr(VideoGrpoTrainer, "_generate_single_turn", sampling)
    trainer.add_callback(calls)
    trainer.add_callback(EvaluateEverySecondStep(trainer))
    trainer.train()
    sampled = trainer.records.samplings
    calls.write(
        "grpo",
        rows=[one.rows[0]["id"] for one in sampled],
        dropped=[all(one.dropped) for one in sampled],
        advantages=[one.output["advantages"].abs().max().item() for one in sampled],
    )


def run_sft() -> None:
    world = draw_world(OUT / f"world-{RANK}", ["square", "wide", "short"])
    trainer = sft_trainer(
        world,
        OUT / "sft",
        per_device_train_batch_size=2,
        per_device_eval_batch_size=2,
        max_steps=4,
        ddp_backend="gloo",
        gradient_checkpointing=True,
        ddp_find_unused_parameters=False,
    )
    trainer.eval_dataset = trainer.train_dataset
    calls = Calls(trainer.model)
    trainer.add_callback(calls)
    trainer.add_callback(EvaluateEverySecondStep(trainer))
    trainer.train()
    calls.write("sft")


with pytest.MonkeyPatch.context() as patch:
    run_grpo(patch)
run_sft()
