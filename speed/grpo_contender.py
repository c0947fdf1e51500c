"""One contender of `speed.grpo_step` in this process: builds its trainer and runs the one step.

The step begins when the trainer's first optimizer step does and ends when it is over: decoding,
rollout, rewards, all log-prob passes, backward and update lie in between, loading does not.

The variants leave out one of the project's savings each:

    plain log-probs            every completion runs with its own copy of the prompt
    tower in every pass        passes get patches, so the model runs its tower in each
    prefill per completion     sampling runs the prompt once for each completion

Example: run_contender("ours", folder, "tiny", 8, count=True)["flops"], after
`speed.grpo_workload.prepare(folder, SHAPES["tiny"])`
"""

import resource
import time
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from affect.model.generation import Completion, generate
from affect.model.inputs import PromptInputs
from affect.model.policy import ClipFeatures
from speed.flops import FlopCounter
from speed.grpo_floor import completion_floor, step_floor
from speed.grpo_workload import SHAPES, our_trainer, stock_trainer
from train.grpo_trainer import VideoGrpoTrainer
from train.log_probs import log_prob_pass
from train.tower import ClipInputs


class TowerInEveryPass(VideoGrpoTrainer):
    """Keeps no features; wherever the model sees the clip, it sees patches."""

    def _run_tower(self, clips: list[ClipInputs]) -> list[ClipFeatures]:
        return [ClipFeatures(one.pixels, one.grid_thw, one.second_per_grid) for one in clips]


class PrefillPerCompletion(VideoGrpoTrainer):
    """Samples each completion as a prompt of its own."""

    def _sample_groups(
        self, firsts: list[int], prompts: list[PromptInputs], seeds: list[list[int]]
    ) -> list[list[Completion]]:
        scored = [self._scored_prompts["train"][self._prompt_of_row[first]] for first in firsts]
        repeated = [(p, s) for p, s in zip(prompts, scored, strict=True) for _ in seeds[0]]
        flat = generate(
            self.model,
            self.processing_class,
            [prompt for prompt, _ in repeated],
            max_new_tokens=self.max_completion_length,
            temperature=self.temperature,
            seeds=[[seed] for group in seeds for seed in group],
            features=[one.features for _, one in repeated],
        )
        size = len(seeds[0])
        return [
            [one for [one] in flat[start : start + size]] for start in range(0, len(flat), size)
        ]


class _Clock(TrainerCallback):  # type: ignore[misc]
    """Time of the one step."""

    def __init__(self) -> None:
        self.cpu = self.wall = 0.0

    def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        self.cpu = time.process_time() - self.cpu
        self.wall = time.perf_counter() - self.wall


def run_contender(
    name: str, folder: Path, shape_name: str, num_completions: int, *, count: bool
) -> dict[str, Any]:
    """Figures of one step; with `count` its FLOPs instead of its time.

    Raises:
        AssertionError: a completion ended before its length.
    """
    shape = SHAPES[shape_name]
    if name == "trl":
        trainer = stock_trainer(folder, shape, num_completions)
    else:
        pad_id = 0  # of what is masked; any id does
        kind = {
            "tower in every pass": TowerInEveryPass,
            "prefill per completion": PrefillPerCompletion,
        }.get(name, VideoGrpoTrainer)
        mode = "plain" if name == "plain log-probs" else "shared"
        trainer = our_trainer(
            *(folder, shape, num_completions),
            kind=kind,
            log_prob_pass=log_prob_pass(mode, "sdpa", pad_id),
        )
    clock = _Clock()
    trainer.add_callback(clock)
    counter = FlopCounter()
    if count:
        with counter:
            trainer.train()
    else:
        trainer.train()
    [log] = [entry for entry in trainer.state.log_history if "completions/mean_length" in entry]
    assert log["completions/min_length"] == shape.num_completion, "a completion ended early"
    report: dict[str, Any] = {
        "cpu_seconds": round(clock.cpu, 3),
        "wall_seconds": round(clock.wall, 3),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "loss": float(log.get("loss", 0.0)),
        "grad_norm": float(log["grad_norm"]),
    }
    if isinstance(trainer, VideoGrpoTrainer):
        report["tower_runs"] = float(trainer.num_tower_runs)
        report["video_decodes"] = float(trainer.clips.num_decodes)
    if count:
        report |= _counted(trainer.model.config, shape, num_completions, counter)
    return report


def _counted(config: Any, shape: Any, num_completions: int, counter: FlopCounter) -> dict[str, Any]:
    sizes = {
        "grid_thw": shape.grid_thw,
        "num_prompt": shape.num_prompt,
        "num_completion": shape.num_completion,
        "num_completions": num_completions,
    }
    floor = step_floor(config, **sizes)
    return {
        "flops": counter.total,
        "flops_by_operation": dict(counter.by_operation.most_common()),
        "floor_flops": floor["total"],
        "floor_by_part": floor,
        "completion_floor_flops": completion_floor(config, **sizes),
    }
