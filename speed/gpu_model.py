"""The random policy, prompt and completions of `speed.gpu_check`.

`RELEASED_3B` has the sizes of Qwen2.5-VL-3B-Instruct's config; nothing is loaded from anywhere.

Example:
    policy = random_policy(RELEASED_3B, torch.device("cuda"), torch.bfloat16)
    clip = draw_clip(policy.config, num_frames=28, height=252, width=448, device=..., dtype=...)
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from affect.model.inputs import PromptInputs
from affect.model.policy import freeze_tower, install_policy

RELEASED_3B: dict[str, Any] = {
    "text_config": {
        "vocab_size": 151936,
        "hidden_size": 2048,
        "intermediate_size": 11008,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "max_position_embeddings": 128000,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1_000_000.0,
            "mrope_section": [16, 24, 24],
        },
        "bos_token_id": 151643,
        "eos_token_id": 151645,
        "pad_token_id": 151643,
        "tie_word_embeddings": True,
    },
    "vision_config": {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "out_hidden_size": 2048,
        "fullatt_block_indexes": [7, 15, 23, 31],
        "window_size": 112,
        "tokens_per_second": 2,
    },
    "image_token_id": 151655,
    "video_token_id": 151656,
    "vision_start_token_id": 151652,
    "vision_end_token_id": 151653,
    "tie_word_embeddings": True,
}

TINY: dict[str, Any] = {
    **RELEASED_3B,
    "text_config": {
        **RELEASED_3B["text_config"],
        "vocab_size": 1024,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1_000.0,
            "mrope_section": [4, 6, 6],
        },
        "bos_token_id": 1000,
        "eos_token_id": 1002,
        "pad_token_id": 1000,
    },
    "vision_config": {
        **RELEASED_3B["vision_config"],
        "depth": 2,
        "hidden_size": 64,
        "intermediate_size": 96,
        "num_heads": 2,
        "out_hidden_size": 64,
        "fullatt_block_indexes": [1],
        "window_size": 56,
    },
    "image_token_id": 1005,
    "video_token_id": 1006,
    "vision_start_token_id": 1003,
    "vision_end_token_id": 1004,
}


@dataclass(frozen=True)
class DrawnPrompt:
    """A prompt with one clip: `inputs` as sampling takes it, `num_words` ids that text is of."""

    inputs: PromptInputs
    num_words: int


def random_policy(sizes: dict[str, Any], device: torch.device, dtype: torch.dtype) -> Any:
    """A policy of these sizes with a frozen tower, made on `device`."""
    config = Qwen2_5_VLConfig(**sizes)
    before = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(dtype)
    try:
        with device:
            model = Qwen2_5_VLForConditionalGeneration._from_config(config)
    finally:
        torch.set_default_dtype(before)
    text = config.get_text_config()
    model.generation_config = GenerationConfig(
        eos_token_id=text.eos_token_id, pad_token_id=text.pad_token_id
    )
    model = model.to(device=device, dtype=dtype)
    install_policy(model)
    freeze_tower(model)
    return model


def draw_prompt(
    config: Any, *, num_frames: int, height: int, width: int, fps: float, num_text: int
) -> DrawnPrompt:
    """Text, a clip of noise as patches in the processor's order and shape, and more text.

    Args:
        num_frames: even. height, width: pixels, multiples of 28. num_text: tokens around the clip.
    """
    vision = config.vision_config
    grid = (num_frames // vision.temporal_patch_size, height // vision.patch_size)
    num_t, num_h, num_w = (*grid, width // vision.patch_size)
    patch = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
    chance = torch.Generator().manual_seed(1)
    pixels = torch.randn(num_t * num_h * num_w, patch, generator=chance)
    num_words = min(config.image_token_id, config.vision_start_token_id, 1000) - 10
    words = torch.randint(num_words, (num_text,), generator=chance)
    num_video = num_t * num_h * num_w // vision.spatial_merge_size**2
    ids = torch.cat(
        [
            words[: num_text // 4],
            torch.tensor([config.vision_start_token_id]),
            torch.full((num_video,), config.video_token_id),
            torch.tensor([config.vision_end_token_id]),
            words[num_text // 4 :],
        ]
    )
    inputs = PromptInputs(
        input_ids=ids,
        pixel_values_videos=pixels,
        video_grid_thw=torch.tensor([[num_t, num_h, num_w]]),
        second_per_grid_ts=(vision.temporal_patch_size / fps,),
    )
    return DrawnPrompt(inputs, num_words)


def draw_completions(prompt: DrawnPrompt, num_completions: int, num_tokens: int) -> Tensor:
    """(G, C) ids of plain words."""
    chance = torch.Generator().manual_seed(2)
    return torch.randint(prompt.num_words, (num_completions, num_tokens), generator=chance)
