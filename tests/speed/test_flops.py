"""Counted operations in literal numbers."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from speed.flops import FlopCounter, attention_flops


def test_a_linear_layer_forward_and_backward() -> None:
    layer = nn.Linear(5, 7)
    inputs = torch.randn(3, 5, requires_grad=True)
    with FlopCounter() as counter:
        layer(inputs).sum().backward()
    # Forward, gradient of the inputs, gradient of the weight: 2 x 3 x 5 x 7 each.
    assert counter.total == 3 * 210


def test_without_a_gradient_of_the_inputs_one_product_less() -> None:
    layer = nn.Linear(5, 7)
    with FlopCounter() as counter:
        layer(torch.randn(3, 5)).sum().backward()
    assert counter.total == 2 * 210


def test_what_a_checkpoint_runs_again_counts_again() -> None:
    layers = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 5))
    inputs = torch.randn(3, 5, requires_grad=True)
    with FlopCounter() as counter:
        checkpoint(layers, inputs, use_reentrant=False).sum().backward()
    # Twice forward, twice two products backward; torch runs again only what the backward reads,
    # which the last layer's output is not.
    assert counter.total == (2 + 4 + 1) * 210


def test_products_in_place_and_into_a_buffer() -> None:
    total, left, right = torch.zeros(3, 7), torch.randn(3, 5), torch.randn(5, 7)
    with FlopCounter() as counter:
        total.addmm_(left, right)
        torch.mm(left, right, out=total)
        torch.bmm(left[None], right[None])
    assert counter.total == 3 * 210


def test_causal_attention_is_half_a_square_and_a_masked_one_a_rectangle() -> None:
    query, key, value = (torch.randn(1, 2, 6, 8, requires_grad=True) for _ in range(3))
    with FlopCounter() as counter:
        F.scaled_dot_product_attention(query, key, value, is_causal=True).sum().backward()
    # 21 pairs, two heads of eight: two products forward, five backward.
    assert counter.total == 2 * 21 * 2 * 8 * (2 + 5)
    mask = torch.ones(6, 6, dtype=torch.bool)
    with FlopCounter() as counter, torch.no_grad():
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    assert counter.total == 2 * 36 * 2 * 8 * 2


def test_causal_pairs_of_unequal_lengths() -> None:
    query, key = torch.zeros(1, 1, 4, 1), torch.zeros(1, 1, 3, 1)
    assert attention_flops(query, key, True, num_products=1) == 2 * (1 + 2 + 3 + 3)
    assert attention_flops(key, query, True, num_products=1) == 2 * (1 + 2 + 3)
