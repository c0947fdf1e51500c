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

from affect.messages import Message, message_from_text, normal_prompt, text_from_parts
from affect.parsing import parse_reply
from affect.row import OWN_FIELDS, Row, check_duration
from affect.timeline import RELEASED_TOLERANCE_SECONDS, Timeline

_SFT_ROLES = {"system": "system", "human": "user", "gpt": "assistant"}
_GRPO_ROLES = {"system": "system", "user": "user"}


def row_from_object(stored: Mapping[str, Any], tolerance_seconds: float) -> Row:
    """Return the row that a stored SFT or GRPO object describes.

    A field that is null counts as absent, as Arrow writes it. Raises ValueError as
    `FIELD: what is wrong`.
    """
    own = {key: stored[key] for key in OWN_FIELDS if stored.get(key) is not None}
    if ("conversations" in own) == ("messages" in own):
        raise ValueError("conversations: an SFT row has this field, a GRPO row has `messages`")
    if "id" not in own:
        raise ValueError("id: missing; every row needs its own")
    if "video_duration" not in own:
        raise ValueError("video_duration: missing; it is not inferred from the answer's end")
    duration_seconds = check_duration(own["video_duration"])
    if "conversations" in own:
        for name in ("videos", "solution"):
            if name in own:
                raise ValueError(f"{name}: a field of GRPO rows, not of SFT rows")
        place = "conversations"
        turns = _turns(own[place], place, "from", "value", _SFT_ROLES)
        answer, answer_place = None, f"{place}[{len(turns) - 1}].value"
        if turns and turns[-1]["role"] == "assistant":
            answer = text_from_parts(turns.pop()["content"])
    else:
        place = "messages"
        turns = _turns(own[place], place, "role", "content", _GRPO_ROLES)
        answer, answer_place = own.get("solution"), "solution"
    try:
        prompt = normal_prompt(turns)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error
    timeline = None
    if answer is not None:
        timeline = _timeline(answer, answer_place, duration_seconds, tolerance_seconds)
    return Row(
        id=own["id"],
        video=_video(own),
        duration_seconds=duration_seconds,
        source=own.get("source"),
        prompt=prompt,
        timeline=timeline,
        extra={key: value for key, value in stored.items() if key not in OWN_FIELDS},
        video_key="video" if "messages" in own and "video" in own else "videos",
        stored_answer=answer,
    )


def sft_object(row: Row) -> dict[str, Any]:
    """Return the row as the released SFT format stores it."""
    names = {role: name for name, role in _SFT_ROLES.items()}
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


def _video(own: Mapping[str, Any]) -> Any:
    if ("video" in own) == ("videos" in own):
        raise ValueError("video: exactly one of `video` and `videos` is needed")
    if "video" in own:
        return own["video"]
    videos = own["videos"]
    if not (isinstance(videos, list) and len(videos) == 1):
        raise ValueError(f"videos: a list of exactly one path is needed, not {videos!r}")
    return videos[0]


def _turns(
    turns: Any, place: str, role_key: str, text_key: str, roles: Mapping[str, str]
) -> list[Message]:
    if not isinstance(turns, list):
        raise ValueError(f"{place}: a list of turns is needed")
    messages = []
    for index, turn in enumerate(turns):
        here = f"{place}[{index}]"
        if not isinstance(turn, dict):
            raise ValueError(f"{here}: an object is needed")
        present = {key: value for key, value in turn.items() if value is not None}
        if set(present) != {role_key, text_key}:
            raise ValueError(f"{here}: has {sorted(present)} instead of {[role_key, text_key]}")
        role, content = roles.get(str(present[role_key])), present[text_key]
        if role is None:
            raise ValueError(f"{here}.{role_key}: {present[role_key]!r} is none of {list(roles)}")
        if isinstance(content, list) and text_key == "content":
            try:
                content = text_from_parts(content)
            except ValueError as error:
                raise ValueError(f"{here}.{text_key}: {error}") from error
        if not isinstance(content, str):
            raise ValueError(f"{here}.{text_key}: a text is needed")
        messages.append(message_from_text(role, content))
    return messages


def _timeline(
    answer: Any, place: str, duration_seconds: float, tolerance_seconds: float
) -> Timeline:
    if not isinstance(answer, str):
        raise ValueError(f"{place}: the JSON text of the answer is needed, as one string")
    parsed = parse_reply(answer, duration_seconds, tolerance_seconds=tolerance_seconds)
    if parsed.timeline is None:
        shown = "; ".join(parsed.faults[:5])
        more = f"; and {len(parsed.faults) - 5} more" if len(parsed.faults) > 5 else ""
        raise ValueError(f"{place}: not a timeline: {shown}{more}")
    return parsed.timeline


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
