"""Two-part attention against one over expanded keys, while rows leave and tails grow."""

import pytest
import torch
from torch import Tensor
from transformers import DynamicCache

from affect.model import group_cache
from affect.model.group_cache import GroupCache, decode_attention
from tests.tiny import tiny_policy

NUM_KEY_HEADS, PER_KEY_HEAD, SIZE = 2, 3, 4
NUM_LAYERS = 2


def drawn(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def prefilled(seed: int, num_tokens: int) -> DynamicCache:
    cache = DynamicCache()
    for layer in range(NUM_LAYERS):
        parts = [
            drawn(seed + 10 * layer + part, 1, NUM_KEY_HEADS, num_tokens, SIZE) for part in (1, 2)
        ]
        cache.update(*parts, layer)
    return cache


def slow_attention(query: Tensor, keys: Tensor, values: Tensor, scaling: float) -> Tensor:
    """(H, D) for one row: query (H, D), keys and values (K, N, D)."""
    heads = []
    for head in range(len(query)):
        of = head // PER_KEY_HEAD
        weights = torch.softmax(scaling * keys[of] @ query[head], dim=0)
        heads.append(weights @ values[of])
    return torch.stack(heads)


def test_equals_attention_over_expanded_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_cache, "_FIRST_ROOM_TOKENS", 2)  # grows at the third and fifth
    prompts = [prefilled(100, 5), prefilled(200, 1), prefilled(300, 9)]
    cache = GroupCache()
    for prompt, number in zip(prompts, (2, 1, 3), strict=True):
        cache.add_group(prompt, number)
    prompt_of_row = [0, 0, 1, 2, 2, 2]
    tails: list[list[list[tuple[Tensor, Tensor]]]] = [
        [[] for _ in range(6)] for _ in range(NUM_LAYERS)
    ]
    leaving = {1: [0, 2, 3, 4, 5], 3: [0, 2, 4], 5: [1]}  # a group shrinks, one goes, two go
    for step in range(8):
        num_rows = len(prompt_of_row)
        assert cache.num_rows == num_rows
        for layer in range(NUM_LAYERS):
            seed = 1000 * step + 10 * layer
            key, value = (drawn(seed + part, num_rows, NUM_KEY_HEADS, 1, SIZE) for part in (1, 2))
            query = drawn(seed + 3, num_rows, NUM_KEY_HEADS * PER_KEY_HEAD, 1, SIZE)
            keys, values = cache.update(key, value, layer)
            assert keys.shape == values.shape == (num_rows, NUM_KEY_HEADS, step + 1, SIZE)
            found = cache.attend(layer, query, 0.7)
            for row, prompt in enumerate(prompt_of_row):
                tails[layer][row].append((key[row], value[row]))
                filled = prompts[prompt].layers[layer]
                all_keys, all_values = (
                    torch.cat([part[0], *(own[index] for own in tails[layer][row])], dim=1)
                    for index, part in enumerate((filled.keys, filled.values))
                )
                expected = slow_attention(query[row, :, 0], all_keys, all_values, 0.7)
                assert torch.allclose(found[row, 0], expected, atol=1e-6)
        if step in leaving:
            rows = leaving[step]
            cache.keep(rows)
            prompt_of_row = [prompt_of_row[row] for row in rows]
            tails = [[of_layer[row] for row in rows] for of_layer in tails]
    assert prompt_of_row == [2] and cache.num_rows_of_group == [1]


def test_a_prompt_is_kept_once_whatever_the_number_of_replies() -> None:
    prompt = prefilled(1, 1000)
    cache = GroupCache()
    cache.add_group(prompt, 64)
    [(keys, values)] = cache._prefixes[0]
    assert keys.shape == values.shape == (NUM_KEY_HEADS, 1000, SIZE)
    assert keys.data_ptr() == prompt.layers[0].keys.data_ptr()  # not even copied


def test_tails_are_written_in_place_until_their_room_is_used_up() -> None:
    cache = GroupCache()
    cache.add_group(prefilled(1, 3), 2)
    places = []
    for step in range(130):
        new = drawn(step, 2, NUM_KEY_HEADS, 1, SIZE)
        places.append(cache.update(new, new, 0)[0].data_ptr())
    assert len(set(places)) == 3  # room for 64, 128 and 256


def test_autocast_rounds_keys_and_values_once() -> None:
    """They come to the cache in float32, and a product would round them at each step anew."""
    cache = GroupCache()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cache.add_group(prefilled(1, 5), 1)
        new = drawn(3, 1, NUM_KEY_HEADS, 1, SIZE)
        found = cache.update(new, new, 0)
        assert {part.dtype for part in (*found, *cache._prefixes[0][0])} == {torch.bfloat16}
        query = drawn(5, 1, NUM_KEY_HEADS * PER_KEY_HEAD, 1, SIZE)
        assert cache.attend(0, query, 0.5).dtype == torch.bfloat16


def test_the_models_own_attention_is_put_back() -> None:
    model, _ = tiny_policy()
    language_model = model.model.language_model
    before = language_model.config._attn_implementation
    of_tower = model.model.visual.config._attn_implementation
    with pytest.raises(RuntimeError), decode_attention(language_model):
        assert language_model.layers[0].self_attn.config._attn_implementation != before
        assert model.model.visual.config._attn_implementation == of_tower
        raise RuntimeError
    assert language_model.config._attn_implementation == before
