"""Hostile text, made visible."""

import pytest

from affect.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\tc", "a\nb\tc"),
        ("a\x00b", "a\\u0000b"),
        ("a\u202eb", "a\\u202eb"),
        ("a\ud800b", "a\\ud800b"),
        ("<b>\u00e9\U0001f600", "<b>\u00e9\U0001f600"),
    ],
)
def test_what_no_screen_may_be_given_is_written_out(text: str, shown: str) -> None:
    assert printable(text) == shown
