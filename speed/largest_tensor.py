"""The largest tensor that comes into being, in forward and backward.

Every operation's outputs pass by, also those in a backward pass and those written into a buffer
that was there before. A view counts with the elements it shows; storages that are copied byte by
byte (uint8), as when a model is copied, do not count.

Example:
    with LargestTensor() as seen:
        loss(model(ids)).backward()
    seen.num_elements, seen.shape, seen.operation
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LargestTensor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Watches between enter and exit, on the thread that entered; see the module's text."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.num_elements = 0
        self.shape: tuple[int, ...] = ()
        self.operation = ""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Runs the operation and looks at what it returns."""
        output = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(output):
            if not isinstance(leaf, Tensor) or leaf.dtype == torch.uint8:
                continue
            if leaf.numel() > self.num_elements:
                self.num_elements = leaf.numel()
                self.shape = tuple(leaf.shape)
                self.operation = func._overloadpacket.__name__
        return output
