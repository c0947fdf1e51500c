"""The loop behind `generate`: one forward over each prompt, then one token per reply at a time.

A decode step calls the decoder's layers directly, with positions and cache prepared for it, since
what a full forward of the model does besides (masks, positions, output classes) takes longer than
the arithmetic of a small model. The layers are the model's own modules, so adapters, hooks and
autocast work as in any forward. A reply that ended leaves the batch at once.

Under ZeRO-3 the weights must be gathered around the whole call, since processes take different
numbers of steps.

Example:
    drafts = decode(model, prompts, num_samples=8, max_new_tokens=400, sampler=sampler,
                    uniforms=uniforms, end_ids=end_ids, features=None)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from affect.model.group_cache import GroupCache, decode_attention
from affect.model.inputs import PromptInputs
from affect.model.policy import model_positions, tower_features
from affect.model.sampling import Sampler


@dataclass(frozen=True)
class Draft:
    """One reply's tokens, its end token included, and their log-probs."""

    token_ids: list[int]
    log_probs: list[float]
    finished: bool


def decode(
    model: Any,
    prompts: Sequence[PromptInputs],
    *,
    num_samples: int,
    max_new_tokens: int,
    sampler: Sampler,
    uniforms: Tensor | None,
    end_ids: Tensor,
    features: Sequence[Tensor] | None,
) -> list[Draft]:
    """Sample `num_samples` replies to each prompt, prompt-major.

    Args:
        model: the Qwen2.5-VL itself, in evaluation mode.
        uniforms: (rows, max_new_tokens) float64 in [0, 1), or None at temperature 0.
        end_ids: tokens that end a reply.
        features: see `generate`.
    """
    device = end_ids.device
    cache = GroupCache()
    logits, turns = _prefill(model, prompts, cache, num_samples, max_new_tokens, features)
    num_rows = len(prompts) * num_samples
    tokens = torch.zeros(num_rows, max_new_tokens, dtype=torch.long, device=device)
    log_probs = torch.zeros(num_rows, max_new_tokens, device=device)
    lengths = torch.full((num_rows,), max_new_tokens, device=device)
    finished = torch.zeros(num_rows, dtype=torch.bool, device=device)
    alive = torch.arange(num_rows, device=device)  # batch row -> reply
    for step in range(max_new_tokens):
        chosen, chosen_log_probs = sampler(
            logits, None if uniforms is None else uniforms[alive, step]
        )
        tokens[alive, step] = chosen
        log_probs[alive, step] = chosen_log_probs
        ended = torch.isin(chosen, end_ids)
        going = (~ended).nonzero()[:, 0]
        if len(going) < len(alive):
            finished[alive[ended]] = True
            lengths[alive[ended]] = step + 1
        if not len(going) or step + 1 == max_new_tokens:
            break
        if len(going) < len(alive):
            alive, chosen = alive[going], chosen[going]
            cache.keep(going.tolist())
        logits = _step(model, chosen, cache, turns.at(step, alive // num_samples))
    return [
        Draft(ids[:length], values[:length], end)
        for ids, values, length, end in zip(
            tokens.tolist(), log_probs.tolist(), lengths.tolist(), finished.tolist(), strict=True
        )
    ]


@dataclass(frozen=True)
class _Turns:
    """Rotary turns, cosine and sine, of all tokens to come: (prompts, max_new_tokens, head size).

    Made at once: at each step again they would take a dozen small operations.
    """

    cosine: Tensor
    sine: Tensor

    def at(self, step: int, prompt_of_row: Tensor) -> tuple[Tensor, Tensor]:
        """(R, 1, head size) each, of the token chosen at `step`."""
        return self.cosine[prompt_of_row, step, None], self.sine[prompt_of_row, step, None]


def _prefill(
    model: Any,
    prompts: Sequence[PromptInputs],
    cache: GroupCache,
    num_samples: int,
    max_new_tokens: int,
    features: Sequence[Tensor] | None,
) -> tuple[Tensor, _Turns]:
    """One forward per prompt, without padding.

    Returns:
        logits (rows, V) of the first token, and the turns of all that follow.
    """
    device = model.get_input_embeddings().weight.device
    given = None if features is None else iter(features)
    first_logits, next_positions = [], []
    for prompt in prompts:
        ids = prompt.input_ids[None].to(device)
        video = _video_inputs(model, prompt, given, device)
        positions, deltas = model_positions(
            model.config, ids, None, video.get("video_grid_thw"), prompt.second_per_grid_ts
        )
        filled = DynamicCache(config=model.config.get_text_config())
        output = model(
            input_ids=ids,
            position_ids=positions,
            past_key_values=filled,
            use_cache=True,
            logits_to_keep=1,
            **video,
        )
        cache.add_group(filled, num_samples)
        first_logits.append(output.logits[0, -1])
        next_positions.append(prompt.num_tokens + int(deltas))
    steps = torch.arange(max_new_tokens, device=device)
    positions = torch.tensor(next_positions, device=device)[:, None] + steps
    weight = model.get_input_embeddings().weight
    cosine, sine = model.model.language_model.rotary_emb(weight, positions.expand(3, -1, -1))
    logits = torch.stack(first_logits).repeat_interleave(num_samples, dim=0)
    return logits, _Turns(cosine, sine)


def _video_inputs(
    model: Any, prompt: PromptInputs, given: Iterator[Tensor] | None, device: torch.device
) -> dict[str, Tensor]:
    if not len(prompt.video_grid_thw):
        return {}
    grids = prompt.video_grid_thw.to(device)
    if given is not None:
        features = next(given)
    else:
        assert prompt.pixel_values_videos is not None, "a prompt with a grid has its patches"
        features = tower_features(model, prompt.pixel_values_videos.to(device), grids)
    return {"pixel_values_videos": features, "video_grid_thw": grids}


def _step(model: Any, token_ids: Tensor, cache: GroupCache, turns: tuple[Tensor, Tensor]) -> Tensor:
    """Logits (R, V) after one more token (R,) of each row."""
    language_model = model.model.language_model
    hidden = language_model.embed_tokens(token_ids[:, None])
    with decode_attention(language_model):
        for layer in language_model.layers:
            hidden = layer(
                hidden, position_embeddings=turns, past_key_values=cache, group_cache=cache
            )
    logits: Tensor = model.lm_head(language_model.norm(hidden))[:, -1]
    return logits
