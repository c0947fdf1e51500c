"""Sampling in the slow, obvious way: a whole forward for each token, and all of a row sorted.

Example: [[(token_ids, log_probs, finished)]] = slow_generate(model, processor, [prompt], ...)
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from affect.model.generation import end_token_ids
from affect.model.inputs import PromptInputs, banned_token_ids
from affect.model.policy import model_positions


def restrict(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    """Logits (R, V) with everything outside the top k and then the nucleus at minus infinity."""
    if 0 < top_k < logits.shape[-1]:
        smallest = logits.sort(dim=-1, descending=True).values[:, top_k - 1 : top_k]
        logits = logits.masked_fill(logits < smallest, -torch.inf)
    if top_p < 1.0:
        ordered, order = logits.sort(dim=-1, descending=True)
        before = torch.softmax(ordered, dim=-1).cumsum(dim=-1)
        outside = torch.cat([torch.zeros_like(before[:, :1]), before[:, :-1]], dim=-1) >= top_p
        logits = logits.masked_fill(
            torch.zeros_like(outside).scatter(1, order, outside), -torch.inf
        )
    return logits


def slow_draw(logits: Tensor, uniform: float) -> int:
    """The first token of a row (V,) at which the running mass, in float64, passes `uniform`."""
    masses = torch.softmax(logits.double(), dim=-1).tolist()
    reached, last_possible = 0.0, 0
    for token, mass in enumerate(masses):
        if mass > 0:
            last_possible = token
        reached += mass
        if reached > uniform:
            return token
    return last_possible


def slow_choice(
    logits: Tensor, uniform: float | None, *, temperature: float, top_k: int, top_p: float,
    banned: Sequence[int],
) -> tuple[int, float]:  # fmt: skip
    """One token of one row (V,), and its log-prob before any restriction."""
    scaled = logits.float() / (temperature or 1.0)
    allowed = scaled.clone()
    allowed[list(banned)] = -torch.inf
    if uniform is None:
        token = int(allowed.argmax())
    else:
        token = slow_draw(restrict(allowed[None], top_k, top_p)[0], uniform)
    return token, float(torch.log_softmax(scaled, dim=-1)[token])


@torch.no_grad()
def next_logits(model: Any, prompt: PromptInputs, token_ids: Sequence[int]) -> Tensor:
    """(V,) after the prompt and these tokens, from one forward without a cache."""
    inner = getattr(model, "model", model)
    ids = torch.cat([prompt.input_ids, torch.tensor(token_ids, dtype=torch.long)])[None]
    video: dict[str, Any] = {}
    if len(prompt.video_grid_thw):
        video = {
            "pixel_values_videos": prompt.pixel_values_videos,
            "video_grid_thw": prompt.video_grid_thw,
        }
    positions, _ = model_positions(
        inner.config, ids, None, video.get("video_grid_thw"), prompt.second_per_grid_ts
    )
    logits: Tensor = model(input_ids=ids, position_ids=positions, use_cache=False, **video).logits
    return logits[0, -1]


def slow_generate(
    model: Any,
    processor: Any,
    prompts: Sequence[PromptInputs],
    *,
    num_samples: int,
    max_new_tokens: int,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seeds: Sequence[Sequence[int]] | None = None,
) -> list[list[tuple[list[int], list[float], bool]]]:
    """Token ids, log-probs and whether it ended, of each reply to each prompt."""
    end_ids = end_token_ids(model, processor)
    banned = banned_token_ids(processor)
    groups = []
    for index, prompt in enumerate(prompts):
        group = []
        for sample in range(num_samples):
            uniforms: list[float | None] = [None] * max_new_tokens
            if temperature > 0:
                assert seeds is not None
                generator = torch.Generator().manual_seed(seeds[index][sample])
                uniforms = torch.rand(
                    max_new_tokens, generator=generator, dtype=torch.float64
                ).tolist()
            tokens: list[int] = []
            log_probs: list[float] = []
            for uniform in uniforms:
                token, log_prob = slow_choice(
                    next_logits(model, prompt, tokens),
                    uniform,
                    temperature=temperature,
                    top_k=top_k,
                    top_p=top_p,
                    banned=banned,
                )
                tokens.append(token)
                log_probs.append(log_prob)
                if token in end_ids:
                    break
            group.append((tokens, log_probs, tokens[-1] in end_ids))
        groups.append(group)
    return groups
