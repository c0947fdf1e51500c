"""Narrower tiles for the fused head where its steps are not one kernel.

TRL's fused head computes logits in tiles of 32,768 words. A Triton kernel turns such a tile into
its gradient in place; elsewhere, as on a CPU, about nine tensors of a tile's size are alive in the
backward pass: 2.4 GiB for 2,048 tokens in float32, which also fit in no cache. The kernel takes
the width as an argument, so here it gets one under which a tile holds at most 4 million numbers.
Values and gradients are the same up to the order of sums.

Example:
    add_fused_lm_head(inner, temperature=0.8, outputs=("log_probs", "entropy"))
    install_narrow_head(inner, temperature=0.8, outputs=("log_probs", "entropy"))
"""

import functools
from collections.abc import Sequence
from contextlib import nullcontext
from types import MethodType
from typing import Any

import torch
from torch import Tensor
from transformers.utils import is_triton_available
from trl.kernels import ChunkedLogProbFunction
from trl.trainer.utils import FusedCausalLMOutput, maybe_gather_lm_head_ctx

_TILE_ELEMENTS = 2**22
_LEAST_WORDS = 1024
_MOST_WORDS = 32_768


def tile_words(num_tokens: int) -> int:
    """How many words wide a tile of so many tokens (at least 1) is: a power of two."""
    fitting = max(_TILE_ELEMENTS // num_tokens, 1)
    return min(max(1 << fitting.bit_length() - 1, _LEAST_WORDS), _MOST_WORDS)


def install_narrow_head(
    inner: Any,
    *,
    temperature: float = 1.0,
    outputs: Sequence[str] = ("log_probs",),
    cast_lm_head_to_fp32: bool = False,
) -> None:
    """Let calls with `fused_lm_head=True` and `shift_labels` go through narrow tiles.

    All other calls, and all on a device with Triton, go on to the forward that was there, which is
    TRL's. Nothing changes in what is saved.

    Args:
        inner: a Qwen2.5-VL to which `add_fused_lm_head` was applied, with the same arguments.
    """
    before = inner.forward

    # The signature of the class: `generate` checks its arguments against it.
    @functools.wraps(type(inner).forward)
    def forward(
        self: Any,
        *args: Any,
        fused_lm_head: bool = False,
        shift_labels: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        weight = self.get_output_embeddings().weight
        if not fused_lm_head:
            given = {} if shift_labels is None else {"shift_labels": shift_labels}
            return before(*args, **given, **kwargs)
        if shift_labels is None or has_fused_kernel(weight.device):
            return before(*args, fused_lm_head=True, shift_labels=shift_labels, **kwargs)
        kwargs["use_cache"] = False
        hidden = self.model(*args, **kwargs).last_hidden_state
        return _head(
            *(self.get_output_embeddings(), hidden, shift_labels),
            temperature=temperature,
            outputs=tuple(outputs),
            in_fp32=cast_lm_head_to_fp32,
        )

    inner.forward = MethodType(forward, inner)


def has_fused_kernel(device: torch.device) -> bool:
    """Whether TRL's Triton kernels run there."""
    return is_triton_available() and device.type in ("cuda", "xpu")


def _head(
    head: Any,
    hidden: Tensor,
    labels: Tensor,
    *,
    temperature: float,
    outputs: tuple[str, ...],
    in_fp32: bool,
) -> Any:
    """TRL's output for hidden states (B, N, D) and the labels (B, N) they predict."""
    scored = labels != -100
    precision: Any = nullcontext()
    if in_fp32:
        hidden = hidden.float()
        precision = torch.autocast(hidden.device.type, enabled=False)
    with precision, maybe_gather_lm_head_ctx(head.weight, head.bias):
        per_token = ChunkedLogProbFunction.apply(
            hidden.reshape(-1, hidden.shape[-1]),
            head.weight,
            head.bias,
            labels.clamp(min=0).reshape(-1),
            temperature,
            tile_words(labels.numel()),
            None,
            1.0,
            outputs,
        )
    log_probs, entropy, sum_sq, mean, top = (
        None if one is None else one.view(labels.shape).masked_fill(~scored, 0) for one in per_token
    )
    assert log_probs is not None
    return FusedCausalLMOutput(
        loss=-log_probs.sum() / scored.sum().clamp(min=1),
        log_probs=log_probs,
        entropy=entropy,
        log_sum_sq_probs=sum_sq,
        mean_logits=mean,
        is_top1=top,
        label_mask=scored,
    )
