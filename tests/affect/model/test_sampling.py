"""The fast choice of a token against the slow one: restrictions, ties, bans, log-probs."""

from typing import Any

import pytest
import torch
from torch import Tensor

from affect.model.sampling import Sampler
from tests.affect.model.slow_generate import slow_choice

NOTHING = torch.tensor([], dtype=torch.long)


def drawn_logits(num_rows: int, num_tokens: int, seed: int, *, rounded: bool = False) -> Tensor:
    logits = 3 * torch.randn(num_rows, num_tokens, generator=torch.Generator().manual_seed(seed))
    # Rounded to a few values, many tokens are equally likely, as with bf16 weights.
    return logits.round() if rounded else logits


def drawn_uniforms(num_rows: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(num_rows, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("temperature", [0.0, 0.8, 1.0])
@pytest.mark.parametrize(
    ("top_k", "top_p", "rounded"),
    [
        *((top_k, 1.0, rounded) for top_k in (0, 1, 7, 50, 300) for rounded in (False, True)),
        # Which of two equally likely tokens is in the nucleus is nowhere stated.
        *((0, 0.9, False), (50, 0.7, False), (299, 0.99, False)),
    ],
)
def test_equals_the_slow_choice(
    top_k: int, top_p: float, temperature: float, rounded: bool
) -> None:
    logits = drawn_logits(60, 300, seed=1, rounded=rounded)
    banned = torch.tensor([3, 17, 250])
    uniforms = drawn_uniforms(60, seed=2) if temperature else None
    before = logits.clone()
    sampler = Sampler(temperature, top_k, top_p, banned)
    chosen, log_probs = sampler(logits, uniforms)
    assert torch.equal(logits, before)
    settings: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    for row in range(60):
        uniform = None if uniforms is None else float(uniforms[row])
        token, log_prob = slow_choice(logits[row], uniform, banned=banned.tolist(), **settings)
        assert chosen[row] == token
        assert float(log_probs[row]) == pytest.approx(log_prob, abs=1e-6)
    assert len(set(chosen.tolist())) > 5


def test_a_large_vocabulary() -> None:
    logits = drawn_logits(4, 151_936, seed=3)
    uniforms = drawn_uniforms(4, seed=4)
    for top_k in (0, 50):
        chosen, log_probs = Sampler(0.8, top_k, 1.0, NOTHING)(logits, uniforms)
        for row in range(4):
            token, log_prob = slow_choice(
                logits[row], float(uniforms[row]), temperature=0.8, top_k=top_k, top_p=1.0,
                banned=[],
            )  # fmt: skip
            assert (chosen[row], float(log_probs[row])) == (
                token,
                pytest.approx(log_prob, abs=2e-5),
            )


def test_all_but_one_token_banned() -> None:
    logits = drawn_logits(3, 10, seed=5)
    banned = torch.tensor([token for token in range(10) if token != 6])
    for top_k in (0, 1, 4):
        sampler = Sampler(1.0, top_k, 1.0, banned)
        for uniform in (0.0, 0.5, 1 - 2**-53):
            chosen, log_probs = sampler(logits, torch.full((3,), uniform, dtype=torch.float64))
            assert chosen.tolist() == [6, 6, 6]
            expected = torch.log_softmax(logits, dim=-1)[:, 6]
            assert torch.allclose(log_probs, expected, atol=1e-6)


def test_equally_likely_tokens_at_the_kth_place_are_drawn_too() -> None:
    logits = torch.tensor([[1.0, 3.0, 1.0, 0.0, 1.0]]).expand(4000, -1)
    chosen, _ = Sampler(1.0, 2, 1.0, NOTHING)(logits, drawn_uniforms(4000, seed=6))
    assert set(chosen.tolist()) == {0, 1, 2, 4}
