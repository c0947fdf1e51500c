"""Rows of a sampling in micro-batches, each group's rows side by side.

TRL shuffles a sampling's rows before it cuts them into micro-batches. Each micro-batch would then
hold a few rows of many groups, and the prompt of each group would be run in every one of them. Here
the groups are shuffled and their rows stay together.

Example: batches = whole_groups(trainer._buffered_inputs)
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def whole_groups(batches: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same rows in as many micro-batches of the same size, ordered by group.

    Args:
        batches: of one sampling, in their shuffled order. `group_index` (rows,) says which group a
            row belongs to. Entries that are no tensors, or have no rows, are the same in all.

    Returns:
        micro-batches in which groups come in the order in which the shuffle put their first rows,
        and a group's rows in the order they were sampled. A group is cut only where a micro-batch
        holds fewer rows than it has or no whole number of groups.
    """
    groups: list[int] = torch.cat([batch["group_index"] for batch in batches]).tolist()
    first_seen: dict[int, int] = {}
    for place, group in enumerate(groups):
        first_seen.setdefault(group, place)
    order = torch.tensor(
        sorted(range(len(groups)), key=lambda place: first_seen[groups[place]]),
        device=batches[0]["group_index"].device,
    )
    by_row = {
        name
        for name, value in batches[0].items()
        if isinstance(value, Tensor) and value.ndim and len(value) == len(batches[0]["group_index"])
    }
    rows = {name: torch.cat([batch[name] for batch in batches])[order] for name in by_row}
    size = len(groups) // len(batches)
    return [
        {
            name: rows[name][start : start + size] if name in by_row else value
            for name, value in batch.items()
        }
        for start, batch in zip(range(0, len(groups), size), batches, strict=True)
    ]
