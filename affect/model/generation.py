"""Sampling replies to video prompts, reproducibly and with our positions.

Each completion draws from a generator of its own, so its tokens depend on its seed, its prompt and
the weights, never on what else is in the batch or on how many processes there are. The prompt and
its video go through the model once, whatever the number of samples.

Example:
    [[first, second]] = generate(
        model, processor, [prompt], num_samples=2, max_new_tokens=400, temperature=0.8, top_k=50,
        seeds=[[1, 2]],
    )
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from affect.model.growing_cache import reserve
from affect.model.inputs import PromptInputs, banned_token_ids, pad_rows
from affect.model.policy import causal_model, model_positions, tower_features

# Rows are dropped from the cache when this share of the batch has finished: each time copies it.
_COMPACT_SHARE = 0.25


@dataclass(frozen=True)
class Completion:
    """One sampled reply.

    `token_ids` include the end token when `finished`; `text` leaves special tokens out;
    `log_probs` are those of the sampled tokens under the model at the sampling temperature, before
    top-k, top-p and the ban on vision tokens (what a training forward computes); at temperature 0
    they are taken at temperature 1.
    """

    token_ids: list[int]
    text: str
    finished: bool
    log_probs: list[float]


@torch.no_grad()
def generate(
    model: Any,
    processor: Any,
    prompts: Sequence[PromptInputs],
    *,
    num_samples: int = 1,
    max_new_tokens: int,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seeds: Sequence[Sequence[int]] | None = None,
    features: Sequence[Tensor] | None = None,
) -> list[list[Completion]]:
    """Sample `num_samples` replies to each prompt.

    Args:
        model: a policy (`load_policy`); its training mode is put back afterwards.
        temperature: 0 means the likeliest token each time.
        top_k: 0 means all tokens. top_p: in (0, 1].
        seeds: one seed per prompt and sample; required above temperature 0.
        features: tower features of each prompt's videos, (N, hidden); computed here if None.

    Returns:
        one list of `num_samples` completions per prompt, in order.

    Raises:
        ValueError: settings out of range, or seeds missing or of the wrong shape.
    """
    _check_settings(prompts, num_samples, max_new_tokens, temperature, top_k, top_p, seeds)
    inner = causal_model(model)
    # Of each module: a part may be in another mode than the whole, such as a frozen tower.
    training = [module for module in inner.modules() if module.training]
    inner.eval()
    try:
        return _Decoder(
            inner, processor, num_samples, max_new_tokens, temperature, top_k, top_p
        ).run(prompts, seeds, features)
    finally:
        for module in training:
            module.training = True


class _Decoder:
    """The state of one call: rows of the batch are completions, prompt-major."""

    def __init__(
        self,
        model: Any,
        processor: Any,
        num_samples: int,
        max_new_tokens: int,
        temperature: float,
        top_k: int,
        top_p: float,
    ) -> None:
        self.model, self.processor = model, processor
        self.num_samples, self.max_new_tokens = num_samples, max_new_tokens
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p
        self.device = model.get_input_embeddings().weight.device
        self.banned = torch.tensor(banned_token_ids(processor), device=self.device)
        self.end_ids = torch.tensor(end_token_ids(model, processor), device=self.device)

    def run(
        self,
        prompts: Sequence[PromptInputs],
        seeds: Sequence[Sequence[int]] | None,
        features: Sequence[Tensor] | None,
    ) -> list[list[Completion]]:
        uniforms = self._uniforms(seeds)
        logits, cache, mask, next_position = self._prefill(prompts, features)
        num_rows = len(prompts) * self.num_samples
        tokens: list[list[int]] = [[] for _ in range(num_rows)]
        log_probs: list[list[float]] = [[] for _ in range(num_rows)]
        finished = [False] * num_rows
        alive = torch.arange(num_rows, device=self.device)  # batch row -> completion
        for step in range(self.max_new_tokens):
            drawn = None if uniforms is None else uniforms[alive, step]
            chosen, chosen_log_probs = self._sample(logits, drawn)
            ended = torch.isin(chosen, self.end_ids)
            for row, token, log_prob, end in zip(
                alive.tolist(),
                chosen.tolist(),
                chosen_log_probs.tolist(),
                ended.tolist(),
                strict=True,
            ):
                if not finished[row]:
                    tokens[row].append(token)
                    log_probs[row].append(log_prob)
                    finished[row] = end
            going = torch.tensor([not finished[row] for row in alive.tolist()], device=self.device)
            num_done = int((~going).sum())
            if num_done == len(alive) or step + 1 == self.max_new_tokens:
                break
            if num_done >= max(1, _COMPACT_SHARE * len(alive)):
                kept = going.nonzero(as_tuple=True)[0]
                cache.batch_select_indices(kept)
                alive, chosen, mask = alive[kept], chosen[kept], mask[kept]
                next_position = next_position[kept]
            mask = torch.cat([mask, mask.new_ones(len(alive), 1)], dim=1)
            logits = self.model(
                input_ids=chosen[:, None],
                attention_mask=mask,
                position_ids=next_position[None].expand(3, -1, -1),
                past_key_values=cache,
                use_cache=True,
            ).logits[:, -1]
            next_position = next_position + 1
        return self._completions(tokens, log_probs, finished, len(prompts))

    def _uniforms(self, seeds: Sequence[Sequence[int]] | None) -> Tensor | None:
        """(rows, max_new_tokens) draws, each row from its own seed."""
        if self.temperature == 0 or seeds is None:
            return None
        rows = []
        for seed in (seed for group in seeds for seed in group):
            generator = torch.Generator().manual_seed(seed)
            rows.append(torch.rand(self.max_new_tokens, generator=generator, dtype=torch.float64))
        return torch.stack(rows).to(self.device)

    def _prefill(
        self, prompts: Sequence[PromptInputs], features: Sequence[Tensor] | None
    ) -> tuple[Tensor, Any, Tensor, Tensor]:
        pad_id = self.processor.tokenizer.pad_token_id
        ids, mask = pad_rows([prompt.input_ids for prompt in prompts], pad_id, side="left")
        ids, mask = ids.to(self.device), mask.to(self.device)
        grids = torch.cat([prompt.video_grid_thw for prompt in prompts]).to(self.device)
        seconds = [value for prompt in prompts for value in prompt.second_per_grid_ts]
        video: dict[str, Tensor] = {}
        if len(grids):
            if features is None:
                features = [
                    tower_features(
                        self.model,
                        prompt.pixel_values_videos.to(self.device),
                        prompt.video_grid_thw.to(self.device),
                    )
                    for prompt in prompts
                    if prompt.pixel_values_videos is not None
                ]
            video = {"pixel_values_videos": torch.cat(list(features)), "video_grid_thw": grids}
        positions, deltas = model_positions(
            self.model.config, ids, mask, video.get("video_grid_thw"), seconds
        )
        cache = DynamicCache(config=self.model.config.get_text_config())
        output = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
            **video,
        )
        cache = output.past_key_values
        if self.num_samples > 1:
            cache.batch_repeat_interleave(self.num_samples)
        reserve(cache, self.max_new_tokens - 1)  # the last token is never read again
        next_position = mask.sum(dim=1, keepdim=True) + deltas
        repeat = [
            tensor.repeat_interleave(self.num_samples, dim=0)
            for tensor in (output.logits[:, -1], mask, next_position)
        ]
        return repeat[0], cache, repeat[1], repeat[2]

    def _sample(self, logits: Tensor, uniforms: Tensor | None) -> tuple[Tensor, Tensor]:
        """Chosen token of each row, and its log-prob before any restriction."""
        logits = logits.float()
        scaled = logits / self.temperature if self.temperature > 0 else logits
        allowed = scaled.clone()
        if len(self.banned):
            allowed[:, self.banned] = -torch.inf
        if uniforms is None:
            chosen = allowed.argmax(dim=-1)
        else:
            chosen = _draw(_restrict(allowed, self.top_k, self.top_p), uniforms)
        log_probs = torch.log_softmax(scaled, dim=-1)
        return chosen, log_probs.gather(1, chosen[:, None])[:, 0]

    def _completions(
        self,
        tokens: list[list[int]],
        log_probs: list[list[float]],
        finished: list[bool],
        num_prompts: int,
    ) -> list[list[Completion]]:
        texts = self.processor.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        flat = [
            Completion(token_ids=ids, text=text, finished=end, log_probs=values)
            for ids, text, end, values in zip(tokens, texts, finished, log_probs, strict=True)
        ]
        size = self.num_samples
        return [flat[index * size : (index + 1) * size] for index in range(num_prompts)]


def end_token_ids(model: Any, processor: Any) -> list[int]:
    """Ids that end a reply: the model's declared ones and the tokenizer's."""
    declared = model.generation_config.eos_token_id
    ids = set(declared if isinstance(declared, list) else [] if declared is None else [declared])
    ids.add(processor.tokenizer.eos_token_id)
    return sorted(ids)


def _restrict(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    """Logits (B, V) with everything outside the top k and the nucleus at minus infinity."""
    if 0 < top_k < logits.shape[-1]:
        smallest = torch.topk(logits, top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < smallest, -torch.inf)
    if top_p < 1.0:
        ordered, order = logits.sort(dim=-1, descending=True)
        before = torch.softmax(ordered, dim=-1).cumsum(dim=-1)
        # A token stays if the mass before it is under top_p, so the first one always does.
        outside = torch.cat([torch.zeros_like(before[:, :1]), before[:, :-1]], dim=-1) >= top_p
        logits = logits.masked_fill(
            torch.zeros_like(outside).scatter(1, order, outside), -torch.inf
        )
    return logits


def _draw(logits: Tensor, uniforms: Tensor) -> Tensor:
    """Inverse-CDF draw per row. In float64, so that the tail of a large vocabulary is not lost."""
    probabilities = torch.softmax(logits.double(), dim=-1)
    cumulative = probabilities.cumsum(dim=-1)
    target = uniforms[:, None] * cumulative[:, -1:]
    index = torch.searchsorted(cumulative, target, right=True)[:, 0]
    last_possible = logits.shape[-1] - 1 - torch.isfinite(logits).flip(-1).int().argmax(dim=-1)
    return torch.minimum(index, last_possible)


def _check_settings(
    prompts: Sequence[PromptInputs],
    num_samples: int,
    max_new_tokens: int,
    temperature: float,
    top_k: int,
    top_p: float,
    seeds: Sequence[Sequence[int]] | None,
) -> None:
    if not prompts:
        raise ValueError("no prompts to answer")
    if num_samples < 1 or max_new_tokens < 1:
        raise ValueError("num_samples and max_new_tokens must be at least 1")
    if not 0 <= temperature < math.inf or top_k < 0 or not 0 < top_p <= 1:
        raise ValueError(
            f"temperature ({temperature}) must be finite and, like top_k ({top_k}), not negative, "
            f"and top_p ({top_p}) lies in (0, 1]"
        )
    if temperature > 0 and (
        seeds is None
        or len(seeds) != len(prompts)
        or any(len(group) != num_samples for group in seeds)
    ):
        raise ValueError(
            f"sampling needs one seed for each of {len(prompts)} prompts x {num_samples} samples"
        )
