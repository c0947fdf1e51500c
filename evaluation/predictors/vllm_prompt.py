"""Whether vLLM sees the prompt that the model was trained on: ids, video grid and positions.

    grid = video_grid(processor, clip)                       # [5, 12, 22]
    check_seen("bikes", seen_prompt(llm, request), prompt_ids, clip, config, processor)

Replies to another prompt would be those of another task, and nothing would show it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from affect.model.policy import model_positions
from affect.model.vllm_video import fold_video_tokens
from affect.video import SampledVideo


def video_grid(processor: Any, clip: SampledVideo) -> list[int]:
    """Patches along time, height and width."""
    maker = processor.video_processor
    num_frames, height, width = clip.frames.shape[:3]
    return [
        num_frames // maker.temporal_patch_size,
        height // maker.patch_size,
        width // maker.patch_size,
    ]


def num_video_tokens(processor: Any, grid: Sequence[int]) -> int:
    """Tokens that a clip of this grid has in the prompt."""
    time, height, width = grid
    return time * height * width // int(processor.video_processor.merge_size) ** 2


def check_seen(
    row_id: str,
    seen: Mapping[str, Any],
    prompt_ids: Sequence[int],
    clip: SampledVideo,
    config: Any,
    processor: Any,
) -> None:
    """Compare what the engine made of a prompt with what a training forward takes.

    Args:
        seen: of `affect.model.vllm_video.seen_prompt`.
        prompt_ids: with one video token.

    Raises:
        ValueError: naming the row, where ids, grid or positions differ.
    """
    ids, grid = list(seen["prompt_ids"]), video_grid(processor, clip)
    num_seen = ids.count(config.video_token_id)
    num_right = num_video_tokens(processor, grid)
    if (
        fold_video_tokens(ids, config.video_token_id) != list(prompt_ids)
        or num_seen != num_right
        or seen["grid_thw"] != grid
    ):
        raise ValueError(
            f"row {row_id}: vLLM sees a video grid of {seen['grid_thw']} and {num_seen} video "
            f"tokens, where {grid} and {num_right} are right; are the folder's processor files "
            "those the model was trained with?"
        )
    positions, _ = model_positions(
        config,
        torch.tensor([ids]),
        None,
        torch.tensor([grid]),
        (clip.second_per_grid_seconds,),
    )
    if not torch.equal(positions[:, 0], torch.tensor(seen["positions"])):
        raise ValueError(
            f"row {row_id}: vLLM's positions reach {seen['next_position']}, those of training "
            f"{int(positions.max()) + 1}, and they differ; this version of vLLM is not one the "
            "predictor was written for"
        )
