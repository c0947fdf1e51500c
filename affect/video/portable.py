"""Values as JSON and raw bytes, and back: what a decode worker may be told and may answer.

A decoder that a hostile file has taken over writes what it likes to the process that reads its
answers. So nothing is made of them but numbers, texts, lists, frames and the few types below;
a pickle could be made to run code.

    >>> buffers = []
    >>> to_portable((1, Fraction(1, 25), None), buffers)
    {'tuple': [1, {'fraction': ['1', '25']}, None]}
    >>> from_portable({'tuple': [1, {'fraction': ['1', '25']}, None]}, buffers)
    (1, Fraction(1, 25), None)
"""

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from affect.video.budget import FrameBudget
from affect.video.measure import MeasuredVideo
from affect.video.probe import VideoInfo
from affect.video.sample import SampledVideo
from affect.video.timing import Timing

_RECORDS: dict[str, type[Any]] = {
    "measured_video": MeasuredVideo,
    "sampled_video": SampledVideo,
    "timing": Timing,
    "video_info": VideoInfo,
}
_NAMES = {record: name for name, record in _RECORDS.items()}


def to_portable(value: Any, buffers: list[memoryview]) -> Any:
    """What `json.dumps` takes; frames go to `buffers`. Raises TypeError for any other type."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [to_portable(one, buffers) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [to_portable(one, buffers) for one in value]}
    if isinstance(value, Fraction):
        return {"fraction": [str(value.numerator), str(value.denominator)]}
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        flat: NDArray[np.uint8] = np.ascontiguousarray(value).reshape(-1)
        buffers.append(flat.data)
        return {"pixels": [len(buffers) - 1, list(value.shape)]}
    if isinstance(value, FrameBudget):
        return {"budget": value.model_dump()}
    if type(value) in _NAMES:
        fields = {
            field.name: to_portable(getattr(value, field.name), buffers)
            for field in dataclasses.fields(value)
        }
        return {_NAMES[type(value)]: fields}
    raise TypeError(f"a decode worker neither takes nor gives {type(value).__name__}")


def from_portable(value: Any, buffers: Sequence[bytearray]) -> Any:
    """The value again; its frames are the buffers themselves, and the receiver's to change.

    Raises ArithmeticError, AttributeError, LookupError, TypeError or ValueError for what
    `to_portable` does not write.
    """
    if isinstance(value, list):
        return [from_portable(one, buffers) for one in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tuple":
        return tuple(from_portable(one, buffers) for one in content)
    if kind == "fraction":
        numerator, denominator = content
        return Fraction(int(numerator), int(denominator))
    if kind == "pixels":
        number, shape = content
        return np.frombuffer(buffers[number], np.uint8).reshape(shape)
    if kind == "budget":
        return FrameBudget.model_validate(content)
    fields = {name: from_portable(one, buffers) for name, one in content.items()}
    return _RECORDS[kind](**fields)
