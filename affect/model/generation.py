"""Sampling replies to video prompts, reproducibly and with our positions.

Each completion draws from a generator of its own, so its tokens depend on its seed, its prompt and
the weights, never on what else is in the batch or on how many processes there are. The prompt and
its video go through the model once, whatever the number of samples, and are kept once.

Example:
    [[first, second]] = generate(
        model, processor, [prompt], num_samples=2, max_new_tokens=400, temperature=0.8, top_k=50,
        seeds=[[1, 2]],
    )
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig

from affect.model.decode_loop import decode
from affect.model.inputs import PromptInputs, banned_token_ids
from affect.model.policy import causal_model
from affect.model.sampling import Sampler


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
        features: tower features (N, hidden) of each prompt's videos, one tensor for each prompt
            that has any; computed here if None.

    Returns:
        one list of `num_samples` completions per prompt, in order.

    Raises:
        ValueError: settings out of range, or seeds missing or of the wrong shape.
    """
    _check_settings(prompts, num_samples, max_new_tokens, temperature, top_k, top_p, seeds)
    inner = causal_model(model)
    _refuse_sliding_windows(inner.config)
    device = inner.get_input_embeddings().weight.device
    # Of each module: a part may be in another mode than the whole, such as a frozen tower.
    training = [module for module in inner.modules() if module.training]
    inner.eval()
    try:
        drafts = decode(
            inner,
            prompts,
            num_samples=num_samples,
            max_new_tokens=max_new_tokens,
            sampler=Sampler(
                temperature,
                top_k,
                top_p,
                banned=torch.tensor(banned_token_ids(processor), dtype=torch.long, device=device),
            ),
            uniforms=_uniforms(seeds, max_new_tokens, device) if temperature and seeds else None,
            end_ids=torch.tensor(end_token_ids(inner, processor), device=device),
            features=features,
        )
    finally:
        for module in training:
            module.training = True
    texts = processor.tokenizer.batch_decode(
        [draft.token_ids for draft in drafts], skip_special_tokens=True
    )
    completions = [
        Completion(draft.token_ids, text, draft.finished, draft.log_probs)
        for draft, text in zip(drafts, texts, strict=True)
    ]
    return [
        completions[first : first + num_samples]
        for first in range(0, len(completions), num_samples)
    ]


def _uniforms(seeds: Sequence[Sequence[int]], max_new_tokens: int, device: torch.device) -> Tensor:
    """(rows, max_new_tokens) draws in [0, 1), each row from its own seed."""
    rows = []
    for seed in (seed for group in seeds for seed in group):
        generator = torch.Generator().manual_seed(seed)
        rows.append(torch.rand(max_new_tokens, generator=generator, dtype=torch.float64))
    return torch.stack(rows).to(device)


def end_token_ids(model: Any, processor: Any) -> list[int]:
    """Ids that end a reply: the model's declared ones and the tokenizer's."""
    return _end_ids(model.generation_config, processor)


def declared_end_ids(folder: Path, config: Any, processor: Any) -> list[int]:
    """`end_token_ids` of the model in a folder, without loading it."""
    try:
        declared = GenerationConfig.from_pretrained(str(folder))
    except OSError:  # there is none: what transformers makes of the config
        declared = GenerationConfig.from_model_config(config)
    return _end_ids(declared, processor)


def _end_ids(generation_config: Any, processor: Any) -> list[int]:
    declared = generation_config.eos_token_id
    ids = set(declared if isinstance(declared, list) else [] if declared is None else [declared])
    ids.add(processor.tokenizer.eos_token_id)
    return sorted(ids)


def _refuse_sliding_windows(config: Any) -> None:
    if any(kind != "full_attention" for kind in config.get_text_config().layer_types):
        raise ValueError(
            "sampling needs full attention in all layers, and this model's config asks for sliding "
            "windows; set use_sliding_window to false, as the released Qwen2.5-VL have it"
        )


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
