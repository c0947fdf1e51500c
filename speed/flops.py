"""Floating-point operations of whatever runs: matrix products and attention, forward and backward.

torch's own counter hangs on modules, which fails under gradient checkpointing, and does not know
the attention kernels of the CPU. This one watches the operations themselves, so that what is
recomputed in a backward pass counts again. A multiply and an add are two operations. Elementwise
work is not counted.

Of attention, only what a kernel really visits counts: half of a causal square, all of a rectangle
that has a mask.

Example:
    with FlopCounter() as counter:
        loss = model(ids).sum(); loss.backward()
    counter.total, counter.by_operation
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

_ATEN = torch.ops.aten
_IN_PLACE = {_ATEN.addmm_: _ATEN.addmm, _ATEN.baddbmm_: _ATEN.baddbmm}
_CPU_ATTENTION = _ATEN._scaled_dot_product_flash_attention_for_cpu
_CPU_ATTENTION_BACKWARD = _ATEN._scaled_dot_product_flash_attention_for_cpu_backward


class FlopCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts between enter and exit, on the thread that entered (backward passes of the CPU run
    there too); see the module's text.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.by_operation: Counter[str] = Counter()

    @property
    def total(self) -> int:
        """Operations so far."""
        return sum(self.by_operation.values())

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Runs the operation and counts it."""
        kwargs = kwargs or {}
        output = func(*args, **kwargs)
        packet = _IN_PLACE.get(func._overloadpacket, func._overloadpacket)
        if packet is _CPU_ATTENTION:
            query, key = args[:2]
            count = attention_flops(query, key, _is_causal(func, args, kwargs), num_products=2)
        elif packet is _CPU_ATTENTION_BACKWARD:
            # Recomputes the scores, then one product each for values, weights, queries and keys.
            query, key = args[1:3]
            count = attention_flops(query, key, _is_causal(func, args, kwargs), num_products=5)
        elif packet in flop_registry:
            count = flop_registry[packet](*args, **kwargs, out_val=output)
        else:
            return output
        self.by_operation[packet.__name__] += int(count)
        return output


def attention_flops(query: Tensor, key: Tensor, is_causal: bool, *, num_products: int) -> int:
    """Operations of `num_products` products over the visited pairs.

    Args:
        query: (B, H, Q, D). key: (B, H, K, D).
    """
    batch, heads, num_queries, size = query.shape
    num_keys = key.shape[2]
    pairs = num_queries * num_keys
    if is_causal:
        # The mask's corner is at the top left: query i sees keys 0 to i.
        short = min(num_queries, num_keys)
        pairs = short * (short + 1) // 2 + (num_queries - short) * num_keys
    return 2 * num_products * batch * heads * pairs * size


def _is_causal(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    names = [argument.name for argument in func._schema.arguments]
    given = dict(zip(names, args, strict=False)) | kwargs
    return bool(given.get("is_causal", False))
