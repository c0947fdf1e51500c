"""Flex attention over a packed row: which blocks of it hold anything to see.

Rows are padded to one of few lengths, all multiples of a block, and the block mask is made from
the layout, 1,024 queries at a time. torch's own `create_block_mask` makes a mask of (L, L) first,
or has to be compiled, and again for other lengths. Equal lengths and contiguous copies also stay
clear of what compiled flex attention has had trouble with: recompilation for each length, last
blocks that are not whole, and gradients of sliced keys.

Example:
    flex_packed(query, key, value, layout, scaling, compiled_flex())
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from affect.model.packing import PrefixLayout

_BLOCK_TOKENS = 128
_QUERIES_AT_ONCE = 1024


def flex_packed(
    query: Tensor, key: Tensor, value: Tensor, layout: PrefixLayout, scaling: float, attend: Any
) -> Tensor:
    """(1, L, H, D) from query (1, H, L, D) and key, value (1, K, L, D), H a multiple of K.

    Args:
        attend: torch's flex_attention, compiled or not.
    """
    mask = _block_mask_of(layout, query.device)
    padding = (0, 0, 0, padded_length(layout.num_tokens) - layout.num_tokens)
    # Under autocast the rotary turn leaves queries and keys in 32 bits, and values are in 16.
    parts = [F.pad(part.to(value.dtype), padding).contiguous() for part in (query, key, value)]
    output: Tensor = attend(
        *parts, block_mask=mask, scale=scaling, enable_gqa=query.shape[1] != key.shape[1]
    )
    return output[:, :, : layout.num_tokens].transpose(1, 2)


def compiled_flex() -> Any:
    """torch's flex_attention, compiled for rows of any length."""
    if not _COMPILED:
        from torch.nn.attention.flex_attention import flex_attention

        # Where compiling fails or is given up, an error: the way back would be scores of (L, L).
        _COMPILED.append(torch.compile(flex_attention, dynamic=True, fullgraph=True))
    return _COMPILED[0]


_COMPILED: list[Any] = []


def padded_length(num_tokens: int) -> int:
    """The next of 16 lengths between two powers of two, all of whole blocks."""
    blocks = -(-num_tokens // _BLOCK_TOKENS)
    step = max(1 << max(blocks.bit_length() - 5, 0), 1)
    return -(-blocks // step) * step * _BLOCK_TOKENS


def places_of_tokens(layout: PrefixLayout, device: torch.device) -> tuple[Tensor, Tensor]:
    """Group (from 0) and branch (from 1; 0 is the prefix) of each token of the row, (L,) each."""
    group_of = torch.zeros(layout.num_tokens, dtype=torch.long, device=device)
    branch_of = torch.zeros_like(group_of)
    for index, group in enumerate(layout.groups):
        end = group.branches[-1][1] if group.branches else group.prefix[1]
        group_of[group.prefix[0] : end] = index
        for number, (first, last) in enumerate(group.branches, start=1):
            branch_of[first:last] = number
    return group_of, branch_of


def block_mask(layout: PrefixLayout, device: torch.device) -> Any:
    """Which blocks may be seen in part and which as a whole, and the rule for the former."""
    from torch.nn.attention.flex_attention import BlockMask

    length = padded_length(layout.num_tokens)
    num_padding = length - layout.num_tokens
    group_of, branch_of = places_of_tokens(layout, device)
    # What is added sees itself alone: no row of scores is empty, and no other sees it.
    group_of = F.pad(group_of, (0, num_padding), value=-1)
    branch_of = torch.cat([branch_of, torch.arange(1, num_padding + 1, device=device)])

    def may_see(batch: Tensor, head: Tensor, query_at: Tensor, key_at: Tensor) -> Tensor:
        same_group = group_of[query_at] == group_of[key_at]
        same_branch = (branch_of[key_at] == 0) | (branch_of[query_at] == branch_of[key_at])
        return same_group & same_branch & (key_at <= query_at)

    places = torch.arange(length, device=device)
    zero = places[0]
    some, whole = [], []
    for queries in places.split(_QUERIES_AT_ONCE):
        seen = may_see(zero, zero, queries[:, None], places[None])
        blocks = seen.view(-1, _BLOCK_TOKENS, length // _BLOCK_TOKENS, _BLOCK_TOKENS)
        some.append(blocks.any(dim=3).any(dim=1))
        whole.append(blocks.all(dim=3).all(dim=1))
    any_seen, all_seen = torch.cat(some), torch.cat(whole)
    return BlockMask.from_kv_blocks(
        *_listed(any_seen & ~all_seen),
        *_listed(all_seen),
        BLOCK_SIZE=_BLOCK_TOKENS,
        mask_mod=may_see,
    )


def _listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many of each row, and their places first, as flex attention takes them."""
    order = blocks.int().argsort(dim=1, descending=True, stable=True)
    return blocks.sum(dim=1, dtype=torch.int32)[None, None], order.to(torch.int32)[None, None]


def _block_mask_of(layout: PrefixLayout, device: torch.device) -> Any:
    """One block mask per layout: all layers, and the pass that recomputes them, share it."""
    found = _MASKS.get(id(layout))
    if found is not None and found[0] is layout:
        return found[1]
    mask = block_mask(layout, device)
    _MASKS.clear()  # one is alive at a time
    _MASKS[id(layout)] = (layout, mask)
    return mask


_MASKS: dict[int, tuple[PrefixLayout, Any]] = {}
