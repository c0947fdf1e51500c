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
        input_ids: (B, L). Videos and images stand as runs of their placeholder ids, in reading
            order over the whole batch.
        attention_mask: (B, L), 1 for tokens, 0 for padding on either side; None: no padding.
        video_grid_thw: (V, 3) temporal, height and width patches of each video.
        second_per_grid_ts: V lengths of one temporal grid, seconds. Required with videos: a missing
            value would silently mean one second.
        image_grid_thw: (I, 3), for still images; their temporal position does not advance.

    Returns:
        positions, (3, B, L) long, 0 on padding; deltas, (B, 1) long: the position of the token
        that follows a row of n real tokens is n + delta.

    Raises:
        ValueError: placeholders and grids do not agree, or a video has no `second_per_grid_ts`.
    """
    videos = [] if video_grid_thw is None else video_grid_thw.tolist()
    images = [] if image_grid_thw is None else image_grid_thw.tolist()
    seconds = _seconds_per_grid(second_per_grid_ts, len(videos))
    num_rows, row_length = input_ids.shape
    positions = torch.zeros(3, num_rows, row_length, dtype=torch.long)
    deltas = torch.zeros(num_rows, 1, dtype=torch.long)
    next_video = next_image = 0
    mask = None if attention_mask is None else attention_mask.bool().cpu()
    for row, ids_on_device in enumerate(input_ids):
        ids = ids_on_device.cpu()
        keep = torch.ones(row_length, dtype=torch.bool) if mask is None else mask[row]
        ids = ids[keep]
        is_video, is_image = ids == video_token_id, ids == image_token_id
        pieces: list[Tensor] = []
        at, start = 0, 0
        while at < len(ids):
            if is_video[at] or is_image[at]:
                if is_video[at]:
                    if next_video == len(videos):
                        raise ValueError(f"row {row} has more video tokens than the grids describe")
                    grid, interval = videos[next_video], seconds[next_video]
                    next_video += 1
                    run = is_video
                else:
                    if next_image == len(images):
                        raise ValueError(f"row {row} has more image tokens than the grids describe")
                    grid, interval = images[next_image], None
                    next_image += 1
                    run = is_image
                piece = _grid_positions(
                    grid, start, interval, spatial_merge_size, tokens_per_second
                )
                end = at + piece.shape[1]
                if end > len(ids) or not bool(run[at:end].all()):
                    raise ValueError(
                        f"row {row}: a grid of {grid} needs {piece.shape[1]} placeholder tokens "
                        f"in a row, the prompt has fewer"
                    )
                pieces.append(piece)
            else:
                vision = (is_video[at:] | is_image[at:]).nonzero()
                end = at + int(vision[0]) if len(vision) else len(ids)
                pieces.append((torch.arange(end - at) + start).expand(3, -1))
            # Text goes on one past the highest position so far, whichever axis holds it.
            start = int(pieces[-1].max()) + 1
            at = end
        if pieces:
            positions[:, row, keep] = torch.cat(pieces, dim=1)
        deltas[row] = start - len(ids)
    if next_video != len(videos) or next_image != len(images):
        raise ValueError(
            f"{len(videos)} video and {len(images)} image grids were given, but the token ids hold "
            f"{next_video} videos and {next_image} images"
        )
    return positions.to(input_ids.device), deltas.to(input_ids.device)


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
