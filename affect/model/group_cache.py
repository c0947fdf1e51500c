"""Keys and values while replies are sampled: a prompt's once, each reply's own behind it.

The rows of a batch are replies; those to the same prompt stand together and form a group. A decode
step attends in two parts, every row of a group to the prompt (one matrix product for all of them)
and each row to its own tail, with one softmax over both. Nothing of the prompt is copied per reply,
so its memory and the bytes read for it at each step do not grow with the group, and a finished
reply leaves at the price of its tail.

Example:
    cache = GroupCache()
    cache.add_group(prefilled, num_rows=8)         # a DynamicCache after a prompt's forward
    with decode_attention(language_model):
        layer(hidden, past_key_values=cache, group_cache=cache, position_embeddings=(cos, sin))
    cache.keep([0, 2, 3])                          # rows that go on
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface
from transformers.cache_utils import Cache

ATTENTION = "grouped_decode"

# Tails get room for so many tokens first, and twice as many whenever that is used up.
_FIRST_ROOM_TOKENS = 64


class GroupCache:
    """What the attention of each layer sees; see the module's text.

    Letters: R rows, K key heads, P prompt tokens, T tail tokens, D head size.
    """

    def __init__(self) -> None:
        self.num_rows_of_group: list[int] = []
        # By layer, then by group: keys and values (K, P, D).
        self._prefixes: list[list[tuple[Tensor, Tensor]]] = []
        self._tails: dict[int, _Tail] = {}

    @property
    def num_rows(self) -> int:
        """R, replies that still go on."""
        return sum(self.num_rows_of_group)

    def add_group(self, prefilled: Cache, num_rows: int) -> None:
        """Take over the keys and values of one prompt, for `num_rows` replies to it.

        Args:
            prefilled: filled by a forward over the prompt alone, (1, K, P, D) per layer.
        """
        assert not self._tails, "all prompts come before the first token"
        self.num_rows_of_group.append(num_rows)
        if not self._prefixes:
            self._prefixes = [[] for _ in prefilled.layers]
        for prefixes, layer in zip(self._prefixes, prefilled.layers, strict=True):
            assert layer.keys is not None and layer.values is not None
            [keys], [values] = layer.keys, layer.values
            prefixes.append(
                (_as_multiplied(keys).contiguous(), _as_multiplied(values).contiguous())
            )

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Put one more token, (R, K, 1, D), behind each row's tail; all tails, (R, K, T, D)."""
        if layer_idx not in self._tails:
            self._tails[layer_idx] = _Tail()
        tail = self._tails[layer_idx]
        tail.append(_as_multiplied(key_states), _as_multiplied(value_states))
        return tail.filled()

    def keep(self, rows: Sequence[int]) -> None:
        """Let go of all rows but these, at least one, in rising order."""
        bounds = pairwise([0, *accumulate(self.num_rows_of_group)])
        kept = [sum(first <= row < end for row in rows) for first, end in bounds]
        self._prefixes = [
            [prefix for prefix, number in zip(prefixes, kept, strict=True) if number]
            for prefixes in self._prefixes
        ]
        self.num_rows_of_group = [number for number in kept if number]
        for tail in self._tails.values():
            tail.keep(rows)

    def attend(self, layer_idx: int, query: Tensor, scaling: float) -> Tensor:
        """Attention of each row's newest token to its prompt and its tail.

        Args:
            query: (R, H, 1, D), H a multiple of K.

        Returns:
            (R, 1, H, D).
        """
        tail_keys, tail_values = self._tails[layer_idx].filled()
        num_rows, num_key_heads, num_tail, size = tail_keys.shape
        num_heads = query.shape[1]
        per_key_head = num_heads // num_key_heads
        query = _as_multiplied(query * scaling).view(-1, per_key_head, size)
        tail_scores = torch.bmm(query, tail_keys.flatten(0, 1).transpose(1, 2))

        def by_key_head(part: Tensor) -> Tensor:
            """(R*K, H/K, X) to (K, R*H/K, X)."""
            grid = part.view(num_rows, num_key_heads, per_key_head, part.shape[-1])
            return grid.transpose(0, 1).reshape(num_key_heads, -1, part.shape[-1])

        def by_row(part: Tensor) -> Tensor:
            """(K, R*H/K, X) to (R*K, H/K, X)."""
            grid = part.view(num_key_heads, num_rows, per_key_head, part.shape[-1])
            return grid.transpose(0, 1).reshape(-1, per_key_head, part.shape[-1])

        sizes = [number * per_key_head for number in self.num_rows_of_group]
        from_prefix, tail_weights = [], []
        for group_query, group_tail_scores, (keys, values) in zip(
            by_key_head(query).split(sizes, dim=1),
            by_key_head(tail_scores).split(sizes, dim=1),
            self._prefixes[layer_idx],
            strict=True,
        ):
            scores = torch.bmm(group_query, keys.transpose(1, 2))
            weights = torch.softmax(
                torch.cat([scores, group_tail_scores], dim=-1), dim=-1, dtype=torch.float32
            ).to(values.dtype)
            from_prefix.append(torch.bmm(weights[..., :-num_tail], values))
            tail_weights.append(weights[..., -num_tail:])
        output = by_row(torch.cat(from_prefix, dim=1))
        output = output + torch.bmm(
            by_row(torch.cat(tail_weights, dim=1)), tail_values.flatten(0, 1)
        )
        return output.view(num_rows, 1, num_heads, size)


class _Tail:
    """One layer's own tokens of each row, in buffers that grow by doubling."""

    def __init__(self) -> None:
        self.num_tokens = 0
        self._room: tuple[Tensor, Tensor] | None = None

    def append(self, keys: Tensor, values: Tensor) -> None:
        if self._room is None or self.num_tokens == self._room[0].shape[2]:
            new = (_with_room(keys, self.num_tokens), _with_room(values, self.num_tokens))
            if self._room is not None:
                for room, old in zip(new, self.filled(), strict=True):
                    room[:, :, : self.num_tokens] = old
            self._room = new
        for room, added in zip(self._room, (keys, values), strict=True):
            room[:, :, self.num_tokens : self.num_tokens + 1] = added
        self.num_tokens += 1

    def filled(self) -> tuple[Tensor, Tensor]:
        assert self._room is not None
        keys, values = (room[:, :, : self.num_tokens] for room in self._room)
        return keys, values

    def keep(self, rows: Sequence[int]) -> None:
        assert self._room is not None
        index = torch.tensor(rows, device=self._room[0].device)
        keys, values = (room.index_select(0, index) for room in self._room)
        self._room = keys, values


def _with_room(part: Tensor, num_tokens: int) -> Tensor:
    num_rows, heads, _, size = part.shape
    return part.new_empty(num_rows, heads, max(_FIRST_ROOM_TOKENS, 2 * num_tokens), size)


def _as_multiplied(part: Tensor) -> Tensor:
    """In the precision in which autocast multiplies, so that it does not round it at each step."""
    kind = part.device.type
    return part.to(torch.get_autocast_dtype(kind)) if torch.is_autocast_enabled(kind) else part


def _grouped_decode(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float,
    group_cache: GroupCache,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    return group_cache.attend(module.layer_idx, query, scaling), None


AttentionInterface.register(ATTENTION, _grouped_decode)


@contextmanager
def decode_attention(language_model: Any) -> Iterator[None]:
    """Let the decoder's layers attend through the `group_cache` that they are called with."""
    config = language_model.config
    before = config._attn_implementation
    config._attn_implementation = ATTENTION
    try:
        yield
    finally:
        config._attn_implementation = before
