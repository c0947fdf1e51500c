"""The fast loop against a whole forward for each token: tokens, log-probs, ends, adapters."""

import contextlib
from typing import Any

import pytest
import torch

from affect.model.adapter import add_adapter
from affect.model.generation import Completion, end_token_ids, generate
from affect.model.inputs import PromptInputs
from tests.affect.model.slow_generate import next_logits, slow_generate
from tests.tiny import shared_processor, synthetic_clip, tiny_policy, tiny_prompt


def sharp_policy(end_bias: float = 3.0, **sizes: Any) -> tuple[Any, Any]:
    """A random policy that prefers some tokens and ends after some ten."""
    model, processor = tiny_policy(**sizes)
    bias = torch.zeros(len(processor.tokenizer))
    bias[end_token_ids(model, processor)] = end_bias
    model.lm_head.register_forward_hook(
        lambda module, arguments, logits: 3 * logits + bias.to(logits.dtype)
    )
    return model.eval(), processor


def prompts() -> list[PromptInputs]:
    processor = shared_processor()
    return [
        tiny_prompt(processor, synthetic_clip(1, num_frames=6), text="Describe it, in some words."),
        tiny_prompt(processor, text="No video."),
        tiny_prompt(
            processor,
            synthetic_clip(2, num_frames=4, width=84),
            synthetic_clip(3, num_frames=8, duration_seconds=16.0),
        ),
    ]


def check(found: list[list[Completion]], expected: list[list[Any]], tolerance: float) -> None:
    for group, expected_group in zip(found, expected, strict=True):
        for completion, (token_ids, log_probs, finished) in zip(group, expected_group, strict=True):
            assert (completion.token_ids, completion.finished) == (token_ids, finished)
            assert completion.log_probs == pytest.approx(log_probs, abs=tolerance)


@pytest.mark.parametrize("num_samples", [1, 3])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 1.0},
        {"temperature": 0.8, "top_k": 20},
        {"temperature": 1.2, "top_p": 0.8},
        {"temperature": 0.8, "top_k": 50, "top_p": 0.9},
    ],
    ids=lambda settings: ",".join(settings) or "greedy",
)
def test_equals_a_forward_for_each_token(num_samples: int, settings: dict[str, Any]) -> None:
    model, processor = sharp_policy()
    given = {
        "num_samples": num_samples,
        "max_new_tokens": 14,
        "seeds": [[100 * row + column for column in range(num_samples)] for row in range(3)],
        **settings,
    }
    expected = slow_generate(model, processor, prompts(), **given)
    check(generate(model, processor, prompts(), **given), expected, 1e-5)
    if settings and num_samples == 3:
        ends = [finished for group in expected for _, _, finished in group]
        assert {True, False} == set(ends) or all(ends)
        assert len({len(token_ids) for group in expected for token_ids, _, _ in group}) > 2


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_whatever_attention_the_model_has(attention: str) -> None:
    model, processor = sharp_policy()
    model.set_attn_implementation(attention)
    given: dict[str, Any] = {"num_samples": 2, "max_new_tokens": 8, "temperature": 1.0}
    given["seeds"] = [[1, 2], [3, 4], [5, 6]]
    expected = slow_generate(model, processor, prompts(), **given)
    check(generate(model, processor, prompts(), **given), expected, 1e-5)
    assert model.config._attn_implementation == attention
    assert model.model.language_model.config._attn_implementation == attention


def test_with_an_adapter() -> None:
    model, processor = sharp_policy()
    policy = add_adapter(model, base="none", rank=4, alpha=8.0)
    generator = torch.Generator().manual_seed(1)
    plain = generate(policy, processor, prompts(), max_new_tokens=8)
    with torch.no_grad():
        for name, weight in policy.named_parameters():
            if "lora_B" in name:
                weight += 0.3 * torch.randn(weight.shape, generator=generator)
    policy.eval()
    given: dict[str, Any] = {"num_samples": 2, "max_new_tokens": 8, "temperature": 0.8}
    given["seeds"] = [[1, 2], [3, 4], [5, 6]]
    expected = slow_generate(model, processor, prompts(), **given)
    check(generate(policy, processor, prompts(), **given), expected, 1e-5)
    changed = generate(policy, processor, prompts(), max_new_tokens=8)
    assert [g[0].token_ids for g in changed] != [g[0].token_ids for g in plain]


@pytest.mark.parametrize("autocast", [False, True], ids=["weights", "autocast"])
def test_bfloat16(autocast: bool) -> None:
    """A token may part where two are nearly as likely; each log-prob is that of its own past."""
    model, processor = sharp_policy()
    if not autocast:
        model.to(torch.bfloat16)
    context = torch.autocast("cpu", dtype=torch.bfloat16) if autocast else contextlib.nullcontext()
    with context:
        groups = generate(
            model, processor, prompts(), num_samples=2, max_new_tokens=6, temperature=1.0,
            top_k=50, seeds=[[1, 2], [3, 4], [5, 6]],
        )  # fmt: skip
        for prompt, group in zip(prompts(), groups, strict=True):
            for completion in group:
                for index, (token, log_prob) in enumerate(
                    zip(completion.token_ids, completion.log_probs, strict=True)
                ):
                    logits = next_logits(model, prompt, completion.token_ids[:index])
                    expected = torch.log_softmax(logits.float(), dim=-1)[token]
                    assert log_prob == pytest.approx(float(expected), abs=0.15)


def test_sliding_windows_are_refused() -> None:
    model, processor = tiny_policy()
    model.config.text_config.layer_types = ["full_attention", "sliding_attention"]
    with pytest.raises(ValueError, match="set use_sliding_window to false"):
        generate(model, processor, prompts(), max_new_tokens=2)
