"""A key-value cache that is given its room once, for sampling.

transformers' DynamicCache makes itself anew, one token longer, at every token of every row: with 64
rows of 400 tokens that is three quarters of a decode step. Here each layer moves into a buffer
with room for the whole reply and hands out a view of what is filled.

Example:
    cache = prefilled.past_key_values            # a DynamicCache, already repeated to all rows
    reserve(cache, max_new_tokens)               # later updates write in place
"""

import torch
from torch import Tensor
from transformers.cache_utils import Cache, DynamicLayer


class GrowingLayer(DynamicLayer):
    """A DynamicLayer, (rows, heads, tokens, head size), with room for `num_new_tokens` more."""

    def __init__(self, filled: DynamicLayer, num_new_tokens: int) -> None:
        super().__init__()
        assert filled.keys is not None and filled.values is not None
        self.dtype, self.device = filled.keys.dtype, filled.keys.device
        self.is_initialized = True
        self._room = [_with_room(part, num_new_tokens) for part in (filled.keys, filled.values)]
        self._show(filled.keys.shape[-2])

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: object, **kwargs: object
    ) -> tuple[Tensor, Tensor]:
        """Write the new tokens behind the filled ones; all filled keys and values, as views.

        Raises:
            ValueError: there is no room for that many.
        """
        start = self.get_seq_length()
        end = start + key_states.shape[-2]
        if end > self._room[0].shape[-2]:
            raise ValueError(
                f"a cache with room for {self._room[0].shape[-2]} tokens was asked for {end}"
            )
        for room, new in zip(self._room, (key_states, value_states), strict=True):
            room[:, :, start:end] = new
        self._show(end)
        return self.keys, self.values

    def batch_select_indices(self, indices: Tensor) -> None:
        """Keep these rows; their order may change."""
        num_tokens = self.get_seq_length()
        self._room = [room[indices] for room in self._room]
        self._show(num_tokens)

    def _show(self, num_tokens: int) -> None:
        self.keys, self.values = (room[:, :, :num_tokens] for room in self._room)


def reserve(cache: Cache, num_new_tokens: int) -> None:
    """Give every layer of a filled cache room for `num_new_tokens` more tokens, in place."""
    cache.layers = [GrowingLayer(layer, num_new_tokens) for layer in cache.layers]


def _with_room(filled: Tensor, num_new_tokens: int) -> Tensor:
    rows, heads, num_tokens, size = filled.shape
    room = torch.empty(
        rows, heads, num_tokens + num_new_tokens, size, dtype=filled.dtype, device=filled.device
    )
    room[:, :, :num_tokens] = filled
    return room
