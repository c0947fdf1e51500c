"""The one place where Qwen2.5-VL's rotary positions come from (mRoPE: time, height, width).

SFT, generation, every log-prob pass and prediction call `mrope_positions` and hand the result to
the model. The model's own rule is not used: in transformers 5.19 to 5.24 the text after a video
starts at max(height, width) / 2 past the video's start, inside the video's own time range, whereas
the released checkpoints were trained (and vLLM serves them) with text starting one past the highest
position so far.

Example: 30 frames of 224x224 at 2 frames per second after two text tokens. There are 15 temporal
grids, each 1.0 s long, so with 2 positions per second they stand at 2, 4, ..., 30 and the next text
token at 31.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

# Per vision token: the grids to come, each with its seconds per temporal grid (None for an image).
Waiting = dict[int, list[tuple[list[int], float | None]]]


def mrope_positions(
    input_ids: Tensor,
    attention_mask: Tensor | None,
    video_grid_thw: Tensor | None,
    second_per_grid_ts: Sequence[float] | Tensor | None,
    *,
    video_token_id: int,
    image_token_id: int,
    image_grid_thw: Tensor | None = None,
    spatial_merge_size: int = 2,
    tokens_per_second: float = 2,
) -> tuple[Tensor, Tensor]:
    """Positions of every token, and what to add to a token count to continue them.

    Args:
        input_ids: (B, L). Videos and images stand as runs of their own ids, in reading order over
            the whole batch.
        attention_mask: (B, L), 1 for tokens, 0 for padding on either side; None: no padding.
        video_grid_thw: (V, 3) temporal, height and width patches of each video.
        second_per_grid_ts: V lengths of one temporal grid, seconds. Required with videos: a missing
            value would silently mean one second.
        image_grid_thw: (I, 3), for still images; their temporal position does not advance.

    Returns:
        positions, (3, B, L) long, 0 on padding; deltas, (B, 1) long: the position of the token
        that follows a row of n real tokens is n + delta.

    Raises:
        ValueError: vision tokens and grids do not agree, or a video has no `second_per_grid_ts`.
    """
    grids = {
        video_token_id: [] if video_grid_thw is None else video_grid_thw.tolist(),
        image_token_id: [] if image_grid_thw is None else image_grid_thw.tolist(),
    }
    seconds = _seconds_per_grid(second_per_grid_ts, len(grids[video_token_id]))
    # What is still to come, in reading order over the whole batch.
    waiting: Waiting = {
        video_token_id: list(zip(grids[video_token_id], seconds, strict=True)),
        image_token_id: [(grid, None) for grid in grids[image_token_id]],
    }
    num_rows, row_length = input_ids.shape
    positions = torch.zeros(3, num_rows, row_length, dtype=torch.long)
    deltas = torch.zeros(num_rows, 1, dtype=torch.long)
    mask = None if attention_mask is None else attention_mask.bool().cpu()
    for row, ids in enumerate(input_ids.cpu()):
        keep = torch.ones(row_length, dtype=torch.bool) if mask is None else mask[row]
        found, next_position = _row_positions(
            ids[keep], waiting, f"row {row}", spatial_merge_size, tokens_per_second
        )
        positions[:, row, keep] = found
        deltas[row] = next_position - int(keep.sum())
    left = [len(waiting[token]) for token in (video_token_id, image_token_id)]
    if any(left):
        raise ValueError(
            f"the token ids hold fewer clips than there are grids: {left[0]} videos and "
            f"{left[1]} images were not met"
        )
    return positions.to(input_ids.device), deltas.to(input_ids.device)


def _row_positions(
    ids: Tensor,
    waiting: Waiting,
    where: str,
    spatial_merge_size: int,
    tokens_per_second: float,
) -> tuple[Tensor, int]:
    """(3, N) positions of one row without padding, and the position after it.

    Takes from `waiting` the grids (and seconds per grid) of the videos and images it meets.
    """
    is_vision = torch.isin(ids, torch.tensor(list(waiting)))
    pieces = [torch.zeros(3, 0, dtype=torch.long)]
    at = start = 0
    while at < len(ids):
        if is_vision[at]:
            token = int(ids[at])
            if not waiting[token]:
                raise ValueError(f"{where} has more videos or images than there are grids")
            grid, seconds = waiting[token].pop(0)
            piece = _grid_positions(grid, start, seconds, spatial_merge_size, tokens_per_second)
            end = at + piece.shape[1]
            if end > len(ids) or not bool((ids[at:end] == token).all()):
                raise ValueError(
                    f"{where}: a grid of {grid} needs {piece.shape[1]} vision tokens in a row, "
                    "the prompt has fewer"
                )
        else:
            vision = is_vision[at:].nonzero()
            end = at + int(vision[0]) if len(vision) else len(ids)
            piece = (torch.arange(end - at) + start).expand(3, -1)
        pieces.append(piece)
        # Text goes on one past the highest position so far, whichever axis holds it.
        start = int(piece.max()) + 1
        at = end
    return torch.cat(pieces, dim=1), start


def _seconds_per_grid(
    second_per_grid_ts: Sequence[float] | Tensor | None, num_videos: int
) -> list[float]:
    if num_videos == 0:
        return []
    if second_per_grid_ts is None or len(second_per_grid_ts) != num_videos:
        given = "none" if second_per_grid_ts is None else str(len(second_per_grid_ts))
        raise ValueError(
            f"{num_videos} videos need {num_videos} values of second_per_grid_ts, {given} given: "
            "pass temporal_patch_size / effective_fps for each clip"
        )
    seconds = [float(value) for value in second_per_grid_ts]
    if not all(0 < value < float("inf") for value in seconds):
        raise ValueError(f"second_per_grid_ts must be positive and finite, got {seconds}")
    return seconds


def _grid_positions(
    grid_thw: Sequence[int],
    start: int,
    second_per_grid: float | None,
    spatial_merge_size: int,
    tokens_per_second: float,
) -> Tensor:
    """(3, T*H*W) positions of one video (or image, where `second_per_grid` is None)."""
    num_t = grid_thw[0]
    num_h, num_w = grid_thw[1] // spatial_merge_size, grid_thw[2] // spatial_merge_size
    steps = torch.arange(num_t)
    if second_per_grid is None:
        temporal = torch.zeros_like(steps)
    else:
        # float32 and floor, in this order, as the serving engine does it: the two must not part at
        # a value like 3.9999998.
        temporal = (steps * tokens_per_second).float().mul(second_per_grid).long()
    grids = torch.meshgrid(temporal, torch.arange(num_h), torch.arange(num_w), indexing="ij")
    return torch.stack(grids).reshape(3, -1) + start
