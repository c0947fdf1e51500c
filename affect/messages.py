"""Chat messages with a video: between the text of a row and the parts that chat templates take.

A row marks the place of its clip by `<video>`; a template wants typed parts. The text around the
mark is kept to the last newline, so that both directions undo each other:

    >>> parts_from_text("<video>\\nWhat does the viewer feel?")
    [{'type': 'video'}, {'type': 'text', 'text': '\\nWhat does the viewer feel?'}]
    >>> text_from_parts(parts_from_text("<video>\\nWhat does the viewer feel?"))
    '<video>\\nWhat does the viewer feel?'
"""

from collections.abc import Mapping, Sequence
from typing import Any

VIDEO_MARK = "<video>"

Message = dict[str, Any]
"""`{"role": "system" | "user" | "assistant", "content": [part, ...]}`; a part is
`{"type": "video"}` or `{"type": "text", "text": ...}` and has no other keys."""


def prompt_from_text(human: str, system: str | None = None) -> tuple[Message, ...]:
    """Return the prompt of a human turn (with its `<video>` mark) after an optional system turn.

    Raises ValueError unless exactly one mark stands in the human turn and none in the system's.
    """
    messages = [] if system is None else [message_from_text("system", system)]
    return normal_prompt([*messages, message_from_text("user", human)])


def message_from_text(role: str, text: str) -> Message:
    """Return the message of one turn, its text split at the `<video>` marks."""
    return {"role": role, "content": parts_from_text(text)}


def parts_from_text(text: str) -> list[dict[str, str]]:
    """Split a turn's text at its `<video>` marks; no empty text parts."""
    parts: list[dict[str, str]] = []
    for index, piece in enumerate(text.split(VIDEO_MARK)):
        if index:
            parts.append({"type": "video"})
        if piece:
            parts.append({"type": "text", "text": piece})
    return parts


def text_from_parts(parts: Any) -> str:
    """Join a list of parts to the text of a turn. Raises ValueError for what no row can hold."""
    if not isinstance(parts, list | tuple):
        raise ValueError(f"content must be a text or a list of parts, not {parts!r}")
    pieces = []
    for index, part in enumerate(parts):
        if not isinstance(part, Mapping):
            raise ValueError(f"content[{index}] is no object")
        # Arrow gives every part of a list the keys of all, filled with None.
        present = {key: value for key, value in part.items() if value is not None}
        if present == {"type": "video"}:
            pieces.append(VIDEO_MARK)
        elif set(present) == {"type", "text"} and present["type"] == "text":
            if not isinstance(present["text"], str):
                raise ValueError(f"content[{index}].text is no string")
            if VIDEO_MARK in present["text"]:
                raise ValueError(
                    f"content[{index}] writes {VIDEO_MARK} inside a text part: "
                    'make it a part of its own, {"type": "video"}'
                )
            pieces.append(present["text"])
        else:
            raise ValueError(
                f'content[{index}] must be {{"type": "video"}} or {{"type": "text", "text": ...}}'
            )
    return "".join(pieces)


def normal_prompt(messages: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Return the messages in this module's form: typed parts without None keys, texts joined.

    A content may also be a text with `<video>` marks. Raises ValueError unless they are
    [system,] user, with exactly one video, in the user's turn.
    """
    roles = [message.get("role") for message in messages]
    if roles not in (["user"], ["system", "user"]):
        raise ValueError(f"one user turn after at most one system turn, not {roles}")
    normal = []
    for role, message in zip(roles, messages, strict=True):
        content = message.get("content")
        try:
            text = content if isinstance(content, str) else text_from_parts(content)
        except ValueError as error:
            raise ValueError(f"{role} turn: {error}") from error
        num_marks = text.count(VIDEO_MARK)
        if role == "system" and num_marks:
            raise ValueError(f"the system turn holds {VIDEO_MARK}; move it to the user's")
        if role == "user" and num_marks != 1:
            raise ValueError(
                f"the row has 1 video and its human turn {num_marks} {VIDEO_MARK} marks; "
                "write exactly one"
            )
        normal.append(message_from_text(str(role), text))
    return tuple(normal)
