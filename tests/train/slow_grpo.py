"""The loss of GRPO written from the equations, one completion at a time, with plain forwards.

Nothing here knows of batches, padding, caches, shared towers or fused heads.

Example:
    log_probs = plain_log_probs(policy, prompt, token_ids, temperature=0.8)      # (C,)
    loss = slow_loss("grpo", [SlowCompletion(log_probs, log_probs.detach(), None, 1.2)], ...)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from affect.model.inputs import PromptInputs
from affect.model.positions import mrope_positions


def row_positions(config: Any, prompt: PromptInputs, token_ids: Sequence[int]) -> Tensor:
    """(3, P + C) positions of one prompt and its completion, without padding."""
    ids = torch.cat([prompt.input_ids, torch.tensor(list(token_ids), dtype=torch.long)])
    positions, _ = mrope_positions(
        ids[None],
        None,
        prompt.video_grid_thw,
        prompt.second_per_grid_ts,
        video_token_id=config.video_token_id,
        image_token_id=config.image_token_id,
        spatial_merge_size=config.vision_config.spatial_merge_size,
        tokens_per_second=config.vision_config.tokens_per_second,
    )
    return positions[:, 0]


def plain_log_probs(
    model: Any, prompt: PromptInputs, token_ids: Sequence[int], temperature: float
) -> Tensor:
    """(C,) log-probs of the tokens after the prompt, from the full logits of one row's forward."""
    ids = torch.cat([prompt.input_ids, torch.tensor(list(token_ids), dtype=torch.long)])
    logits = model(
        input_ids=ids[None],
        attention_mask=torch.ones(1, len(ids), dtype=torch.long),
        position_ids=row_positions(model.config, prompt, token_ids)[:, None],
        pixel_values_videos=prompt.pixel_values_videos,
        video_grid_thw=prompt.video_grid_thw,
        use_cache=False,
    ).logits[0]
    first = prompt.num_tokens - 1
    log_probs = []
    for place, token in enumerate(token_ids):
        scaled = logits[first + place].float() / temperature
        log_probs.append(scaled[token] - torch.logsumexp(scaled, dim=0))
    return torch.stack(log_probs)


@dataclass
class SlowCompletion:
    """One completion: (C,) log-probs under the three policies, and its group-relative advantage.

    counted: its tokens are in the numerator. in_denominator: it is one of those averaged over.
    """

    log_probs: Tensor
    old: Tensor
    reference: Tensor | None
    advantage: float
    counted: bool = True
    in_denominator: bool = True


def slow_loss(
    loss_type: str,
    completions: Sequence[SlowCompletion],
    *,
    beta: float,
    epsilon: float = 0.2,
    max_completion_length: int = 0,
    bias_corrected_kl: bool = False,
) -> Tensor:
    """What is minimised: minus equation 2, averaged as `loss_type` says.

    bias_corrected_kl: multiply the KL estimate by the ratio, as TRL does unless told not to.
    """
    sums: list[Tensor] = []
    lengths: list[int] = []
    for one in completions:
        if not one.counted:
            continue
        total = torch.zeros(())
        for place in range(len(one.log_probs)):
            ratio = torch.exp(one.log_probs[place] - one.old[place])
            value = float(ratio.detach())
            clipped = min(max(value, 1 - epsilon), 1 + epsilon)
            objective = ratio * one.advantage
            if clipped * one.advantage < value * one.advantage:
                objective = torch.tensor(clipped * one.advantage)
            if one.reference is not None:
                difference = one.reference[place] - one.log_probs[place]
                kl = torch.exp(difference) - difference - 1
                objective = objective - beta * (ratio * kl if bias_corrected_kl else kl)
            total = total - objective
        sums.append(total)
        lengths.append(len(one.log_probs))
    num_averaged = sum(one.in_denominator for one in completions)
    if not sums:
        return torch.zeros(())
    if loss_type == "grpo":
        return sum(s / n for s, n in zip(sums, lengths, strict=True)) / num_averaged
    if loss_type == "dr_grpo":
        return sum(sums) / (num_averaged * max_completion_length)
    if loss_type in ("bnpo", "dapo"):
        return sum(sums) / sum(lengths)
    raise AssertionError(loss_type)


def group_advantages(rewards: Sequence[float | None]) -> list[float]:
    """Equation 3 over one group: (r - mean) / (std + 1e-4), std unbiased; 0 for unscored ones."""
    scored = [reward for reward in rewards if reward is not None]
    if len(scored) < 2:
        return [0.0] * len(rewards)
    mean = sum(scored) / len(scored)
    std = (sum((reward - mean) ** 2 for reward in scored) / (len(scored) - 1)) ** 0.5
    return [0.0 if reward is None else (reward - mean) / (std + 1e-4) for reward in rewards]


def share_clipped(completions: Sequence[SlowCompletion], epsilon: float = 0.2) -> float:
    """Share of the counted tokens whose objective no longer follows the ratio."""
    clipped = []
    for one in completions:
        ratios = torch.exp(one.log_probs - one.old).tolist() if one.counted else []
        clipped += [
            (ratio < 1 - epsilon and one.advantage < 0)
            or (ratio > 1 + epsilon and one.advantage > 0)
            for ratio in ratios
        ]
    return sum(clipped) / len(clipped)


def assert_same_gradients(
    found: Mapping[str, Tensor], expected: Mapping[str, Tensor], tolerance: float = 1e-5
) -> None:
    """Every tensor's difference is below `tolerance` of its norm, or of the whole's hundredth."""
    assert found.keys() == expected.keys()
    whole = torch.stack([value.norm() for value in expected.values()]).norm()
    assert whole > 0
    for name, value in expected.items():
        scale = max(float(value.norm()), 0.01 * float(whole))
        assert float((found[name] - value).norm()) <= tolerance * scale, name
