"""Chat parts and the text of rows undo each other; what a row cannot hold is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.messages import (
    message_from_text,
    normal_prompt,
    parts_from_text,
    prompt_from_text,
    text_from_parts,
)

VIDEO = {"type": "video"}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def test_parts() -> None:
    assert parts_from_text("<video>\nWhy?") == [VIDEO, text("\nWhy?")]
    assert parts_from_text("Look: <video> Why?") == [text("Look: "), VIDEO, text(" Why?")]
    assert parts_from_text("<video>") == [VIDEO]
    assert parts_from_text("no mark") == [text("no mark")]
    assert parts_from_text("") == []
    assert message_from_text("user", "<video>a") == {"role": "user", "content": [VIDEO, text("a")]}


@given(st.lists(st.sampled_from(["<video>", "a", "\n", "<", "video>"])).map("".join) | st.text())
def test_text_survives(original: str) -> None:
    assert text_from_parts(parts_from_text(original)) == original


def test_none_keys_of_an_arrow_round_trip_go() -> None:
    parts = [
        {"type": "video", "text": None, "fps": None},
        {"type": "text", "text": "Why?", "video": None},
    ]
    prompt = normal_prompt([{"role": "user", "content": parts}])
    assert prompt == ({"role": "user", "content": [VIDEO, text("Why?")]},)


def test_system_turn_is_kept() -> None:
    assert prompt_from_text("<video>Why?", "Be brief.") == (
        {"role": "system", "content": [text("Be brief.")]},
        {"role": "user", "content": [VIDEO, text("Why?")]},
    )
    assert normal_prompt([{"role": "user", "content": "<video>Why?"}]) == prompt_from_text(
        "<video>Why?"
    )


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "one user turn"),
        ([{"role": "assistant", "content": "<video>"}], "one user turn"),
        (
            [{"role": "user", "content": "<video>"}, {"role": "assistant", "content": "x"}],
            "one user",
        ),
        ([{"role": "user", "content": "<video>"}] * 2, "one user turn"),
        ([{"role": "user", "content": "Why?"}], "human turn 0 <video> marks"),
        ([{"role": "user", "content": "<video><video>"}], "human turn 2 <video> marks"),
        ([{"role": "user", "content": [VIDEO, VIDEO]}], "human turn 2 <video> marks"),
        (
            [{"role": "system", "content": "<video>"}, {"role": "user", "content": "<video>"}],
            "system turn holds <video>",
        ),
        ([{"role": "user", "content": [VIDEO, text("or <video>")]}], "part of its own"),
        ([{"role": "user", "content": [{"type": "image"}]}], r"content\[0\] must be"),
        ([{"role": "user", "content": [{"type": "video", "video": "a.mp4"}]}], "must be"),
        ([{"role": "user", "content": [VIDEO, {"type": "text", "text": 3}]}], "is no string"),
        ([{"role": "user", "content": ["<video>"]}], r"content\[0\] is no object"),
        ([{"role": "user", "content": None}], "a text or a list of parts"),
        ([{"role": "user"}], "a text or a list of parts"),
    ],
)
def test_what_no_row_can_hold(messages: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        normal_prompt(messages)
