"""Messages between trainer and engine: nothing is lost, and no bytes break more than themselves."""

import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from train.vllm_wire import pack, unpack

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_a_message_arrives_as_it_was_sent(message: dict[str, Any]) -> None:
    assert unpack(pack(message)) == (message, {})


def test_frames_and_large_seeds_arrive_as_they_were() -> None:
    frames = np.random.default_rng(0).integers(0, 256, (3, 28, 56, 3), dtype=np.uint8)
    turned = frames.transpose(0, 2, 1, 3)  # not contiguous
    message, arrays = unpack(pack({"seeds": [2**63 - 1]}, {"a": frames, "b": turned}))
    assert message == {"seeds": [2**63 - 1]}
    assert np.array_equal(arrays["a"], frames) and arrays["a"].dtype == np.uint8
    assert np.array_equal(arrays["b"], turned)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_numbers_that_json_lacks_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        pack({"temperature": value})


def with_header(header: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        pickle.dumps({"groups": []}),
        with_header(b"{}"),
        with_header(json.dumps({"__metadata__": {"message": "[1]"}}).encode()),
        with_header(json.dumps({"__metadata__": {"message": "{"}}).encode()),
        with_header(json.dumps({"__metadata__": {"other": "{}"}}).encode()),
        with_header(json.dumps({"__metadata__": {"message": "[" * 100000}}).encode()),
        (2**60).to_bytes(8, "little") + b"{}",
        pack({"a": 1}, {"x": np.zeros(4)})[:-1],
    ],
)
def test_bytes_of_another_kind_are_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match="not a message of the rollout engine"):
        unpack(body)


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(body: bytes) -> None:
    with pytest.raises(ValueError, match="not a message"):
        unpack(body)
