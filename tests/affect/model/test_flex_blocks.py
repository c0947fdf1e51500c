"""Flex attention's blocks against the rule applied token by token, for drawn layouts."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

from affect.model.flex_blocks import block_mask, compiled_flex, flex_packed, padded_length
from affect.model.packing import PackedGroup, PrefixLayout
from affect.model.shared_prefix_attention import sdpa

SCALING = 0.35
SHORT = ((4, (3, 1, 2)), (0, (2, 2)), (3, ()))
LONG = ((300, (130, 5)), (0, (40,)), (257, (1, 129, 64)))
CPU = torch.device("cpu")


def layout_of(sizes: tuple[tuple[int, tuple[int, ...]], ...]) -> PrefixLayout:
    """From the lengths of each group's prefix and branches."""
    groups, at = [], 0
    for num_prefix, branches in sizes:
        prefix, at = (at, at + num_prefix), at + num_prefix
        places = []
        for length in branches:
            places.append((at, at + length))
            at += length
        groups.append(PackedGroup(prefix, tuple(places)))
    return PrefixLayout(tuple(groups), torch.tensor([0]), at, "flex")


def dense_rule(layout: PrefixLayout) -> Tensor:
    """(L, L), written from the rule: a prefix sees itself, a branch its prefix and itself."""
    seen = torch.zeros(layout.num_tokens, layout.num_tokens, dtype=torch.bool)
    for group in layout.groups:
        first, end = group.prefix
        for query in range(first, end):
            seen[query, first : query + 1] = True
        for start, stop in group.branches:
            for query in range(start, stop):
                seen[query, first:end] = True
                seen[query, start : query + 1] = True
    return seen


def drawn(layout: PrefixLayout, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    chance = torch.Generator().manual_seed(1)
    shapes = [(1, heads, layout.num_tokens, 16) for heads in (4, 2, 2)]
    return [torch.randn(shape, generator=chance, dtype=dtype) for shape in shapes]


def dense(query: Tensor, key: Tensor, value: Tensor, layout: PrefixLayout) -> Tensor:
    key, value = key.repeat_interleave(2, dim=1), value.repeat_interleave(2, dim=1)
    scores = (query @ key.transpose(2, 3) * SCALING).masked_fill(~dense_rule(layout), -math.inf)
    return (scores.softmax(dim=-1) @ value).transpose(1, 2)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("sizes", [SHORT, LONG])
def test_what_is_seen_is_what_the_rule_says(sizes: tuple[tuple[int, tuple[int, ...]], ...]) -> None:
    """Uncompiled and without a gradient, which is all that torch has of it on a CPU."""
    layout = layout_of(sizes)
    given_parts = drawn(layout)
    found = flex_packed(*given_parts, layout, SCALING, flex_attention)
    assert found.shape == (1, layout.num_tokens, 4, 16)
    assert torch.allclose(found, dense(*given_parts, layout), atol=1e-12)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_parts_of_unequal_precision_are_taken_in_that_of_the_values() -> None:
    layout = layout_of(SHORT)
    query, key, value = drawn(layout, torch.float32)
    value = value.bfloat16()
    found = flex_packed(query, key, value, layout, SCALING, flex_attention)
    assert found.dtype == torch.bfloat16
    expected = dense(query.double(), key.double(), value.double(), layout)
    assert torch.allclose(found.double(), expected, atol=0.05)


def test_blocks_of_a_long_row() -> None:
    """Every block is listed as whole, as partial or not at all, by the rule for its tokens."""
    layout = layout_of(LONG)
    check_blocks(layout)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 400), st.lists(st.integers(1, 300), max_size=3).map(tuple)),
        min_size=1,
        max_size=3,
    ).filter(lambda sizes: any(prefix or branches for prefix, branches in sizes))
)
def test_blocks_of_drawn_rows(sizes: list[tuple[int, tuple[int, ...]]]) -> None:
    check_blocks(layout_of(tuple(sizes)))


def check_blocks(layout: PrefixLayout) -> None:
    mask = block_mask(layout, CPU)
    length = padded_length(layout.num_tokens)
    seen = torch.eye(length, dtype=torch.bool)
    seen[: layout.num_tokens, : layout.num_tokens] = dense_rule(layout)
    blocks = seen.view(length // 128, 128, length // 128, 128).permute(0, 2, 1, 3).flatten(2)
    num_partial, partial = mask.kv_num_blocks[0, 0], mask.kv_indices[0, 0]
    num_whole, whole = mask.full_kv_num_blocks[0, 0], mask.full_kv_indices[0, 0]
    for row, of_row in enumerate(blocks):
        some, every = of_row.any(dim=1), of_row.all(dim=1)
        assert partial[row, : num_partial[row]].tolist() == (some & ~every).nonzero()[:, 0].tolist()
        assert whole[row, : num_whole[row]].tolist() == every.nonzero()[:, 0].tolist()
    assert mask.shape[-2:] == (length, length)


def test_few_lengths() -> None:
    assert [padded_length(tokens) for tokens in (1, 128, 129, 2048, 4097, 6000, 8190)] == [
        *(128, 128, 256, 2048, 4352, 6144, 8192)
    ]
    lengths = [padded_length(tokens) for tokens in range(1, 32769)]
    assert all(length >= tokens for tokens, length in enumerate(lengths, start=1))
    assert (
        max(length / tokens for tokens, length in enumerate(lengths, start=1) if tokens > 4096)
        < 1.07
    )
    assert len(set(lengths)) < 100


@pytest.mark.slow
def test_compiled_once_for_rows_of_many_lengths() -> None:
    """The CPU's compiled forward; a compilation per length would end in an error."""
    counters = torch._dynamo.utils.counters
    torch._dynamo.reset()
    with torch.no_grad():
        for index, (prefix, branch) in enumerate([(300, 50), (500, 90), (900, 3), (1200, 333)]):
            layout = layout_of(((prefix, (branch, 7)),))
            parts = drawn(layout, torch.float32)
            found = flex_packed(*parts, layout, SCALING, compiled_flex())
            assert torch.allclose(found, sdpa(*parts, layout, SCALING), atol=1e-5)
            if index == 1:
                before = counters["stats"]["unique_graphs"]
        assert counters["stats"]["unique_graphs"] == before
