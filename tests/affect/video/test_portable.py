"""What travels between a process and its decode worker comes out as it went in; nothing else does.

to_portable(sampled, buffers) -> {"sampled_video": {"frames": {"pixels": [0, [2, 4, 4, 3]]}, ...}}
"""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.video import FrameBudget, SampledVideo, VideoInfo
from affect.video.measure import MeasuredVideo
from affect.video.portable import from_portable, to_portable
from affect.video.timing import Timing


def there_and_back(value: Any) -> Any:
    buffers: list[memoryview] = []
    text = json.dumps(to_portable(value, buffers))
    return from_portable(json.loads(text), [bytearray(one) for one in buffers])


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.just("name \udcff")
    | st.fractions(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
)


@given(VALUES)
def test_plain_values(value: Any) -> None:
    found = there_and_back(value)
    assert found == value and type(found) is type(value)


def test_not_a_number_stays_one() -> None:
    assert math.isnan(there_and_back(math.nan))


@pytest.mark.parametrize(
    "value",
    [
        FrameBudget(fps=1.5, max_frames=7),
        MeasuredVideo(5.28, 320, 180, 132, 0, 10, 330),
        Timing((0, 100, 400), Fraction(1, 100), Fraction(7)),
        VideoInfo(Timing((5,), Fraction(1, 3), Fraction(1, 25)), 320, 180, 90, "h264", 2),
    ],
)
def test_records(value: Any) -> None:
    assert there_and_back(value) == value


@pytest.mark.parametrize("order", ["C", "F"])
def test_frames(order: Any) -> None:
    frames = np.arange(2 * 4 * 6 * 3, dtype=np.uint8).reshape(2, 4, 6, 3)
    clip = SampledVideo(np.asarray(frames, order=order), (0.0, 0.5), 1.0, 2, 2.0, 1.0)
    found = there_and_back(clip)
    assert np.array_equal(found.frames, frames)
    assert found.frames.flags.writeable and found.frames.dtype == np.uint8
    assert (found.times_seconds, found.second_per_grid_seconds) == ((0.0, 0.5), 1.0)


@pytest.mark.parametrize("value", [{"a": 1}, {1}, b"x", object(), np.zeros(3), 1j])
def test_other_types_do_not_travel(value: Any) -> None:
    with pytest.raises(TypeError, match="neither takes nor gives"):
        to_portable(value, [])


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"tuple": [1], "fraction": ["1", "2"]},
        {"os.system": {"command": "ls"}},
        {"fraction": ["1"]},
        {"fraction": ["1", "0"]},
        {"pixels": [0, [2]]},
        {"pixels": [9, [3]]},
        {"timing": {"stamps_ticks": []}},
        {"budget": {"fps": -1}},
        {"tuple": 3},
    ],
)
def test_nothing_else_is_made_of_an_answer(value: Any) -> None:
    with pytest.raises((ArithmeticError, AttributeError, LookupError, TypeError, ValueError)):
        from_portable(value, [bytearray(3)])
