"""One GRPO step to be measured: a model of some million weights, one clip, prompts of equal length.

Everything is made here from a seed: a video file that is really decoded, a model of Qwen2.5-VL's
architecture, and a prompt filled up to the wanted number of tokens. The project takes the clip as
a video; stock TRL, which knows none, gets one still picture per temporal grid, so that both see
equally many vision tokens in prompts of equal length.

Completions all have the same length: the end token is one that the project never samples, and TRL
is told to sample no end before that length.

Example:
    shape = SHAPES["first"]
    prepare(folder, shape)
    trainer = our_trainer(folder, shape, num_completions=8)
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from PIL import Image
from transformers import GenerationConfig, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
from trl import GRPOConfig, GRPOTrainer

from affect.model.inputs import count_prompt_tokens
from affect.model.loading import load_policy, load_processor
from affect.model.policy import freeze_tower
from affect.model.tiny import SPECIAL_TOKENS, tiny_processor
from affect.video import FrameBudget, sample_video
from data_prep.rendered.encoding import write_clip
from train.clips import ClipStore
from train.grpo_trainer import VideoGrpoTrainer
from train.sections import DataSection

SEED = 3
_SIDE_PIXELS = 224
_FRAMES_PER_SECOND = 2
_TOKENS_PER_GRID = 64  # of 224 x 224 pixels
_FILLER = "word "
_END_TOKEN = "<|vision_pad|>"


@dataclass(frozen=True)
class Shape:
    """Sizes of the model, the clip and the texts, in tokens unless named otherwise."""

    hidden_size: int
    num_layers: int
    num_heads: int
    num_key_value_heads: int
    intermediate_size: int
    vocabulary_size: int
    num_frames: int
    num_prompt: int
    num_completion: int

    @property
    def grid_thw(self) -> tuple[int, int, int]:
        """The clip's patches in time, height and width."""
        side = _SIDE_PIXELS // 14
        return self.num_frames // 2, side, side


SHAPES = {
    # 36 million weights; the prompt about twice its video.
    "first": Shape(512, 8, 8, 2, 1408, 16384, 24, 1497, 128),
    # As long as DAR's own, in front of a smaller model: 60 frames are 1,920 video tokens.
    "dar": Shape(256, 4, 8, 2, 704, 16384, 60, 4100, 450),
    # For trying the command itself.
    "tiny": Shape(64, 2, 4, 2, 128, 1024, 4, 200, 6),
}


def budget(shape: Shape) -> FrameBudget:
    """What samples exactly the clip's frames."""
    pixels = _SIDE_PIXELS**2
    return FrameBudget(
        fps=_FRAMES_PER_SECOND, max_frames=shape.num_frames, min_pixels=pixels, max_pixels=pixels
    )


def prepare(folder: Path, shape: Shape) -> None:
    """Write model, processor, clip and prompts into `folder`."""
    generator = np.random.default_rng(SEED)
    coarse = generator.integers(0, 256, (shape.num_frames, 7, 7, 3), dtype=np.uint8)
    frames = coarse.repeat(_SIDE_PIXELS // 7, axis=1).repeat(_SIDE_PIXELS // 7, axis=2)
    write_clip(folder / "clip.mp4", frames, _FRAMES_PER_SECOND)
    processor = tiny_processor([_FILLER * 3], vocabulary_size=300)
    processor.tokenizer.eos_token = _END_TOKEN
    processor.image_processor.size = {"shortest_edge": 56**2, "longest_edge": _SIDE_PIXELS**2}
    _model(processor, shape).save_pretrained(folder / "model")
    processor.save_pretrained(folder / "model")
    num_grids = shape.grid_thw[0]
    words = {
        "video": _words(processor, [{"type": "video"}], num_grids * _TOKENS_PER_GRID, shape),
        # Each picture has a token before and one after it, as the one video has.
        "images": _words(
            processor, [{"type": "video"}], num_grids * (_TOKENS_PER_GRID + 2) - 2, shape
        ),
    }
    (folder / "words.json").write_text(json.dumps(words), encoding="utf-8")


def _words(processor: Any, parts: list[dict[str, str]], num_vision: int, shape: Shape) -> str:
    """A text that makes the prompt as long as wanted."""

    def length(num_words: int, tail: str = "") -> int:
        text = _FILLER * num_words + tail
        content = [*parts, {"type": "text", "text": text}]
        return count_prompt_tokens(
            processor, [{"role": "user", "content": content}], num_vision, name="filler"
        )

    missing = shape.num_prompt - length(0)
    per_word = length(2) - length(1)
    assert missing >= 0, "the clip alone is longer than the prompt"
    num_words, rest = divmod(missing, per_word)
    # Single letters of a byte-level vocabulary are a token each, where no merge joins them.
    for tail in ("", *(letter * count for letter in "xqz" for count in range(1, 2 * per_word))):
        for fewer in range(min(3, num_words + 1)):
            if length(num_words - fewer, tail) == shape.num_prompt:
                return _FILLER * (num_words - fewer) + tail
    raise AssertionError(f"no text found that fills {rest} tokens")


def _model(processor: Any, shape: Shape) -> Any:
    ids = {token: processor.tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS}
    pairs = shape.hidden_size // shape.num_heads // 2
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": shape.vocabulary_size,
            "hidden_size": shape.hidden_size,
            "intermediate_size": shape.intermediate_size,
            "num_hidden_layers": shape.num_layers,
            "num_attention_heads": shape.num_heads,
            "num_key_value_heads": shape.num_key_value_heads,
            "max_position_embeddings": 8192,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1_000_000.0,
                "mrope_section": [pairs // 4, pairs * 3 // 8, pairs - pairs // 4 - pairs * 3 // 8],
            },
            "bos_token_id": ids["<|endoftext|>"],
            "eos_token_id": ids[_END_TOKEN],
            "pad_token_id": ids["<|endoftext|>"],
            "tie_word_embeddings": True,
        },
        vision_config={
            "depth": 4,
            "hidden_size": 256,
            "intermediate_size": 512,
            "num_heads": 8,
            "out_hidden_size": shape.hidden_size,
            "fullatt_block_indexes": [3],
            "window_size": 112,
            "tokens_per_second": 2,
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=True,
    )
    torch.manual_seed(SEED)
    model = Qwen2_5_VLForConditionalGeneration._from_config(config)
    model.generation_config = GenerationConfig(
        eos_token_id=ids[_END_TOKEN], pad_token_id=ids["<|endoftext|>"]
    )
    return model


def uneven_reward(completions: Sequence[Any], **columns: Any) -> list[float]:
    """Rewards that differ within a group, so that advantages are not zero."""
    return [place % 3 / 2 for place in range(len(completions))]


def settings(folder: Path, shape: Shape, num_completions: int, **overrides: Any) -> GRPOConfig:
    """One optimizer step on one group, as both kinds of trainer take it."""
    return GRPOConfig(
        **{
            "output_dir": str(folder / "run"),
            "use_cpu": True,
            "bf16": False,
            "report_to": "none",
            "disable_tqdm": True,
            "save_strategy": "no",
            "logging_steps": 1,
            "remove_unused_columns": False,
            "seed": SEED,
            "max_steps": 1,
            "learning_rate": 1e-6,
            "gradient_checkpointing": True,
            "num_generations": num_completions,
            "max_completion_length": shape.num_completion,
            "temperature": 1.0,
            "top_k": 0,
            "top_p": 1.0,
            "beta": 0.04,
            "loss_type": "grpo",
            **overrides,
        }
    )


def our_trainer(
    folder: Path,
    shape: Shape,
    num_completions: int,
    *,
    kind: type[VideoGrpoTrainer] = VideoGrpoTrainer,
    **ours: Any,
) -> VideoGrpoTrainer:
    """The project's trainer, the group in one micro-batch."""
    model, processor = load_policy(folder / "model")
    freeze_tower(model)
    words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    data = DataSection(
        rows=folder / "none",
        video_root=folder,
        prompt="row",
        max_prompt_tokens=shape.num_prompt,
        decode_timeout_seconds=None,
    )
    clip = sample_video(folder / "clip.mp4", budget(shape))
    content = [{"type": "video"}, {"type": "text", "text": words["video"]}]
    row = {
        "id": "only",
        "video": "clip.mp4",
        "video_duration": clip.duration_seconds,
        "prompt": [{"role": "user", "content": content}],
        "solution": "",
    }
    return kind(
        model=model,
        reward_funcs=uneven_reward,
        args=settings(folder, shape, num_completions, per_device_train_batch_size=num_completions),
        train_dataset=Dataset.from_list([row]),
        processing_class=processor,
        clips=ClipStore(processor, data, budget(shape)),
        **ours,
    )


def stock_trainer(folder: Path, shape: Shape, num_completions: int) -> GRPOTrainer:
    """TRL's trainer as it comes, one completion at a time, accumulated to the same step."""
    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(
        folder / "model", dtype=torch.float32
    )
    freeze_tower(model)
    words = json.loads((folder / "words.json").read_text(encoding="utf-8"))
    clip = sample_video(folder / "clip.mp4", budget(shape))
    row = {
        "prompt": [{"role": "user", "content": words["images"]}],
        "images": [Image.fromarray(frame) for frame in clip.frames[::2]],
    }
    return GRPOTrainer(
        model=model,
        reward_funcs=uneven_reward,
        args=settings(
            folder,
            shape,
            num_completions,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=num_completions,
            generation_kwargs={"min_new_tokens": shape.num_completion},
        ),
        train_dataset=Dataset.from_list([row]),
        processing_class=load_processor(folder / "model"),
    )
