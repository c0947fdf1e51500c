"""A tiny policy and synthetic clips for tests: real architecture, random weights, drawn frames.

Example:
    model, processor = tiny_policy()
    prompt = tiny_prompt(processor, synthetic_clip(seed=1, num_frames=8))
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from affect.model.inputs import PromptInputs, encode_prompt, pad_rows
from affect.model.policy import install_policy
from affect.model.tiny import tiny_model, tiny_processor
from affect.taxonomy import DAR_EMOTIONS
from affect.video import SampledVideo

ANSWER = (
    '{"segments": [{"start_time": 0.0, "end_time": 4.0, "emotion": "Joy", "reason": "A bright ball '
    'bounces, so the viewer feels joy."}, {"start_time": 4.0, "end_time": 8.0, "emotion": "Fear", '
    '"reason": "A dark shape rushes in, so the viewer is afraid."}]}'
)
TEXTS = [
    ANSWER,
    "Describe the viewer's emotion in this silent video of 8.0 seconds.",
    *DAR_EMOTIONS,
]


SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "num_layers": 2,
    "tower_size": 64,
    "initializer_range": 0.06,
}


@functools.cache
def shared_processor() -> Any:
    """One processor for all tests; learning its vocabulary takes a moment."""
    return tiny_processor(TEXTS * 4, vocabulary_size=512)


def plain_model(seed: int = 0, **sizes: Any) -> Any:
    """What `tiny_policy` of the same seed and sizes is before our behaviour is installed."""
    return tiny_model(shared_processor(), seed=seed, **{**SIZES, **sizes})


def tiny_policy(seed: int = 0, **sizes: Any) -> tuple[Any, Any]:
    """A fresh random policy with our behaviour installed, and the shared processor."""
    return install_policy(plain_model(seed, **sizes)), shared_processor()


def synthetic_clip(
    seed: int = 0,
    *,
    num_frames: int = 8,
    height: int = 56,
    width: int = 56,
    duration_seconds: float = 4.0,
) -> SampledVideo:
    """Frames of smooth random colour, as the sampler would return them."""
    generator = np.random.default_rng(seed)
    coarse = generator.integers(0, 256, (num_frames, height // 28, width // 28, 3), dtype=np.uint8)
    frames = coarse.repeat(28, axis=1).repeat(28, axis=2)
    if num_frames % 2:
        frames = np.concatenate([frames, frames[-1:]])
    fps = num_frames / duration_seconds
    return SampledVideo(
        frames=frames,
        times_seconds=tuple(index / fps for index in range(num_frames)),
        duration_seconds=duration_seconds,
        num_sampled_frames=num_frames,
        effective_fps=fps,
        second_per_grid_seconds=2 / fps,
    )


def tiny_prompt(processor: Any, *clips: SampledVideo, text: str = "Describe.") -> PromptInputs:
    """A user turn with the clips in order, then the text."""
    content: list[dict[str, Any]] = [{"type": "video"} for _ in clips]
    content.append({"type": "text", "text": text})
    return encode_prompt(processor, [{"role": "user", "content": content}], list(clips))


def batch_inputs(prompts: Sequence[PromptInputs], *, side: str = "left") -> dict[str, Any]:
    """Arguments of a model's forward for the prompts as one padded batch, without positions."""
    pad_id = shared_processor().tokenizer.pad_token_id
    ids, mask = pad_rows([prompt.input_ids for prompt in prompts], pad_id, side=side)
    inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
    patches = [p.pixel_values_videos for p in prompts if p.pixel_values_videos is not None]
    if patches:
        seconds = [value for prompt in prompts for value in prompt.second_per_grid_ts]
        inputs["pixel_values_videos"] = torch.cat(patches)
        inputs["video_grid_thw"] = torch.cat([prompt.video_grid_thw for prompt in prompts])
        inputs["second_per_grid_ts"] = torch.tensor(seconds)
    return inputs
