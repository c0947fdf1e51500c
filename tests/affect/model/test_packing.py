"""Packed rows: what stands where, in literal numbers, and back again."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from affect.model.packing import IGNORED, PackedGroup, pack_groups, unpack_rows


def text_positions(length: int) -> torch.Tensor:
    return torch.arange(length).expand(3, -1)


def test_two_groups_in_literal_numbers() -> None:
    packed = pack_groups(
        [torch.tensor([1, 2, 3]), torch.tensor([7])],
        [text_positions(3), text_positions(1)],
        [5, 1],  # a video may end the first prompt's positions later than its tokens
        [[torch.tensor([10, 11]), torch.tensor([12])], [torch.tensor([13, 14, 15])]],
    )
    assert packed.input_ids.tolist() == [[1, 2, 3, 10, 3, 7, 13, 14]]
    assert packed.position_ids.tolist() == [[[0, 1, 2, 5, 2, 0, 1, 2]]] * 3
    assert packed.labels.tolist() == [[10, 11, 12, 13, 14, 15]]
    assert packed.layout.scored.tolist() == [2, 3, 4, 5, 6, 7]
    assert packed.layout.groups == (
        PackedGroup((0, 2), ((2, 4), (4, 5))),
        PackedGroup((5, 5), ((5, 8),)),
    )
    assert packed.layout.num_tokens == 8


def test_a_completion_without_tokens_takes_no_place() -> None:
    nothing = torch.tensor([], dtype=torch.long)
    packed = pack_groups(
        [torch.tensor([1, 2])], [text_positions(2)], [2], [[nothing, torch.tensor([9]), nothing]]
    )
    assert packed.input_ids.tolist() == [[1, 2]]
    assert packed.labels.tolist() == [[9]]


def test_with_no_completion_at_all_one_place_is_scored_without_a_label() -> None:
    nothing = torch.tensor([], dtype=torch.long)
    packed = pack_groups(
        [torch.tensor([1, 2]), torch.tensor([4, 5, 6])],
        [text_positions(2), text_positions(3)],
        [2, 3],
        [[nothing], [nothing, nothing]],
    )
    assert packed.input_ids.tolist() == [[1, 4, 5, 6]]
    assert packed.labels.tolist() == [[IGNORED]]
    assert packed.layout.scored.tolist() == [3]
    assert packed.layout.groups[-1].branches == ((3, 4),)


def test_an_empty_prompt_is_refused() -> None:
    empty = torch.tensor([], dtype=torch.long)
    with pytest.raises(ValueError, match="without tokens"):
        pack_groups([empty], [text_positions(0)], [0], [[torch.tensor([1])]])


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.integers(0, 2))
def test_unpacking_puts_each_value_where_its_token_was(lengths: list[int], spare: int) -> None:
    width = max([*lengths, 1])
    values = torch.arange(1, sum(lengths) + 1 + spare, dtype=torch.float)
    rows = unpack_rows(values, lengths, width)
    flat = [
        float(value) for row, length in zip(rows, lengths, strict=True) for value in row[:length]
    ]
    assert flat == values[: sum(lengths)].tolist()
    assert all(not row[length:].any() for row, length in zip(rows, lengths, strict=True))


def test_what_is_left_out_keeps_its_place_in_the_graph() -> None:
    values = torch.ones(1, requires_grad=True)
    unpack_rows(values, [0, 0], 2).sum().backward()
    assert values.grad is not None and values.grad.tolist() == [0.0]
