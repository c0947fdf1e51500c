"""Completions packed behind their prompts, each prompt once: the rows of the shared-prefix forward.

The log-probs of G completions of one prompt need the prompt's hidden states once, not G times. All
groups of a batch stand in one row without padding: a group's prefix (the prompt without its last
token), then one branch per completion. A branch is the prompt's last token and the completion
without its last token, so each of its hidden states predicts one completion token. Branches restart
at the prompt's next position and see their prefix and themselves, nothing else.

    prompt a b c, completions d e | f       a b | c d | c
    predicts                                      d e   f

Example:
    packed = pack_groups([prompt_ids], [positions], [next_position], [[first_ids, second_ids]])
    model(input_ids=packed.input_ids, position_ids=packed.position_ids,
          shift_labels=packed.labels, shared_prefix=packed.layout, ...)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

IGNORED = -100


@dataclass(frozen=True)
class PackedGroup:
    """Where one prompt and its completions stand in the packed row, as (start, end)."""

    prefix: tuple[int, int]
    branches: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class PrefixLayout:
    """What attention and head need to know about a packed row of L tokens.

    `scored` are the N places whose hidden state predicts a completion token, in the order of the
    completions; `attention` names how to attend, see `affect.model.shared_prefix_attention`.
    """

    groups: tuple[PackedGroup, ...]
    scored: Tensor
    num_tokens: int
    attention: str = "sdpa"


@dataclass(frozen=True)
class PackedRow:
    """`input_ids` (1, L), `position_ids` (3, 1, L), `labels` (1, N), and the layout."""

    input_ids: Tensor
    position_ids: Tensor
    labels: Tensor
    layout: PrefixLayout


def pack_groups(
    prompts: Sequence[Tensor],
    positions: Sequence[Tensor],
    next_positions: Sequence[int],
    completions: Sequence[Sequence[Tensor]],
    *,
    attention: str = "sdpa",
) -> PackedRow:
    """Lay out prompts and their completions.

    Args:
        prompts: token ids (P,) of each group. positions: (3, P) of each. next_positions: the
            position of the token that follows each prompt.
        completions: token ids (C,) of each group's completions; an empty one takes no place.

    Returns:
        the packed row. Where there is no completion token at all, one place is scored with label
        -100, so that every process has a forward and a backward to run.

    Raises:
        ValueError: a prompt without tokens.
    """
    ids: list[Tensor] = []
    places: list[Tensor] = []
    labels: list[Tensor] = []
    scored: list[Tensor] = []
    groups: list[PackedGroup] = []
    at = 0
    for prompt, position, follows, replies in zip(
        prompts, positions, next_positions, completions, strict=True
    ):
        if not len(prompt):
            raise ValueError("a prompt without tokens has nothing to predict a completion from")
        prefix = (at, at + len(prompt) - 1)
        at = prefix[1]
        ids.append(prompt[:-1])
        places.append(position[:, :-1])
        branches: list[tuple[int, int]] = []
        for reply in replies:
            if not len(reply):
                continue
            ids += [prompt[-1:], reply[:-1]]
            later = torch.arange(len(reply) - 1, device=prompt.device) + follows
            places += [position[:, -1:], later.expand(3, -1)]
            labels.append(reply)
            branches.append((at, at + len(reply)))
            scored.append(torch.arange(*branches[-1], device=prompt.device))
            at += len(reply)
        groups.append(PackedGroup(prefix, tuple(branches)))
    if not labels:
        first = groups[-1]
        ids.append(prompts[-1][-1:])
        places.append(positions[-1][:, -1:])
        labels.append(torch.full((1,), IGNORED, device=prompts[-1].device))
        scored.append(torch.tensor([at], device=prompts[-1].device))
        groups[-1] = PackedGroup(first.prefix, ((at, at + 1),))
        at += 1
    return PackedRow(
        input_ids=torch.cat(ids)[None],
        position_ids=torch.cat(places, dim=1)[:, None],
        labels=torch.cat(labels)[None],
        layout=PrefixLayout(tuple(groups), torch.cat(scored), at, attention),
    )


def unpack_rows(values: Tensor, lengths: Sequence[int], width: int) -> Tensor:
    """(B, width) from the packed values (N,) of completions of these lengths; 0 behind their end.

    N may be larger than the lengths' sum (the place that is scored where nothing else is); the
    rest is left out, but stays part of the graph.
    """
    mask = torch.arange(width, device=values.device) < torch.tensor(
        lengths, device=values.device
    ).unsqueeze(1)
    # masked_scatter reads the first values in row order, and passes the gradient on to all.
    return values.new_zeros(mask.shape).masked_scatter(mask, values)
