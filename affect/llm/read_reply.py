"""From a reply's text to a checked value, or the reason why it cannot be used. Nothing is mended.

    >>> class Tag(BaseModel):
    ...     genre: str
    >>> read_reply(Reply('{"genre": "Sports"}', "complete"), Tag).genre
    'Sports'
    >>> read_reply(Reply('{"genre": "Sports", "genre": "Horror"}', "complete"), Tag)
    Traceback (most recent call last):
    affect.llm.read_reply.UnusableReplyError: off_schema: the key 'genre' is written twice or more

A reply is one JSON object and nothing else but white space. Where the server was given no schema, a
code fence around that one object is allowed too, since models write it by habit and it says
nothing; prose before or after is not, because then it is a guess which part was meant.
"""

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from affect.json_object import BrokenObject, JsonObject, decode, scan_object
from affect.llm.chat import FailureKind, ReplyT, TooLongError
from affect.llm.reply import Reply

MAX_REASONS = 5
"""So many mistakes are told at once: the first ones usually cause the rest."""

_FENCED = re.compile(r"```[A-Za-z]*[ \t]*\r?\n(.*)\n[ \t]*```", re.DOTALL)


class UnusableReplyError(Exception):
    """kind: of `FAILURE_KINDS`. reason: in words that the model which wrote it can act on."""

    def __init__(self, kind: FailureKind, reason: str) -> None:
        super().__init__(kind, reason)
        self.kind: FailureKind = kind
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}"


def read_reply(
    reply: Reply,
    reply_type: type[ReplyT],
    check: Callable[[ReplyT], None] | None = None,
    allow_fence: bool = False,
) -> ReplyT:
    """The reply as `reply_type`, read strictly: unknown and repeated keys, numbers that are not
    finite and values of another type ("3" for 3) are refused. Raises UnusableReplyError.
    """
    if reply.finish == "cut_off":
        raise UnusableReplyError("cut_off", "the reply was cut off at the token limit")
    if reply.finish == "refused":
        detail = f": {reply.detail}" if reply.detail else ""
        raise UnusableReplyError("refused", f"the request was refused{detail}")
    if reply.finish == "empty":
        raise UnusableReplyError("empty", "the reply had no text")
    value = _validated(_the_object(reply.text, allow_fence), reply_type)
    if check is not None:
        try:
            check(value)
        except TooLongError as error:
            raise UnusableReplyError("too_long", str(error)) from None
        except ValueError as error:
            raise UnusableReplyError("off_schema", str(error)) from None
    return value


def _the_object(text: str, allow_fence: bool) -> str:
    """The text of the one object that the reply is."""
    stripped = text.strip()
    if allow_fence and (fenced := _FENCED.fullmatch(stripped)):
        stripped = fenced.group(1).strip()
    if not stripped.startswith("{"):
        raise _off_schema("the reply must be one JSON object and nothing else around it")
    found = scan_object(stripped, 0)
    if isinstance(found, BrokenObject):
        raise _off_schema(f"the reply is no complete JSON object: {found.reason}")
    if found.end < len(stripped):
        raise _off_schema("the reply goes on after its JSON object; nothing may follow it")
    for name, value in _walk(decode(stripped)):
        if isinstance(value, JsonObject) and value.repeated_keys:
            raise _off_schema(f"the key {value.repeated_keys[0]!r} is written twice or more")
        if isinstance(value, float) and not math.isfinite(value):
            raise _off_schema(f"{name}: the number is not finite")
    return stripped


def _validated(text: str, reply_type: type[ReplyT]) -> ReplyT:
    try:
        return reply_type.model_validate_json(text, strict=True, extra="forbid")
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False, include_input=False)
        told = [
            f"{'.'.join(str(part) for part in one['loc']) or 'the object'}: {one['msg']}"
            for one in wrong[:MAX_REASONS]
        ]
        if len(wrong) > MAX_REASONS:
            told.append(f"and {len(wrong) - MAX_REASONS} more")
        raise _off_schema("; ".join(told)) from None


def _walk(value: Any, name: str = "the object") -> Iterator[tuple[str, Any]]:
    """Every value within, with where it stands. As deep as `scan_object` lets anything be."""
    yield name, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _walk(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner, name)


def _off_schema(reason: str) -> UnusableReplyError:
    return UnusableReplyError("off_schema", reason)
