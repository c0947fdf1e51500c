"""The least arithmetic that one GRPO step on one clip takes, as a formula of the model's sizes.

What has to be done once is done once: the tower, the prompt in each pass. Of attention, only the
pairs that the causal rule lets see each other; of the head, only the positions whose next token
counts. With G completions of C tokens behind a prompt of P, which holds M merged video tokens:

    tower      all patches once
    prefill    P tokens, P (P + 1) / 2 pairs, merger, head on one
    decode     G (C - 1) tokens, the j-th of which sees P + j, head on each
    a pass     P - 1 + G C tokens: the prompt without its last token, then G times the last token
               and all but the last of the completion; merger; head on G C
    step       tower + prefill + decode + reference, forward, backward (2 passes, but nothing for
               the tower's features, which are frozen) and, with gradient checkpointing, one more
               forward of the decoder and the head (the merger is not checkpointed)

A multiply and an add are two operations. Elementwise work is left out.

Example: `step_floor(model.config, grid_thw=[12, 16, 16], num_prompt=1497, num_completion=128,
num_completions=8)["total"]`
"""

from collections.abc import Sequence
from typing import Any


def step_floor(
    config: Any,
    *,
    grid_thw: Sequence[int],
    num_prompt: int,
    num_completion: int,
    num_completions: int,
    checkpointing: bool = True,
    reference: bool = True,
) -> dict[str, int]:
    """Operations of each part and their "total".

    Args:
        config: of a Qwen2.5-VL. grid_thw: temporal, height and width patches of the clip.
        num_prompt: P. num_completion: C. num_completions: G.
    """
    length, count = num_completion, num_completions
    scored = count * length
    decoder_and_head = trunk_flops(
        config, num_prompt - 1 + scored, shared_pairs(num_prompt, length, count)
    ) + head_flops(config, scored)
    merger = merger_flops(config, grid_thw)
    a_pass = decoder_and_head + merger
    decode_pairs = count * sum(num_prompt + place for place in range(1, length))
    parts = {
        "tower": tower_flops(config, grid_thw),
        "prefill": trunk_flops(config, num_prompt, causal_pairs(num_prompt))
        + merger
        + head_flops(config, 1),
        "decode": trunk_flops(config, count * (length - 1), decode_pairs)
        + head_flops(config, count * (length - 1)),
        "reference": a_pass if reference else 0,
        "forward": a_pass,
        "backward": 2 * a_pass - _first_merger_layer_flops(config, grid_thw),
        "recomputed forward": decoder_and_head if checkpointing else 0,
    }
    return {**parts, "total": sum(parts.values())}


def completion_floor(config: Any, **shape: Any) -> int:
    """What one completion more adds to `step_floor`."""
    count = shape.pop("num_completions")
    more = step_floor(config, num_completions=count + 1, **shape)["total"]
    return more - step_floor(config, num_completions=count, **shape)["total"]


def causal_pairs(length: int) -> int:
    """Pairs of a token with itself and with each before it."""
    return length * (length + 1) // 2


def shared_pairs(num_prompt: int, num_completion: int, num_completions: int) -> int:
    """Pairs of a pass: the prompt's own, and each branch's with its prefix and itself."""
    prefix = num_prompt - 1
    branch = num_completion * prefix + causal_pairs(num_completion)
    return causal_pairs(prefix) + num_completions * branch


def trunk_flops(config: Any, num_tokens: int, num_pairs: int) -> int:
    """Decoder layers over tokens, and attention over pairs."""
    text = config.get_text_config()
    width = text.hidden_size
    key_width = width // text.num_attention_heads * text.num_key_value_heads
    weights = 2 * width * width + 2 * width * key_width + 3 * width * text.intermediate_size
    # Scores and the weighted sum of the values: two products over the heads' joint width.
    return int(text.num_hidden_layers * (2 * num_tokens * weights + 4 * num_pairs * width))


def head_flops(config: Any, num_tokens: int) -> int:
    """Logits of so many positions."""
    text = config.get_text_config()
    return int(2 * num_tokens * text.hidden_size * text.vocab_size)


def merger_flops(config: Any, grid_thw: Sequence[int]) -> int:
    """From tower features to video tokens: two linear layers on groups of patches."""
    vision = config.vision_config
    unit = vision.spatial_merge_size**2
    joint = vision.hidden_size * unit
    num_tokens = grid_thw[0] * grid_thw[1] * grid_thw[2] // unit
    return int(2 * num_tokens * (joint * joint + joint * vision.out_hidden_size))


def _first_merger_layer_flops(config: Any, grid_thw: Sequence[int]) -> int:
    """What a gradient of the tower's features would take."""
    vision = config.vision_config
    joint = vision.hidden_size * vision.spatial_merge_size**2
    num_tokens = grid_thw[0] * grid_thw[1] * grid_thw[2] // vision.spatial_merge_size**2
    return int(2 * num_tokens * joint * joint)


def tower_flops(config: Any, grid_thw: Sequence[int]) -> int:
    """All blocks in front of the merger; attention within windows, or within a frame."""
    vision = config.vision_config
    num_t, num_h, num_w = grid_thw
    num_patches = num_t * num_h * num_w
    width = vision.hidden_size
    patch = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
    weights = 4 * width * width + 3 * width * vision.intermediate_size
    side = vision.window_size // vision.patch_size
    window_pairs = num_t * sum(
        (min(side, num_h - top) * min(side, num_w - left)) ** 2
        for top in range(0, num_h, side)
        for left in range(0, num_w, side)
    )
    frame_pairs = num_t * (num_h * num_w) ** 2
    pairs = sum(
        frame_pairs if block in vision.fullatt_block_indexes else window_pairs
        for block in range(vision.depth)
    )
    return int(2 * num_patches * (patch * width + vision.depth * weights) + 4 * pairs * width)
