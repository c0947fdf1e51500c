"""What a clip's tower features hang on, besides the clip: one digest of it all.

Two models whose digests are equal give the same features for the same file: the same weights
before the merger, the same way from file to patches, the same arithmetic. The merger, which trains,
and the language model have no part in it, so the cold start's features serve GRPO.

Example: tower_identity(model, processor, FrameBudget(), arithmetic=["cpu", "float32"])
"""

import contextlib
import hashlib
import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import av
import torch
import transformers
from torch import Tensor

from affect.model.policy import causal_model
from affect.video import FrameBudget

# Of the video processor: what turns frames of a given size into patches.
_PATCH_SETTINGS = (
    "do_convert_rgb", "do_rescale", "rescale_factor", "do_normalize", "image_mean", "image_std",
    "patch_size", "temporal_patch_size", "merge_size",
)  # fmt: skip


def tower_identity(
    model: Any, processor: Any, budget: FrameBudget, *, arithmetic: Sequence[str]
) -> str:
    """64 hex digits. With sharded weights all processes have to call it, at the same time.

    Args:
        arithmetic: what else decides how it is computed (device, precision, engine); values that
            come out differently by rounding alone are told apart, so that a run stays exact.
    """
    inner = causal_model(model)
    visual: Any = inner.model.visual
    video_processor = processor.video_processor
    vision = {
        name: value
        for name, value in visual.config.to_dict().items()
        # The merger's width, and what is written about a checkpoint.
        if name not in ("out_hidden_size", "dtype", "torch_dtype", "transformers_version")
    }
    settings = {
        "budget": budget.model_dump(mode="json"),
        "patches": {name: getattr(video_processor, name, None) for name in _PATCH_SETTINGS},
        "vision": vision,
        "attention": visual.config._attn_implementation,
        "arithmetic": list(arithmetic),
        # The tower's code and the decoder's.
        "versions": [transformers.__version__, av.__version__],
        "weights": weights_before_merger_sha256(visual),
    }
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()


def weights_before_merger_sha256(visual: Any) -> str:
    """Hex digest over names, types, shapes and values; sharded weights are gathered one by one."""
    digest = hashlib.sha256()
    for name, weight in sorted(visual.named_parameters()):
        if name.startswith("merger."):
            continue
        with gathered(weight):
            value = weight.detach().cpu().contiguous()
            digest.update(f"{name}\n{value.dtype}\n{tuple(value.shape)}\n".encode())
            digest.update(value.view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()


def is_sharded(module: Any) -> bool:
    """Whether its weights are spread over processes (ZeRO-3)."""
    return any(hasattr(weight, "ds_id") for weight in module.parameters())


def gathered(weight: Tensor) -> AbstractContextManager[None]:
    """The whole weight within the block."""
    if not hasattr(weight, "ds_id"):
        return contextlib.nullcontext()
    import deepspeed

    context: AbstractContextManager[None] = deepspeed.zero.GatheredParameters([weight])
    return context
