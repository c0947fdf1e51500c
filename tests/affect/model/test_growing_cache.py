"""The cache with room: the same keys and values as the library's own, written in place."""

import pytest
import torch
from transformers import DynamicCache

from affect.model.growing_cache import reserve

ROWS, HEADS, SIZE = 3, 2, 4


def tokens(num_tokens: int, seed: int, rows: int = ROWS) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, HEADS, num_tokens, SIZE, generator=generator)


def filled() -> DynamicCache:
    cache = DynamicCache()
    for layer in range(2):
        cache.update(tokens(5, layer), tokens(5, layer + 10), layer)
    return cache


def test_equals_the_librarys_cache_through_updates_and_selections() -> None:
    ours, theirs = filled(), filled()
    reserve(ours, 4)
    rows = ROWS
    for step, num_new in enumerate((1, 2, 1)):
        for layer in range(2):
            new = tokens(num_new, 100 + step, rows), tokens(num_new, 200 + step, rows)
            for got, wanted in zip(
                ours.update(*new, layer), theirs.update(*new, layer), strict=True
            ):
                assert torch.equal(got, wanted)
        assert ours.get_seq_length() == theirs.get_seq_length()
        if step == 0:
            kept = torch.tensor([2, 0])
            ours.batch_select_indices(kept)
            theirs.batch_select_indices(kept)
            rows = 2


def test_writes_in_place() -> None:
    cache = filled()
    reserve(cache, 2)
    before = cache.layers[0].keys.data_ptr()
    keys, _ = cache.update(tokens(1, 7), tokens(1, 8), 0)
    assert keys.data_ptr() == before


def test_says_when_it_is_full() -> None:
    cache = filled()
    reserve(cache, 1)
    cache.update(tokens(1, 7), tokens(1, 8), 0)
    with pytest.raises(ValueError, match="room for 6 tokens was asked for 7"):
        cache.update(tokens(1, 7), tokens(1, 8), 0)
