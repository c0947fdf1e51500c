"""One `Row` and the two JSON objects that store it: the released SFT form and ms-swift's GRPO form.

    >>> stored = {"id": "a", "video": "a.mp4", "video_duration": 2.0, "conversations": [
    ...     {"from": "human", "value": "<video>\\nSegment this silent video."}]}
    >>> row = row_from_object(stored, RELEASED_TOLERANCE_SECONDS)
    >>> grpo_object(row)["videos"], sft_object(row) == stored
    (['a.mp4'], True)

Nothing is dropped or guessed on the way: a field, role or part that has no place in a row is
refused by name.
"""

from collections.abc import Mapping
from typing import Any

from affect.messages import text_from_parts
from affect.parsing import parse_reply
from affect.row import Row
from affect.row_fields import SFT_ROLES, examine_object
from affect.timeline import RELEASED_TOLERANCE_SECONDS


def row_from_object(stored: Mapping[str, Any], tolerance_seconds: float) -> Row:
    """Return the row that a stored SFT or GRPO object describes.

    A field that is null counts as absent, as Arrow writes it. Raises ValueError as
    `FIELD: what is wrong` for the first thing that is.
    """
    examined = examine_object(stored, tolerance_seconds)
    if examined.row is None:
        raise examined.faults[0]
    return examined.row


def sft_object(row: Row) -> dict[str, Any]:
    """Return the row as the released SFT format stores it."""
    names = {role: name for name, role in SFT_ROLES.items()}
    turns = [
        {"from": names[message["role"]], "value": text_from_parts(message["content"])}
        for message in row.prompt
    ]
    answer = _answer(row)
    if answer is not None:
        turns.append({"from": "gpt", "value": answer})
    return {"id": row.id, "video": row.video, **_head(row), "conversations": turns, **row.extra}


def grpo_object(row: Row) -> dict[str, Any]:
    """Return the row as ms-swift's GRPO format stores it, with `video_duration` beside it."""
    turns = [
        {"role": message["role"], "content": text_from_parts(message["content"])}
        for message in row.prompt
    ]
    answer = _answer(row)
    return {
        "id": row.id,
        "messages": turns,
        row.video_key: row.video if row.video_key == "video" else [row.video],
        **_head(row),
        **({} if answer is None else {"solution": answer}),
        **row.extra,
    }


def _head(row: Row) -> dict[str, Any]:
    source = {} if row.source is None else {"source": row.source}
    return {"video_duration": row.duration_seconds, **source}


def _answer(row: Row) -> str | None:
    if row.timeline is None:
        return None
    if row.stored_answer is not None:
        stored = parse_reply(
            row.stored_answer,
            row.duration_seconds,
            tolerance_seconds=max(RELEASED_TOLERANCE_SECONDS, row.timeline.tolerance_seconds),
        )
        if stored.timeline == row.timeline:
            return row.stored_answer
    return row.timeline.to_json()
