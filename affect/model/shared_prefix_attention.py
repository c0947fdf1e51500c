"""Attention of a packed row: a prefix to itself, each branch to its prefix and to itself.

Three ways to compute the same: `sdpa` runs everywhere; `flash` (the flash-attn package) and `flex`
(torch's compiled block-sparse attention) need a GPU. `check_attention` says why one can't be used.

The layers find it under the name of the model's own attention with a prefix, and it only takes part
in forwards that carry a `shared_prefix` layout; all others go to the model's own.

Example:
    check_attention("flex", "cuda", is_half=True)
    install_shared_prefix(model)
    model(..., shared_prefix=packed.layout)
"""

from importlib.util import find_spec
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import repeat_kv
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from affect.model.flex_blocks import compiled_flex, flex_packed
from affect.model.packing import PrefixLayout

ATTENTIONS = ("sdpa", "flash", "flex")
_NAME = "shared_prefix_over_"


def check_attention(attention: str, device_type: str, *, is_half: bool) -> None:
    """Refuse a way to attend that can't run here.

    Args:
        device_type: "cpu", "cuda", ... is_half: whether attention computes in 16 bits.

    Raises:
        ValueError: names the reason and what to choose instead.
    """
    if attention not in ATTENTIONS:
        raise ValueError(f"attention {attention!r} is not one of {', '.join(ATTENTIONS)}")
    if attention == "sdpa":
        return
    if device_type != "cuda":
        reason = {
            "flash": "flash-attn has kernels for CUDA devices only",
            "flex": "torch's flex attention has no backward pass outside CUDA",
        }[attention]
        raise ValueError(f"attention {attention!r} can't run on {device_type}: {reason}; use sdpa")
    if attention == "flash":
        if find_spec("flash_attn") is None:
            raise ValueError(
                "attention 'flash' needs the package flash-attn 2.1 or later, which is not "
                "installed; install it, or use flex or sdpa"
            )
        if not is_half:
            raise ValueError(
                "attention 'flash' computes in bfloat16 or float16, the model in float32; set "
                "trainer.bf16, or use flex or sdpa"
            )


def install_shared_prefix(inner: Any) -> None:
    """Let a Qwen2.5-VL's decoder layers follow a `shared_prefix` layout, where one is passed.

    Not a context around the forward: with gradient checkpointing the layers run once more in the
    backward pass.

    Raises:
        ValueError: a decoder whose layers look at a sliding window.
    """
    config = inner.model.language_model.config
    if "sliding_attention" in config.layer_types:
        raise ValueError("the model has layers with a sliding window, which are not supported here")
    original = config._attn_implementation or "eager"
    if original.startswith(_NAME):
        return
    # The name goes on holding the original's: transformers looks for "flash" in it.
    name = _NAME + original

    def attend(
        module: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attention_mask: Tensor | None,
        shared_prefix: PrefixLayout | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor | None]:
        if shared_prefix is None:
            plain: Any = ALL_ATTENTION_FUNCTIONS.get_interface(original, _eager())
            return plain(module, query, key, value, attention_mask, **kwargs)
        assert attention_mask is None, "a packed row has its layout in the place of a mask"
        scaling = kwargs["scaling"]
        return _ATTEND[shared_prefix.attention](query, key, value, shared_prefix, scaling), None

    AttentionInterface.register(name, attend)
    AttentionMaskInterface.register(name, ALL_MASK_ATTENTION_FUNCTIONS[original])
    config._attn_implementation = name


def _eager() -> Any:
    from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import eager_attention_forward

    return eager_attention_forward


def sdpa(query: Tensor, key: Tensor, value: Tensor, layout: PrefixLayout, scaling: float) -> Tensor:
    """(1, L, H, D) from query (1, H, L, D) and key, value (1, K, L, D), H a multiple of K."""
    repeats = query.shape[1] // key.shape[1]
    key, value = repeat_kv(key, repeats), repeat_kv(value, repeats)
    pieces: list[Tensor] = []
    for group in layout.groups:
        start, end = group.prefix
        if end > start:
            part = slice(start, end)
            pieces.append(
                F.scaled_dot_product_attention(
                    query[:, :, part], key[:, :, part], value[:, :, part],
                    is_causal=True, scale=scaling,
                )
            )  # fmt: skip
        longest = max((last - first for first, last in group.branches), default=0)
        mask = _branch_mask(longest, end - start, query.device)
        for first, last in group.branches:
            size = last - first
            pieces.append(
                F.scaled_dot_product_attention(
                    query[:, :, first:last],
                    torch.cat([key[:, :, start:end], key[:, :, first:last]], dim=2),
                    torch.cat([value[:, :, start:end], value[:, :, first:last]], dim=2),
                    attn_mask=mask[:size, : end - start + size],
                    scale=scaling,
                )
            )
    return torch.cat(pieces, dim=2).transpose(1, 2)


def _branch_mask(num_branch: int, num_prefix: int, device: torch.device) -> Tensor:
    """(B, P + B), true where a branch's token may look: all of the prefix, itself and before."""
    own = torch.ones(num_branch, num_branch, dtype=torch.bool, device=device).tril()
    return torch.cat([own.new_ones(num_branch, num_prefix), own], dim=1)


def flash(
    query: Tensor, key: Tensor, value: Tensor, layout: PrefixLayout, scaling: float
) -> Tensor:
    """As `sdpa`, in one call of flash-attn on sequences of several lengths."""
    from flash_attn import flash_attn_varlen_func

    lengths, key_places = flash_sequences(layout, query.device)
    query_ends = _ends([length for length, _ in lengths], query.device)
    key_ends = _ends([length for _, length in lengths], query.device)
    keys, values = (part[0].transpose(0, 1)[key_places] for part in (key, value))
    # Causal masks stand at the bottom right: the last query sees all keys of its sequence.
    output: Tensor = flash_attn_varlen_func(
        query[0].transpose(0, 1),
        keys,
        values,
        query_ends,
        key_ends,
        max(length for length, _ in lengths),
        max(length for _, length in lengths),
        softmax_scale=scaling,
        causal=True,
    )
    return output[None]


def flash_sequences(
    layout: PrefixLayout, device: torch.device
) -> tuple[list[tuple[int, int]], Tensor]:
    """Numbers of queries and of keys of each sequence, and the keys' places in the packed row.

    Queries need no list: prefixes and branches stand in the order of the row.
    """
    lengths: list[tuple[int, int]] = []
    places: list[Tensor] = []
    for group in layout.groups:
        prefix = torch.arange(*group.prefix, device=device)
        if len(prefix):
            lengths.append((len(prefix), len(prefix)))
            places.append(prefix)
        for first, last in group.branches:
            lengths.append((last - first, len(prefix) + last - first))
            places += [prefix, torch.arange(first, last, device=device)]
    return lengths, torch.cat(places)


def _ends(lengths: list[int], device: torch.device) -> Tensor:
    """0 and the running sums, as flash-attn takes them."""
    return F.pad(torch.tensor(lengths, device=device).cumsum(0), (1, 0)).to(torch.int32)


def flex(query: Tensor, key: Tensor, value: Tensor, layout: PrefixLayout, scaling: float) -> Tensor:
    """As `sdpa`, in one compiled call that skips blocks in which nothing may be seen."""
    return flex_packed(query, key, value, layout, scaling, compiled_flex())


_ATTEND = {"sdpa": sdpa, "flash": flash, "flex": flex}
