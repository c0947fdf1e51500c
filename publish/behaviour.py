"""What a loaded model and its processor do with one fixed prompt, and whether two do the same.

The prompt is the project's, with a short clip of drawn noise under the model's own frame budget.

Example:
    before = observe(model, processor, budget)
    refuse_difference(before, observe(*load_policy(folder), budget), "loaded back", tolerance=1e-5)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from affect.model.generation import end_token_ids
from affect.model.inputs import Message, PromptInputs, encode_prompt, segment_messages
from affect.video import FrameBudget, SampledVideo

NUM_POSITIONS = 64  # of the prompt's end, each of which has seen the whole clip
_SECONDS = 4.0
_HEIGHT, _WIDTH = 180, 320
_REPLY = '{"segments": []}'


@dataclass(frozen=True, slots=True, eq=False)
class Behaviour:
    """What is compared.

    texts: the prompt, and the prompt with a reply, as the chat template renders them. prompt: the
    tensors made of it. image: patches of one picture. logits: (positions, V), float32. end_ids:
    tokens that end a reply.
    """

    texts: tuple[str, ...]
    prompt: PromptInputs
    image: Tensor
    logits: Tensor
    end_ids: tuple[int, ...]

    @property
    def largest_logit(self) -> float:
        return float(self.logits.abs().max())


def check_messages() -> list[Message]:
    """The project's prompt for the clip of `drawn_noise`."""
    return segment_messages(_SECONDS)


def drawn_noise(budget: FrameBudget, seed: int = 0) -> SampledVideo:
    """Four seconds of coloured noise: frames as many and as large as the budget has them."""
    generator = np.random.default_rng(seed)
    num_frames = budget.num_frames(_SECONDS, available_frames=100)
    height, width = budget.frame_size(_HEIGHT, _WIDTH)
    frames = generator.integers(0, 256, (num_frames, height, width, 3), dtype=np.uint8)
    padding = budget.num_grids(num_frames) * budget.temporal_patch_size - num_frames
    return SampledVideo(
        frames=np.concatenate([frames, *[frames[-1:]] * padding]),
        times_seconds=tuple(_SECONDS * index / num_frames for index in range(num_frames)),
        duration_seconds=_SECONDS,
        num_sampled_frames=num_frames,
        effective_fps=budget.effective_fps(_SECONDS, num_frames),
        second_per_grid_seconds=budget.second_per_grid_seconds(_SECONDS, num_frames),
    )


@torch.no_grad()
def observe(model: Any, processor: Any, budget: FrameBudget) -> Behaviour:
    """Render, encode and run the prompt; nothing is sampled.

    Args:
        model: what `load_policy` returns, on any device.
    """
    clip = drawn_noise(budget)
    messages = check_messages()
    prompt = encode_prompt(processor, messages, [clip], name="export check")
    assert prompt.pixel_values_videos is not None
    device = next(model.parameters()).device
    model.eval()
    output = model(
        input_ids=prompt.input_ids[None].to(device),
        attention_mask=torch.ones_like(prompt.input_ids)[None].to(device),
        pixel_values_videos=prompt.pixel_values_videos.to(device),
        video_grid_thw=prompt.video_grid_thw.to(device),
        second_per_grid_ts=torch.tensor(prompt.second_per_grid_ts),
        logits_to_keep=NUM_POSITIONS,
        use_cache=False,
    )
    replied = [*messages, {"role": "assistant", "content": [{"type": "text", "text": _REPLY}]}]
    return Behaviour(
        texts=(
            processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True),
            processor.apply_chat_template(replied, tokenize=False),
        ),
        prompt=prompt,
        image=processor.image_processor(images=[clip.frames[0]], return_tensors="pt")[
            "pixel_values"
        ],
        logits=output.logits[0].float().cpu(),
        end_ids=tuple(end_token_ids(model, processor)),
    )


def largest_difference(before: Behaviour, after: Behaviour) -> float:
    """Of the logits; infinite where one of them is not finite."""
    difference = (before.logits - after.logits).abs()
    return float(difference.max()) if torch.isfinite(difference).all() else float("inf")


def refuse_difference(before: Behaviour, after: Behaviour, what: str, *, tolerance: float) -> float:
    """The largest difference of the logits.

    Args:
        what: how `after` came about, for the message.
        tolerance: how large it may be, as a share of the largest logit of `before`.

    Raises:
        ValueError: texts, inputs, logits or the tokens that end a reply differ.
    """
    for name, same in (
        ("chat template", before.texts == after.texts),
        ("tokenizer", torch.equal(before.prompt.input_ids, after.prompt.input_ids)),
        ("video processor", _same_video(before.prompt, after.prompt)),
        ("image processor", torch.equal(before.image, after.image)),
        ("tokens that end a reply", before.end_ids == after.end_ids),
    ):
        if not same:
            raise ValueError(f"{what}, the model's {name} is not what it was")
    difference = largest_difference(before, after)
    allowed = tolerance * before.largest_logit
    if not difference <= allowed:  # NaN is refused too
        raise ValueError(
            f"{what}, the model answers differently: logits are off by up to {difference:.3g}, of "
            f"at most {before.largest_logit:.3g}; {allowed:.3g} is allowed"
        )
    return difference


def _same_video(before: PromptInputs, after: PromptInputs) -> bool:
    patches = (before.pixel_values_videos, after.pixel_values_videos)
    return (
        patches[0] is not None
        and patches[1] is not None
        and torch.equal(patches[0], patches[1])
        and torch.equal(before.video_grid_thw, after.video_grid_thw)
        and before.second_per_grid_ts == after.second_per_grid_ts
    )
