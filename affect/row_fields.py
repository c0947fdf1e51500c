"""A stored row read field by field, to the end: what it says, and everything that is wrong with it.

    >>> examined = examine_object({"video": "../a.mp4", "conversations": []}, 0.15)
    >>> [fault.field for fault in examined.faults]
    ['id', 'video_duration', 'conversations', 'video']

`affect.row_formats` makes rows of it and refuses the first fault; whoever reports on a whole file
lists them all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from affect.field_error import AnswerError, FieldError, shown
from affect.messages import (
    VIDEO_MARK,
    Message,
    message_from_text,
    normal_prompt,
    text_from_parts,
)
from affect.parsing import parse_reply
from affect.row import OWN_FIELDS, Row, check_duration, check_id, check_source
from affect.timeline import Timeline
from affect.video_path import check_video_path

P = ParamSpec("P")
T = TypeVar("T")

SFT_ROLES = {"system": "system", "human": "user", "gpt": "assistant"}
GRPO_ROLES = {"system": "system", "user": "user"}
_NOTHING = "nothing"


@dataclass(frozen=True)
class ExaminedRow:
    """What could be read of a stored object, field by field, and everything that is wrong with it.

    A field that is missing or wrong is None; so is `row` then, and so is a `prompt` or `timeline`
    that hangs on it. `answer_field` names where the answer stands, None where there is none.
    """

    faults: tuple[FieldError, ...]
    row: Row | None
    id: str | None
    video: str | None
    duration_seconds: float | None
    prompt: tuple[Message, ...] | None
    timeline: Timeline | None
    answer_field: str | None


def examine_object(stored: Mapping[str, Any], tolerance_seconds: float) -> ExaminedRow:
    """Read an SFT or GRPO object, whatever is wrong with it; a field that is null counts as absent.

    Never raises because of the object.
    """
    own = {key: stored[key] for key in OWN_FIELDS if stored.get(key) is not None}
    faults: list[FieldError] = []
    row_id = _checked(faults, _id, own)
    duration_seconds = _checked(faults, _duration, own)
    form = _checked(faults, _form, own)
    turns: list[Message | None] = []
    answer: Any = None
    answer_field: str | None = None
    if form == "conversations":
        for name in ("videos", "solution"):
            if name in own:
                faults.append(_misplaced(name, own[name]))
        turns = _turns(faults, own[form], form, "from", "value", SFT_ROLES)
        last = turns[-1] if turns else None
        if last is not None and last["role"] == "assistant":
            turns.pop()
            answer = text_from_parts(last["content"])
            answer_field = f"{form}[{len(turns)}].value"
    elif form == "messages":
        turns = _turns(faults, own[form], form, "role", "content", GRPO_ROLES)
        answer = own.get("solution")
        answer_field = None if answer is None else "solution"
    prompt = None
    messages = [turn for turn in turns if turn is not None]
    if form is not None and isinstance(own[form], list) and len(messages) == len(turns):
        prompt = _checked(faults, _prompt, form, messages)
    timeline = None
    if answer_field is not None:
        timeline = _checked(
            faults, _timeline, answer, answer_field, duration_seconds, tolerance_seconds
        )
    video = _checked(faults, _video, own, form)
    source = _checked(faults, _source, own)
    row = None
    if not faults:
        assert row_id is not None and video is not None
        assert duration_seconds is not None and prompt is not None
        row = Row(
            id=row_id,
            video=video,
            duration_seconds=duration_seconds,
            source=source,
            prompt=prompt,
            timeline=timeline,
            extra={key: value for key, value in stored.items() if key not in OWN_FIELDS},
            video_key="video" if "messages" in own and "video" in own else "videos",
            stored_answer=answer,
        )
    return ExaminedRow(
        faults=tuple(faults),
        row=row,
        id=row_id,
        video=video,
        duration_seconds=duration_seconds,
        prompt=prompt,
        timeline=timeline,
        answer_field=answer_field,
    )


def _checked(
    faults: list[FieldError], check: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T | None:
    """What the check returns; None where it finds a fault, which goes to the list."""
    try:
        return check(*args, **kwargs)
    except FieldError as error:
        faults.append(error)
        return None


def _refused(error: ValueError, found: object, expected: str) -> FieldError:
    """The fault of a check that raises `FIELD: what is wrong`."""
    field, _, reason = str(error).partition(": ")
    return FieldError(field, reason, found=shown(found), expected=expected)


def _id(own: Mapping[str, Any]) -> str:
    if "id" not in own:
        raise FieldError(
            "id", "missing; every row needs its own", found=_NOTHING, expected="a text"
        )
    try:
        return check_id(own["id"])
    except ValueError as error:
        raise _refused(error, own["id"], "a text that is not blank") from error


def _duration(own: Mapping[str, Any]) -> float:
    expected = "seconds above 0"
    if "video_duration" not in own:
        reason = "missing; it is not inferred from the answer's end"
        raise FieldError("video_duration", reason, found=_NOTHING, expected=expected)
    try:
        return check_duration(own["video_duration"])
    except ValueError as error:
        raise _refused(error, own["video_duration"], expected) from error


def _source(own: Mapping[str, Any]) -> str | None:
    try:
        return check_source(own.get("source"))
    except ValueError as error:
        raise _refused(error, own["source"], "a text, or nothing") from error


def _form(own: Mapping[str, Any]) -> str:
    present = [name for name in ("conversations", "messages") if name in own]
    if len(present) != 1:
        raise FieldError(
            "conversations",
            "an SFT row has this field, a GRPO row has `messages`",
            found=" and ".join(present) or _NOTHING,
            expected="one of conversations (SFT) and messages (GRPO)",
        )
    return present[0]


def _misplaced(name: str, value: object) -> FieldError:
    reason = "a field of GRPO rows, not of SFT rows"
    return FieldError(name, reason, found=shown(value), expected=f"no {name} on an SFT row")


def _video(own: Mapping[str, Any], form: str | None) -> str:
    present = [name for name in ("video", "videos") if name in own]
    if len(present) != 1 and not (form == "conversations" and "video" in own):
        raise FieldError(
            "video",
            "exactly one of `video` and `videos` is needed",
            found=" and ".join(present) or _NOTHING,
            expected="one path",
        )
    video = own.get("video")
    if video is None:
        videos = own["videos"]
        if not (isinstance(videos, list) and len(videos) == 1):
            raise FieldError(
                "videos",
                f"a list of exactly one path is needed, not {videos!r}",
                found=shown(videos),
                expected="a list of exactly one path",
            )
        video = videos[0]
    try:
        return check_video_path(video)
    except ValueError as error:
        raise _refused(error, video, "a path under the video folder") from error


def _turns(
    faults: list[FieldError],
    turns: Any,
    place: str,
    role_key: str,
    text_key: str,
    roles: Mapping[str, str],
) -> list[Message | None]:
    """The messages, None for a turn that is wrong."""
    if not isinstance(turns, list):
        expected = "a list of turns"
        faults.append(
            FieldError(place, f"{expected} is needed", found=shown(turns), expected=expected)
        )
        return []
    return [
        _checked(faults, _turn, turn, f"{place}[{index}]", role_key, text_key, roles)
        for index, turn in enumerate(turns)
    ]


def _turn(turn: Any, here: str, role_key: str, text_key: str, roles: Mapping[str, str]) -> Message:
    if not isinstance(turn, dict):
        raise FieldError(here, "an object is needed", found=shown(turn), expected="an object")
    present = {key: value for key, value in turn.items() if value is not None}
    if set(present) != {role_key, text_key}:
        names = sorted(present)
        raise FieldError(
            here,
            f"has {names} instead of {[role_key, text_key]}",
            found=f"the fields {', '.join(names) or _NOTHING}",
            expected=f"the fields {role_key} and {text_key}",
        )
    role, content = roles.get(str(present[role_key])), present[text_key]
    if role is None:
        raise FieldError(
            f"{here}.{role_key}",
            f"{present[role_key]!r} is none of {list(roles)}",
            found=shown(present[role_key]),
            expected=f"one of {', '.join(roles)}",
        )
    if isinstance(content, list) and text_key == "content":
        try:
            content = text_from_parts(content)
        except ValueError as error:
            raise FieldError(
                f"{here}.{text_key}",
                str(error),
                found=shown(content),
                expected="a text, or parts of type video and text",
            ) from error
    if not isinstance(content, str):
        raise FieldError(
            f"{here}.{text_key}", "a text is needed", found=shown(content), expected="a text"
        )
    return message_from_text(role, content)


def _prompt(place: str, turns: Sequence[Message]) -> tuple[Message, ...]:
    try:
        return normal_prompt(turns)
    except ValueError as error:
        found = ", ".join(
            f"{turn['role']} ({text_from_parts(turn['content']).count(VIDEO_MARK)} {VIDEO_MARK})"
            for turn in turns
        )
        raise FieldError(
            place,
            str(error),
            found=found or "no turns",
            expected=f"at most one system turn, one user turn, with one {VIDEO_MARK} in it",
        ) from error


def _timeline(
    answer: Any, place: str, duration_seconds: float | None, tolerance_seconds: float
) -> Timeline | None:
    """The timeline of an answer; None where the row does not say how long the clip is."""
    if not isinstance(answer, str):
        expected = "the JSON text of the answer, as one string"
        raise FieldError(
            place,
            "the JSON text of the answer is needed, as one string",
            found=shown(answer),
            expected=expected,
        )
    parsed = parse_reply(answer, duration_seconds or 1.0, tolerance_seconds=tolerance_seconds)
    faults = parsed.faults
    if duration_seconds is None:  # Where the answer should end is the one thing not known then.
        faults = tuple(fault for fault in faults if not fault.startswith("end:"))
    if faults:
        raise AnswerError(place, faults)
    return None if duration_seconds is None else parsed.timeline
