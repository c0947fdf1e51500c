"""Fingerprints are compared bit by bit, and nothing else passes for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep.picture.fingerprint import fingerprint, fingerprint_distance

HASHES = st.lists(st.integers(0, 2**64 - 1), min_size=16, max_size=16)


def test_layout() -> None:
    text = fingerprint([0x0123456789ABCDEF, *range(1, 16)])
    assert len(text) == 256
    assert text.startswith("0123456789abcdef" + "0000000000000001" + "0000000000000002")
    assert text.endswith("000000000000000f")


def test_distance_is_the_mean_over_frames() -> None:
    first = fingerprint([0] * 16)
    second = fingerprint([0b1011] + [0] * 14 + [2**64 - 1])
    assert fingerprint_distance(first, second) == (3 + 64) / 16
    assert fingerprint_distance(first, fingerprint([2**64 - 1] * 16)) == 64.0


@given(HASHES, HASHES)
def test_distance_against_bit_strings(first: list[int], second: list[int]) -> None:
    pairs = zip(first, second, strict=True)
    slow = sum(sum(a != b for a, b in zip(f"{x:064b}", f"{y:064b}", strict=True)) for x, y in pairs)
    assert fingerprint_distance(fingerprint(first), fingerprint(second)) == slow / 16
    assert fingerprint_distance(fingerprint(first), fingerprint(first)) == 0


@pytest.mark.parametrize("text", ["", "0" * 255, "0" * 257, "0" * 255 + "G", "0x" + "0" * 254])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no fingerprint"):
        fingerprint_distance(text, "0" * 256)


@given(st.text())
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no fingerprint"):
        fingerprint_distance("0" * 256, text)
