"""A folder of drawn clips that differ in size, length and answer, and real trainers on them.

Example:
    world = draw_world(tmp_path)            # tmp_path/videos/*.mp4 and tmp_path/rows.jsonl
    trainer = sft_trainer(world, tmp_path / "run", per_device_train_batch_size=4, max_steps=1)
    trainer.train()
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from peft import PeftModel
from transformers import TrainerCallback
from trl import SFTConfig

from affect.model.policy import freeze_tower
from affect.records import Row, prompt_from_text, write_sft_rows
from affect.timeline import Segment, Timeline
from affect.video import FrameBudget
from data_prep.rendered.encoding import write_clip
from tests.tiny import shared_processor, tiny_policy
from train.clips import ClipStore
from train.row_data import load_rows
from train.sections import DataSection
from train.sft_trainer import VideoSftCollator, VideoSftTrainer

FRAME_RATE = 5
BUDGET = FrameBudget(fps=2.0, min_frames=2, max_frames=8, min_pixels=56 * 56, max_pixels=112 * 56)
# id: frames, height, width in pixels. Shown 8, 6, 8 and 4 of them; 16, 18, 24 and 16 tokens.
CLIPS = {
    "square": (20, 56, 56),
    "wide": (15, 56, 84),
    "long": (30, 84, 56),
    "short": (10, 112, 56),
}
TEXT = "<video>\nDescribe."


def duration_seconds(name: str) -> float:
    """Of one of `CLIPS`."""
    return CLIPS[name][0] / FRAME_RATE


def timeline(name: str) -> Timeline:
    """One segment for each two seconds or part of them, so that answers differ in length."""
    end = duration_seconds(name)
    starts = np.arange(0.0, end, 2.0).tolist()
    segments = tuple(
        Segment(
            start, min(start + 2.0, end), ("Joy", "Fear")[index % 2], "It moves. " * (index + 1)
        )
        for index, start in enumerate(starts)
    )
    return Timeline(segments, end)


def draw_world(folder: Path, names: Sequence[str] = tuple(CLIPS), text: str = TEXT) -> Path:
    """Draw the clips into `folder`, write rows.jsonl with their targets, and return `folder`."""
    for name in names:
        write_clip(folder / "videos" / f"{name}.mp4", _frames(*CLIPS[name]), FRAME_RATE)
    write_sft_rows(folder / "rows.jsonl", [row(name, text) for name in names])
    return folder


def row(name: str, text: str = TEXT, **changes: Any) -> Row:
    """The row of one clip."""
    fields: dict[str, Any] = {
        "id": name,
        "video": f"videos/{name}.mp4",
        "duration_seconds": duration_seconds(name),
        "source": None,
        "prompt": prompt_from_text(text),
        "timeline": timeline(name),
    }
    return Row(**{**fields, **changes})


def _frames(num_frames: int, height: int, width: int) -> Any:
    """Blocks of colour that wander to the right."""
    generator = np.random.default_rng(num_frames)
    coarse = generator.integers(0, 256, (height // 14, width // 14, 3), dtype=np.uint8)
    picture = coarse.repeat(14, axis=0).repeat(14, axis=1)
    return np.stack([np.roll(picture, 2 * index, axis=1) for index in range(num_frames)])


def data_section(world: Path, **changes: Any) -> DataSection:
    """The rows' own short text as the prompt, so that tests stay quick."""
    fields = {"rows": world / "rows.jsonl", "video_root": world, "prompt": "row"}
    return DataSection.model_validate({**fields, **changes})


def clip_store(world: Path, **changes: Any) -> ClipStore:
    """A store with the tiny processor."""
    return ClipStore(shared_processor(), data_section(world, **changes), BUDGET)


def collator(store: ClipStore, model: Any) -> VideoSftCollator:
    """The collator as train/sft.py makes it."""
    return VideoSftCollator(store, model.config, store.processor.tokenizer.eos_token_id)


def sft_trainer(
    world: Path,
    folder: Path,
    *,
    model: Any = None,
    callbacks: Sequence[TrainerCallback] = (),
    store: ClipStore | None = None,
    **overrides: Any,
) -> VideoSftTrainer:
    """A trainer on a tiny policy; plain SGD, so that an update shows its gradient."""
    if model is None:
        model, _ = tiny_policy()
    if not isinstance(model, PeftModel):  # else its base is frozen already
        freeze_tower(model)
    store = store or clip_store(world)
    settings: dict[str, Any] = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "remove_unused_columns": False,
        "dataset_kwargs": {"skip_prepare_dataset": True},
        "max_length": None,
        "optim": "sgd",
        "learning_rate": 0.1,
        "lr_scheduler_type": "constant",
        "max_grad_norm": 0.0,
        "gradient_checkpointing": False,
        "per_device_train_batch_size": 4,
        "max_steps": 1,
        "seed": 3,
        **overrides,
    }
    return VideoSftTrainer(
        model=model,
        args=SFTConfig(**settings),
        train_dataset=load_rows(store.data),
        processing_class=store.processor,
        data_collator=collator(store, model),
        callbacks=list(callbacks),
        clips=store,
    )


def trained_weights(trainer: Any) -> dict[str, torch.Tensor]:
    """Train, and return copies of the weights that train."""
    trainer.train()
    return {
        name: parameter.detach().clone()
        for name, parameter in trainer.model.named_parameters()
        if parameter.requires_grad
    }
