"""Three ways to attend over a packed row, against a dense mask written from the rule."""

import math
import sys
import types
from typing import Any

import pytest
import torch
from torch import Tensor

from affect.model import shared_prefix_attention
from affect.model.packing import PackedGroup, PrefixLayout
from affect.model.shared_prefix_attention import (
    check_attention,
    flash_sequences,
    install_shared_prefix,
    sdpa,
)
from tests.tiny import plain_model, tiny_policy

# Two groups: a prefix of four with branches of three, one and two; no prefix, branches of two.
LAYOUT = PrefixLayout(
    (
        PackedGroup((0, 4), ((4, 7), (7, 8), (8, 10))),
        PackedGroup((10, 10), ((10, 12), (12, 14))),
        PackedGroup((14, 17), ()),
    ),
    scored=torch.tensor([4, 5]),
    num_tokens=17,
)
SCALING = 0.35


def may_see(query: int, key: int) -> bool:
    """The rule, token by token."""
    for group in LAYOUT.groups:
        stretches = [group.prefix, *group.branches]
        [of_query] = [s for s in stretches if s[0] <= query < s[1]] or [None]
        if of_query is None:
            continue
        in_own = of_query[0] <= key <= query
        in_prefix = group.prefix[0] <= key < group.prefix[1] and key <= query
        return in_own or in_prefix
    raise AssertionError("every token is in a group")


def dense(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    repeats = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(repeats, dim=1), value.repeat_interleave(repeats, dim=1)
    scores = query @ key.transpose(2, 3) * SCALING
    for i in range(LAYOUT.num_tokens):
        for j in range(LAYOUT.num_tokens):
            if not may_see(i, j):
                scores[:, :, i, j] = -math.inf
    return (scores.softmax(dim=-1) @ value).transpose(1, 2)


def drawn() -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = [(1, 4, 17, 8), (1, 2, 17, 8), (1, 2, 17, 8)]
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()
        for shape in shapes
    ]


def slow_varlen(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_ends: Tensor,
    key_ends: Tensor,
    longest_query: int,
    longest_key: int,
    *,
    softmax_scale: float,
    causal: bool,
) -> Tensor:
    """Stands in for flash-attn's `flash_attn_varlen_func`, sequence by sequence in plain torch.

    With `causal`, the last query sees every key, as in flash-attn 2.1 and later.
    """
    assert causal and query_ends.dtype == key_ends.dtype == torch.int32
    repeats = query.shape[1] // key.shape[1]
    outputs = []
    for index in range(len(query_ends) - 1):
        q = query[query_ends[index] : query_ends[index + 1]].transpose(0, 1)
        part = slice(key_ends[index], key_ends[index + 1])
        k = key[part].transpose(0, 1).repeat_interleave(repeats, dim=0)
        v = value[part].transpose(0, 1).repeat_interleave(repeats, dim=0)
        assert q.shape[1] <= longest_query and k.shape[1] <= longest_key
        hidden = torch.ones(q.shape[1], k.shape[1]).tril(k.shape[1] - q.shape[1]) == 0
        scores = (q @ k.transpose(1, 2) * softmax_scale).masked_fill(hidden, -math.inf)
        outputs.append((scores.softmax(dim=-1) @ v).transpose(0, 1))
    return torch.cat(outputs)


def flash_by_stand_in(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    module = types.ModuleType("flash_attn")
    module.flash_attn_varlen_func = slow_varlen  # type: ignore[attr-defined]
    sys.modules["flash_attn"] = module
    try:
        return shared_prefix_attention.flash(query, key, value, LAYOUT, SCALING)
    finally:
        del sys.modules["flash_attn"]


WAYS: dict[str, Any] = {
    "sdpa": lambda *given: sdpa(*given, LAYOUT, SCALING),
    "flash": flash_by_stand_in,
}


@pytest.mark.parametrize("way", WAYS)
def test_values_and_gradients_are_those_of_a_dense_mask(way: str) -> None:
    given, expected_given = drawn(), drawn()
    weights = torch.randn(1, 17, 4, 8, generator=torch.Generator().manual_seed(2)).double()
    found, expected = WAYS[way](*given), dense(*expected_given)
    assert found.shape == (1, 17, 4, 8)
    assert torch.allclose(found, expected, atol=1e-12)
    (found * weights).sum().backward()
    (expected * weights).sum().backward()
    for one, other in zip(given, expected_given, strict=True):
        assert one.grad is not None and other.grad is not None
        assert torch.allclose(one.grad, other.grad, atol=1e-11)


def test_flash_gets_each_branch_with_its_prefix() -> None:
    lengths, places = flash_sequences(LAYOUT, torch.device("cpu"))
    assert lengths == [(4, 4), (3, 7), (1, 5), (2, 6), (2, 2), (2, 2), (3, 3)]
    assert places.tolist()[4:11] == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("attention", "device", "is_half", "message"),
    [
        ("flex", "cpu", True, "no backward pass outside CUDA; use sdpa"),
        ("flash", "cpu", True, "kernels for CUDA devices only; use sdpa"),
        ("flash", "cuda", True, "needs the package flash-attn"),
        ("eager", "cpu", False, "not one of sdpa, flash, flex"),
    ],
)
def test_what_cannot_run_is_refused_with_the_reason(
    attention: str, device: str, is_half: bool, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        check_attention(attention, device, is_half=is_half)


def test_what_can_run_is_not_refused() -> None:
    check_attention("sdpa", "cpu", is_half=False)
    check_attention("flex", "cuda", is_half=False)


def test_a_forward_without_a_layout_attends_as_before() -> None:
    for attention in ("sdpa", "eager"):
        model = plain_model(seed=4).eval()
        model.set_attn_implementation(attention)
        ids = torch.randint(10, 200, (2, 9), generator=torch.Generator().manual_seed(0))
        mask = torch.ones(2, 9, dtype=torch.long)
        mask[0, :3] = 0
        with torch.no_grad():
            before = model(input_ids=ids, attention_mask=mask).logits
            install_shared_prefix(model)
            install_shared_prefix(model)  # once is enough, twice does no harm
            after = model(input_ids=ids, attention_mask=mask).logits
        assert torch.equal(before, after)


def test_the_saved_config_knows_nothing_of_it() -> None:
    model, _ = tiny_policy()
    assert "shared_prefix" in model.model.language_model.config._attn_implementation
    assert "shared_prefix" not in model.config.to_json_string()


def test_sliding_windows_are_refused() -> None:
    model = plain_model()
    model.model.language_model.config.layer_types = ["full_attention", "sliding_attention"]
    with pytest.raises(ValueError, match="sliding window"):
        install_shared_prefix(model)
