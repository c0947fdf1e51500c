"""Finding complete JSON objects in any text: one pass, bounded depth, no exception.

A model's reply may be a JSON object, or hold one among prose, a code fence or a think block, or
be 100,000 opening brackets. `json.loads` alone would raise RecursionError on the last, accept
duplicate keys, and say nothing about where in a text an object stands. Here:

    >>> [(found.start, found.end) for found in find_objects('so {"a": [1, 2]} it is {oops')]
    [(3, 16)]
    >>> decode('{"a": 1, "a": 2}').repeated_keys
    ('a',)

The grammar is JSON's (RFC 8259) with `NaN`, `Infinity` and `-Infinity` as Python writes them, so
that a reply holding them can be read and refused by name. The text is read once, left to right:
outside an object everything up to the next `{` is skipped; where an object cannot go on, it was
none, and reading goes on from that place. So braces inside what was already read, for example in
a finished string of a broken object, do not start another object, and the cost is linear.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 16
"""Nesting that is still read. A timeline needs 3."""

_TOKEN = re.compile(
    r"""[ \t\n\r]*+(?:
        (?P<string>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")
      | (?P<scalar>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?
          | true | false | null | NaN | -?Infinity)
      | (?P<mark>[\[\]{},:])
    )""",
    re.VERBOSE,
)

# What may come next inside an object or array.
_KEY, _KEY_OR_END, _COLON, _VALUE, _VALUE_OR_END, _COMMA_OR_END = range(6)


@dataclass(frozen=True, slots=True)
class FoundObject:
    """A complete object: `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class BrokenObject:
    """Where an object that began at `start` could not go on, and why."""

    start: int
    stop: int
    reason: str


class JsonObject(dict[str, Any]):
    """A decoded object that remembers which of its keys were written more than once."""

    repeated_keys: tuple[str, ...] = ()


def find_objects(text: str) -> Iterator[FoundObject]:
    """Yield the complete top-level objects of the text, first to last."""
    position = text.find("{")
    while position >= 0:
        scanned = scan_object(text, position)
        if isinstance(scanned, FoundObject):
            yield scanned
            position = text.find("{", scanned.end)
        else:
            position = text.find("{", max(scanned.stop, position + 1))


def scan_object(text: str, start: int) -> FoundObject | BrokenObject:
    """Return the complete object that begins with the `{` at `start`, or where it breaks off."""
    assert text[start] == "{", start
    closers = ["}"]
    position, expected = start + 1, _KEY_OR_END
    while True:
        token = _TOKEN.match(text, position)
        if token is None:
            return BrokenObject(start, *_what_breaks(text, position))
        kind = token.lastgroup
        assert kind is not None, token
        token_start = token.start(kind)
        position = token.end()
        mark = token.group("mark")
        following: int | None = None
        if kind == "string" and expected in (_KEY, _KEY_OR_END):
            following = _COLON
        elif kind in ("string", "scalar") and expected in (_VALUE, _VALUE_OR_END):
            following = _COMMA_OR_END
        elif mark == ":" and expected == _COLON:
            following = _VALUE
        elif mark == "," and expected == _COMMA_OR_END:
            following = _KEY if closers[-1] == "}" else _VALUE
        elif mark in ("{", "[") and expected in (_VALUE, _VALUE_OR_END):
            if len(closers) == MAX_DEPTH:
                reason = f"it nests deeper than {MAX_DEPTH}"
                return BrokenObject(start, token_start, reason)
            closers.append("}" if mark == "{" else "]")
            following = _KEY_OR_END if mark == "{" else _VALUE_OR_END
        elif mark == closers[-1] and expected in (_KEY_OR_END, _VALUE_OR_END, _COMMA_OR_END):
            closers.pop()
            if not closers:
                return FoundObject(start, position)
            following = _COMMA_OR_END
        if following is None:
            reason = f"{token.group(kind)[:20]!r} cannot stand at character {token_start}"
            return BrokenObject(start, token_start, reason)
        expected = following


def decode(text: str) -> JsonObject:
    """Decode the text of one complete object that `scan_object` found.

    Every number becomes a float, so `1e999` and an integer of 5,000 digits become infinite
    instead of raising; of a repeated key the last value stays and the key is remembered.
    """
    decoded = _DECODER.decode(text)
    assert isinstance(decoded, JsonObject), text[:40]
    return decoded


def decode_whole(text: str) -> JsonObject | None:
    """Decode a text that is one object and nothing else but white space around it.

    What nearly every reply is, and by far the quickest to read: it is not scanned first. None says
    nothing about the text, which may hold objects all the same: `find_objects` tells.
    """
    # So few brackets can't nest too deep, wherever they stand.
    if text.count("{") + text.count("[") > MAX_DEPTH:
        return None
    try:
        decoded = _DECODER.decode(text)
    except json.JSONDecodeError:
        return None
    return decoded if isinstance(decoded, JsonObject) else None


def _from_pairs(pairs: list[tuple[str, Any]]) -> JsonObject:
    decoded = JsonObject(pairs)
    if len(decoded) < len(pairs):
        seen: set[str] = set()
        repeated = [key for key, _ in pairs if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
        decoded.repeated_keys = tuple(dict.fromkeys(repeated))
    return decoded


_DECODER = json.JSONDecoder(
    object_pairs_hook=_from_pairs, parse_int=float, parse_float=float, parse_constant=float
)


def _what_breaks(text: str, position: int) -> tuple[int, str]:
    while position < len(text) and text[position] in " \t\n\r":
        position += 1
    if position == len(text):
        return position, "the text ends inside it"
    if text[position] == '"':
        return position, f"the string at character {position} does not end or is no JSON string"
    return position, f"{text[position]!r} cannot stand at character {position}"
