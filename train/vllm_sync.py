"""The trained weights as an engine takes them: merged, by the checkpoint's names, in files.

Weights are collected one at a time, also where ZeRO-3 shards them, so that no process ever holds
the whole model on top of its own. An adapter is added to a copy of its layer's weight; the live
model is not touched.

Example:
    write_weights(model, folder, dtype=torch.bfloat16, is_main=True)    # on every process
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from affect.model.policy import causal_model
from train.vllm_names import trained_name

_ADAPTER = "default"
_SHARD_BYTES = 2 * 2**30


@torch.no_grad()
def write_weights(
    model: Any, folder: Path, *, dtype: torch.dtype, is_main: bool, shard_bytes: int = _SHARD_BYTES
) -> None:
    """Write every weight once; all processes must call this, the main one writes.

    A tied output layer is the embedding and is not written twice.

    Raises:
        OSError: on the main process, when all weights have been through: the others must not be
            left waiting for it in the middle.
    """
    shard: dict[str, Tensor] = {}
    number = 0
    failure: OSError | None = None
    for name, weight in merged_weights(model):
        if not is_main or failure is not None:
            continue
        shard[name] = weight.to("cpu", dtype, copy=True).contiguous()
        if sum(tensor.nbytes for tensor in shard.values()) >= shard_bytes:
            failure = _write(shard, folder, number)
            shard, number = {}, number + 1
    if shard and failure is None:
        failure = _write(shard, folder, number)
    if failure is not None:
        raise failure


def _write(shard: dict[str, Tensor], folder: Path, number: int) -> OSError | None:
    try:
        save_file(shard, folder / f"weights_{number:05d}.safetensors")
    except SafetensorError as error:  # how a full disk is told
        return OSError(f"{folder}: weights can't be written: {error}")
    except OSError as error:
        return error
    return None


@torch.no_grad()
def merged_weights(model: Any) -> Iterator[tuple[str, Tensor]]:
    """(checkpoint name, whole weight) of a policy, adapter merged; sums in float32, rounded once.

    Under ZeRO-3 the weight is whole only until the next one is asked for, and every process must
    run through all of them.
    """
    inner = causal_model(model)
    layers = dict(inner.named_modules())
    for name, parameter in inner.named_parameters():
        if ".lora_A." in name or ".lora_B." in name:
            continue
        layer: Any = layers.get(name.removesuffix(".base_layer.weight"))
        adapted = name.endswith(".base_layer.weight")
        parts = [parameter]
        if adapted:
            parts += [_only(layer.lora_A).weight, _only(layer.lora_B).weight]
        with _whole(parts):
            weight = parameter.detach()
            if adapted:
                change = parts[2].float() @ parts[1].float()
                weight = (weight.float() + layer.scaling[_ADAPTER] * change).to(weight.dtype)
            yield trained_name(name), weight


def _only(part: Any) -> nn.Module:
    """The trained adapter's half; TRL keeps a reference adapter beside it."""
    module: nn.Module = part[_ADAPTER]
    return module


def _whole(parameters: list[nn.Parameter]) -> AbstractContextManager[Any]:
    if not any(hasattr(parameter, "ds_id") for parameter in parameters):
        return nullcontext()
    import deepspeed

    gathered: AbstractContextManager[Any] = deepspeed.zero.GatheredParameters(parameters)
    return gathered
