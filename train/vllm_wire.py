"""What trainer and rollout engine say to each other: JSON and arrays, as safetensors bytes.

Nothing here can run code: safetensors holds numbers only, and the JSON stands in its metadata.
Frames arrive as the uint8 pixels they were, without a picture format in between.

Example:
    body = pack({"seeds": [1, 2]}, {"clip": frames})
    message, arrays = unpack(body)
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError
from safetensors.numpy import load, save

Array = npt.NDArray[Any]

_KEY = "message"
_LENGTH_BYTES = 8  # safetensors: the header's length, little-endian, then the header as JSON


def pack(message: Mapping[str, Any], arrays: Mapping[str, Array] | None = None) -> bytes:
    """One request's body. Values of `message` are JSON's; NaN and infinities are refused."""
    tensors = {name: np.ascontiguousarray(array) for name, array in (arrays or {}).items()}
    text = json.dumps(message, allow_nan=False)
    return save(tensors, metadata={_KEY: text})


def unpack(body: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """The message and the arrays of `pack`.

    Raises:
        ValueError: the bytes are not of that form.
    """
    try:
        arrays = load(body)
        length = int.from_bytes(body[:_LENGTH_BYTES], "little")
        header = json.loads(body[_LENGTH_BYTES : _LENGTH_BYTES + length])
        message = json.loads(header["__metadata__"][_KEY])
    # The last three: a header without a message, or one that JSON nests too deep.
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not a message of the rollout engine: {error!r}") from error
    if not isinstance(message, dict):
        raise ValueError("not a message of the rollout engine: it is no JSON object")
    return message, arrays
