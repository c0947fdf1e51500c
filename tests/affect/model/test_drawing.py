"""One token from a row of logits: what top-k and top-p leave, and how often each is drawn."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import TopKLogitsWarper, TopPLogitsWarper

from affect.model.sampling import candidates, draw

JUST_UNDER_ONE = math.nextafter(1.0, 0.0)
INFINITY = float("inf")


def slow_survivors(logits: list[float], top_k: int, top_p: float) -> set[int]:
    """Tokens from the likeliest down until k are taken and their mass among these k reaches p."""
    order = sorted(range(len(logits)), key=lambda token: -logits[token])
    order = order[: top_k or len(order)]
    weights = [math.exp(logits[token] - logits[order[0]]) for token in order]
    survivors, mass = set(), 0.0
    for token, weight in zip(order, weights, strict=True):
        if mass >= top_p:
            break
        survivors.add(token)
        mass += weight / sum(weights)
    return survivors


def kept_logits(logits: Tensor, top_k: int, top_p: float) -> Tensor:
    """(R, V) with what is outside at minus infinity."""
    ids, left = candidates(logits, top_k, top_p)
    if ids is None:
        return left
    assert (ids.diff(dim=-1) > 0).all()
    return torch.full_like(logits, -INFINITY).scatter(1, ids, left)


def survivors(logits: Tensor, top_k: int, top_p: float) -> list[set[int]]:
    kept = kept_logits(logits, top_k, top_p)
    inside = torch.isfinite(kept)
    assert torch.equal(kept[inside], logits[inside])
    return [set(row.nonzero()[:, 0].tolist()) for row in inside]


@pytest.mark.parametrize("top_k", [0, 1, 2, 7, 50, 99, 100, 1000])
@pytest.mark.parametrize("top_p", [1e-9, 0.1, 0.5, 0.9, 0.999, 1.0])
def test_restriction_equals_a_slow_reference_and_the_library(top_k: int, top_p: float) -> None:
    logits = 3 * torch.randn(6, 100, generator=torch.Generator().manual_seed(1))
    found = survivors(logits, top_k, top_p)
    assert found == [slow_survivors(row, top_k, top_p) for row in logits.tolist()]
    expected = logits
    if top_k:
        expected = TopKLogitsWarper(top_k)(None, expected)
    if top_p < 1.0:
        expected = TopPLogitsWarper(top_p)(None, expected)
    assert torch.equal(kept_logits(logits, top_k, top_p), expected)


def test_restriction_in_literal_numbers() -> None:
    logits = torch.tensor([[0.5, 0.2, 0.3]]).log()
    assert survivors(logits, 0, 0.49) == [{0}]
    assert survivors(logits, 0, 0.51) == [{0, 2}]
    assert survivors(logits, 0, 0.81) == [{0, 1, 2}]
    assert survivors(logits, 2, 1.0) == [{0, 2}]
    # The nucleus is taken of what top-k left: .5 / .8 is .625 already.
    assert survivors(logits, 2, 0.62) == [{0}]
    assert survivors(logits, 2, 0.63) == [{0, 2}]


def test_banned_tokens_stay_banned_and_take_no_place() -> None:
    logits = torch.tensor([[-INFINITY, 2.0, -INFINITY, 1.0, 0.0]])
    assert survivors(logits, 2, 1.0) == [{1, 3}]
    assert survivors(logits, 4, 1.0) == [{1, 3, 4}]
    assert survivors(logits, 0, 0.99999) == [{1, 3, 4}]


def test_equal_logits_at_the_kth_place_all_stay() -> None:
    assert survivors(torch.tensor([[1.0, 3.0, 1.0, 0.0]]), 2, 1.0) == [{0, 1, 2}]


def test_tokens_are_drawn_as_often_as_the_softmax_says() -> None:
    logits = torch.tensor([1.0, -2.0, 0.0, -INFINITY, 3.0, 2.5])
    num_draws = 200_000
    uniforms = torch.rand(num_draws, generator=torch.Generator().manual_seed(3)).double()
    drawn = draw(logits.expand(num_draws, -1), uniforms)
    shares = torch.bincount(drawn, minlength=6) / num_draws
    expected = torch.softmax(logits, dim=0)
    deviations = (expected * (1 - expected) / num_draws).sqrt()
    assert ((shares - expected).abs() <= 4 * deviations).all()
    assert shares[3] == 0


def test_draws_on_an_even_grid_hit_each_share_to_one_part_in_a_hundred_thousand() -> None:
    weights = torch.tensor([0.1, 0.2, 0.3, 0.4])
    num_draws = 100_000
    grid = (torch.arange(num_draws, dtype=torch.float64) + 0.5) / num_draws
    drawn = draw(weights.log().expand(num_draws, -1), grid)
    counts = torch.bincount(drawn, minlength=4)
    assert (counts - num_draws * weights).abs().max() <= 1


def test_the_far_tail_of_a_large_vocabulary_can_be_drawn() -> None:
    # One likely token and 150,000 of 2e-9 each: a step in float32 would be 30 of them wide.
    logits = torch.full((3, 150_001), -20.0)
    logits[:, 0] = 0.0
    rare = math.exp(-20.0) / (1 + 150_000 * math.exp(-20.0))
    wanted = [1, 70_007, 150_000]
    uniforms = [1.0 - (150_001 - token - 0.5) * rare for token in wanted]
    assert draw(logits, torch.tensor(uniforms, dtype=torch.float64)).tolist() == wanted


@pytest.mark.parametrize("uniform", [0.0, 5e-324, 0.5, JUST_UNDER_ONE, 1.0])
def test_no_uniform_reaches_an_impossible_token(uniform: float) -> None:
    rows = torch.tensor(
        [
            [-INFINITY, 0.0, -INFINITY, 0.0, -INFINITY],
            [-INFINITY, -INFINITY, 4.0, -INFINITY, -INFINITY],
            [-INFINITY, -INFINITY, -INFINITY, -1.0, 30.0],
            [30.0, -1.0, -INFINITY, -INFINITY, -INFINITY],
        ]
    )
    drawn = draw(rows, torch.full((4,), uniform, dtype=torch.float64))
    assert torch.isfinite(rows.gather(1, drawn[:, None])).all()
    if uniform == 0.0:
        assert drawn.tolist() == [1, 2, 3, 0]
    if uniform >= JUST_UNDER_ONE:
        assert drawn.tolist()[:3] == [3, 2, 4]


@given(
    st.lists(
        st.one_of(st.just(-INFINITY), st.floats(-80, 80, width=32)), min_size=1, max_size=40
    ).filter(lambda row: any(map(math.isfinite, row))),
    st.one_of(st.sampled_from([0.0, JUST_UNDER_ONE]), st.floats(0, 1, exclude_max=True)),
)
def test_what_is_drawn_is_always_possible(logits: list[float], uniform: float) -> None:
    drawn = draw(torch.tensor([logits]), torch.tensor([uniform], dtype=torch.float64)).item()
    assert math.isfinite(logits[int(drawn)])
