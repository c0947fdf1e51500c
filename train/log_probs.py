"""Log-probs of completions, given prompts and clips: the pass behind old, reference and policy.

`shared` runs each distinct prompt of a batch once, with all its completions behind it, as one row
without padding; `plain` runs prompt and completion anew for every row, padded, as TRL does. Both
give the same numbers; plain is there to check shared against, and for models that can't attend the
shared way.

Letters: B rows, C completion tokens (padded), P prompt tokens.

Example:
    prompts = [ScoredPrompt.of(model.config, prompt_inputs, clip_features, device)]
    log_probs, entropies = shared_log_probs(
        model, prompts, torch.tensor([0, 0]), completion_ids, completion_mask)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from affect.model.inputs import PromptInputs, pad_rows
from affect.model.packing import IGNORED, pack_groups, unpack_rows
from affect.model.policy import ClipFeatures, model_positions

# (model, prompts, prompt_of_row, completion_ids, completion_mask) to (log-probs, entropies).
LogProbPass = Callable[
    [Any, Sequence["ScoredPrompt"], Tensor, Tensor, Tensor], tuple[Tensor, Tensor | None]
]


@dataclass(frozen=True)
class ScoredPrompt:
    """One prompt as the passes take it: `input_ids` (P,), `positions` (3, P), and its pictures.

    `next_position` is that of the completion's first token; `features` (N, hidden) and `grid_thw`
    (videos or images, 3) come from the tower, of still images where `is_still`.
    """

    input_ids: Tensor
    positions: Tensor
    next_position: int
    features: Tensor
    grid_thw: Tensor
    is_still: bool = False

    @classmethod
    def of(
        cls, config: Any, prompt: PromptInputs, clip: ClipFeatures, device: torch.device
    ) -> "ScoredPrompt":
        """With positions by the project's rule."""
        ids = prompt.input_ids.to(device)
        positions, deltas = model_positions(
            config, ids[None], None, clip.grid_thw, [clip.second_per_grid]
        )
        next_position = len(ids) + int(deltas)
        return cls(ids, positions[:, 0], next_position, clip.features, clip.grid_thw)


def shared_log_probs(
    model: Any,
    prompts: Sequence[ScoredPrompt],
    prompt_of_row: Tensor,
    completion_ids: Tensor,
    completion_mask: Tensor,
    *,
    attention: str = "sdpa",
) -> tuple[Tensor, Tensor | None]:
    """Each prompt once for all its rows, in one forward of `model`.

    Args:
        model: the policy as the trainer holds it, wrapped or not, with TRL's fused head. It must be
            entered here and nowhere below: a wrapper gathers weights and gradients by its forward.
        prompts: candidates; those that no row asks for are left out.
        prompt_of_row: (B,) index into `prompts`. Rows of a prompt need not stand together.
        completion_ids: (B, C), padded on the right. completion_mask: (B, C), 1 for tokens that
            count; a row without any takes no part in the forward.
        attention: see `affect.model.shared_prefix_attention`.

    Returns:
        (B, C) log-probs, 0 where the mask is 0, and entropies likewise (None where the model's
        fused head does not compute them, as the reference model's).
    """
    lengths = completion_mask.sum(dim=1).tolist()
    rows_of_prompt: dict[int, list[int]] = {}
    for row, prompt in enumerate(prompt_of_row.tolist()):
        rows_of_prompt.setdefault(prompt, []).append(row)
    asked = [prompts[prompt] for prompt in rows_of_prompt]
    packed = pack_groups(
        [prompt.input_ids for prompt in asked],
        [prompt.positions for prompt in asked],
        [prompt.next_position for prompt in asked],
        [[completion_ids[row, : lengths[row]] for row in rows] for rows in rows_of_prompt.values()],
        attention=attention,
    )
    outputs = model(
        input_ids=packed.input_ids,
        position_ids=packed.position_ids,
        # What may be seen follows from the layout; a mask of (L, L) is not built.
        attention_mask={"full_attention": None},
        shared_prefix=packed.layout,
        **_pictures(asked),
        shift_labels=packed.labels,
        fused_lm_head=True,
    )
    order = [row for rows in rows_of_prompt.values() for row in rows]
    back = torch.tensor(order, device=completion_ids.device).argsort()
    packed_lengths = [lengths[row] for row in order]

    def by_row(values: Tensor | None) -> Tensor | None:
        if values is None:
            return None
        return unpack_rows(values[0], packed_lengths, completion_ids.shape[1])[back]

    log_probs = by_row(outputs.log_probs)
    assert log_probs is not None
    return log_probs, by_row(outputs.entropy)


def log_prob_pass(mode: str, attention: str, pad_id: int) -> LogProbPass:
    """The pass of a configuration: `mode` is "shared" or "plain"; see the module's text."""
    if mode == "plain":
        return partial(plain_log_probs, pad_id=pad_id)
    return partial(shared_log_probs, attention=attention)


def _pictures(prompts: Sequence[ScoredPrompt]) -> dict[str, Tensor]:
    """Tower features and grids by the names under which the model takes them."""
    inputs: dict[str, Tensor] = {}
    for is_still, pixels, grids in (
        (False, "pixel_values_videos", "video_grid_thw"),
        (True, "pixel_values", "image_grid_thw"),
    ):
        of_kind = [prompt for prompt in prompts if prompt.is_still == is_still]
        if of_kind:
            inputs[pixels] = torch.cat([prompt.features for prompt in of_kind])
            inputs[grids] = torch.cat([prompt.grid_thw for prompt in of_kind])
    return inputs


def plain_log_probs(
    model: Any,
    prompts: Sequence[ScoredPrompt],
    prompt_of_row: Tensor,
    completion_ids: Tensor,
    completion_mask: Tensor,
    *,
    pad_id: int,
) -> tuple[Tensor, Tensor | None]:
    """As `shared_log_probs`, every row with its own copy of prompt and clip."""
    device = completion_ids.device
    rows = [prompts[index] for index in prompt_of_row.tolist()]
    ids, mask = pad_rows([row.input_ids.cpu() for row in rows], pad_id, side="left")
    prompt_ids, prompt_mask = ids.to(device), mask.to(device)
    num_completion = completion_ids.shape[1]
    positions = torch.zeros(3, len(rows), num_completion + ids.shape[1], dtype=torch.long)
    positions = positions.to(device)
    later = torch.arange(num_completion, device=device)
    for index, row in enumerate(rows):
        positions[:, index, ids.shape[1] - len(row.input_ids) : ids.shape[1]] = row.positions
        positions[:, index, ids.shape[1] :] = later + row.next_position
    labels = torch.cat([prompt_ids, completion_ids], dim=1)
    labels = labels.masked_fill(torch.cat([prompt_mask, completion_mask], dim=1) == 0, IGNORED)
    labels[:, : ids.shape[1]] = IGNORED
    outputs = model(
        input_ids=torch.cat([prompt_ids, completion_ids], dim=1),
        attention_mask=torch.cat([prompt_mask, completion_mask], dim=1),
        position_ids=positions,
        **_pictures(rows),
        labels=labels,
        fused_lm_head=True,
    )
    entropy = outputs.entropy
    return outputs.log_probs[:, -num_completion:], (
        None if entropy is None else entropy[:, -num_completion:]
    )
