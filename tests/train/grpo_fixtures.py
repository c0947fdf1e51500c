"""A real trainer on a tiny policy and drawn clips, with scripted completions where wanted.

Example:
    trainer = build_trainer(tmp_path, rows("ab"), num_generations=2)
    trainer.train()
"""

import functools
import gc
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from torch import Tensor
from trl import GRPOConfig

import train.grpo_trainer
from affect.model.generation import Completion, generate
from affect.model.loading import load_policy
from affect.model.policy import freeze_tower
from affect.model.tiny import tiny_model
from affect.video import FrameBudget, SampledVideo
from rewards import RewardSet
from tests.tiny import ANSWER, shared_processor, synthetic_clip
from tests.train.recording_trainer import RecordingTrainer
from train.bad_clips import ClipReplacer
from train.clips import ClipStore
from train.log_probs import LogProbPass, shared_log_probs
from train.sections import DataSection

DURATION_SECONDS = 8.0
_FOLDER = tempfile.TemporaryDirectory(prefix="tiny_policy_")


@functools.cache
def checkpoint() -> Path:
    """A tiny policy on disk, so that the reference policy is loaded as in a real run."""
    folder = Path(_FOLDER.name) / "checkpoint"
    tiny_model(
        shared_processor(), seed=3, hidden_size=64, num_layers=2, tower_size=64
    ).save_pretrained(folder)
    shared_processor().save_pretrained(folder)
    # accelerate collects garbage whenever training starts; without the modules' million objects
    # that takes nothing instead of .3 s.
    gc.freeze()
    return folder


def fresh_policy(weights: Mapping[str, Tensor] | None = None) -> Any:
    """The checkpoint's policy, untouched by TRL, or with other weights; the tower is frozen."""
    model, _ = load_policy(checkpoint())
    freeze_tower(model)
    if weights is not None:
        model.load_state_dict(weights)
    return model.eval()


def perturb(model: Any) -> None:
    """Move a policy away from its checkpoint, so that it differs from the reference."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                weight += 0.02 * torch.randn(weight.shape, generator=generator)


class SyntheticClipStore(ClipStore):
    """A clip store whose clips are drawn in memory, by the row's `video`."""

    def __init__(self, clips: Mapping[str, SampledVideo]) -> None:
        data = DataSection(rows=Path("none"), video_root=Path("none"), prompt="row")
        super().__init__(shared_processor(), data, FrameBudget())
        self.clips = dict(clips)

    def video(self, row: Mapping[str, Any]) -> SampledVideo:
        """The drawn clip of this name."""
        return self.clips[row["video"]]


def row(name: str, *, video: str | None = None, text: str | None = None) -> dict[str, Any]:
    """A row whose prompt names it; the keys of its parts differ, so that Arrow fills in None."""
    video = video or f"clip_{name}"
    return {
        "id": name,
        "video": video,
        "video_duration": DURATION_SECONDS,
        "prompt": [
            {
                "role": "user",
                "content": [
                    {"type": "video", "video": video},
                    {"type": "text", "text": text or f"Describe {name * 3}."},
                ],
            }
        ],
        "solution": ANSWER,
    }


def rows(names: Sequence[str]) -> list[dict[str, Any]]:
    """One row per name, each with a clip of its own."""
    return [row(name) for name in names]


def clips(given: Sequence[Mapping[str, Any]], first_seed: int = 0) -> dict[str, SampledVideo]:
    """A clip per distinct video of the rows; they differ in frames, length and size."""
    names = sorted({str(one["video"]) for one in given})
    return {
        name: synthetic_clip(
            first_seed + index,
            num_frames=(8, 4, 7)[index % 3],
            width=(56, 84)[index % 2],
            duration_seconds=DURATION_SECONDS,
        )
        for index, name in enumerate(names)
    }


class ScriptedReward:
    """A reward function that returns the given values, by row id and sample."""

    def __init__(self, name: str, values: Mapping[str, Sequence[float | None]]) -> None:
        self.__name__ = name
        self.values = values

    def __call__(self, completions: Any, **columns: Any) -> list[float | None]:
        """None for dropped completions, as the project's own terms."""
        seen: dict[str, int] = {}
        rewards: list[float | None] = []
        for name, dropped in zip(columns["id"], columns["dropped"], strict=True):
            sample = seen.get(name, 0)
            seen[name] = sample + 1
            rewards.append(None if dropped else self.values[name][sample])
        return rewards


def completion(text: str = "", *, finished: bool = True, extra: Sequence[int] = ()) -> Completion:
    """A hand-made completion: the text's tokens, `extra` ones, and the end token if finished."""
    tokenizer = shared_processor().tokenizer
    ids = [*tokenizer(text, add_special_tokens=False)["input_ids"], *extra]
    if finished:
        ids.append(tokenizer.eos_token_id)
    shown = tokenizer.decode(ids, skip_special_tokens=True)
    return Completion(token_ids=ids, text=shown, finished=finished, log_probs=[])


def script_completions(
    monkeypatch: pytest.MonkeyPatch, scripted: Mapping[str, Mapping[int, Completion]]
) -> None:
    """Let the trainer's sampler return these, by row id and sample; the others are sampled."""

    def scripted_generate(model: Any, processor: Any, prompts: Any, **settings: Any) -> Any:
        if all(len(scripted.get(one.name, ())) == settings["num_samples"] for one in prompts):
            settings["max_new_tokens"] = 1  # enough to see that prompts and features fit
        groups = generate(model, processor, prompts, **settings)
        return [
            [scripted.get(prompt.name, {}).get(index, one) for index, one in enumerate(group)]
            for prompt, group in zip(prompts, groups, strict=True)
        ]

    monkeypatch.setattr(train.grpo_trainer, "generate", scripted_generate)


def build_trainer(
    folder: Path,
    given: Sequence[Mapping[str, Any]],
    *,
    store: ClipStore | None = None,
    rewards: Sequence[Callable[..., Any]] | None = None,
    weights: Sequence[float] | None = None,
    truncated: str = "keep",
    completion_log: Any = None,
    eval_rows: Sequence[Mapping[str, Any]] | None = None,
    attach: Callable[[Any], None] | None = None,
    model: Any = None,
    replacer: ClipReplacer | None = None,
    log_prob_pass: LogProbPass = shared_log_probs,
    trainer_class: Callable[..., Any] = RecordingTrainer,
    **overrides: Any,
) -> Any:
    """A trainer on the tiny checkpoint; one step takes all rows unless `overrides` say else.

    Args:
        attach: called with the policy before the trainer gets it, to place hooks.
        model: another policy than that of the checkpoint.
        trainer_class: what makes the trainer, in the place of `RecordingTrainer`.
        overrides: fields of GRPOConfig.
    """
    reward_set = RewardSet.from_preset("paper")
    size = overrides.get("num_generations", 2)
    settings: dict[str, Any] = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "disable_tqdm": True,
        "logging_steps": 1,
        "save_strategy": "no",
        "remove_unused_columns": False,
        "seed": 5,
        "max_steps": 1,
        "learning_rate": 1e-3,
        "lr_scheduler_type": "constant",
        "max_grad_norm": 0.0,
        "gradient_checkpointing": False,
        "num_generations": size,
        "per_device_train_batch_size": size * len(given),
        "gradient_accumulation_steps": 1,
        "max_completion_length": 5,
        "temperature": 0.8,
        "top_k": 0,
        "top_p": 1.0,
        "beta": 0.04,
        "loss_type": "grpo",
        "scale_rewards": "group",
        "reward_weights": list(weights or (reward_set.weights if rewards is None else [1.0])),
        "mask_truncated_completions": truncated == "trl",
        **overrides,
    }
    model = fresh_policy() if model is None else model
    if attach is not None:
        attach(model)
    return trainer_class(
        model=model,
        reward_funcs=reward_set.trl_functions() if rewards is None else list(rewards),
        args=GRPOConfig(**settings),
        train_dataset=Dataset.from_list([dict(one) for one in given]),
        eval_dataset=None if eval_rows is None else Dataset.from_list([dict(r) for r in eval_rows]),
        processing_class=shared_processor(),
        clips=store or SyntheticClipStore(clips(given)),
        truncated=truncated,
        completion_log=completion_log,
        log_prob_pass=log_prob_pass,
        replacer=replacer,
    )
