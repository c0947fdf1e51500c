"""Reading a model's reply: what it says, leniently, and whether it is a timeline, strictly.

One parse per reply, used by rewards and metrics alike:

    >>> reply = '{"segments": [{"start_time": 0.0, "end_time": 5.0, "emotion": "Joy",'
    >>> reply += ' "reason": "They dance, so the viewer is happy."}]}'
    >>> parse_reply(reply, 5.0).timeline.segments[0].emotion
    'Joy'
    >>> fenced = parse_reply(f"```json\\n{reply}\\n```", 5.0)
    >>> fenced.timeline, len(fenced.segments), fenced.faults[0].split(":")[0]
    (None, 1, 'surrounding_text')

**Which object.** The reply's answer is the last complete top-level JSON object that has the key
"segments" (`affect.json_object` says what complete and top-level mean). Prose, a code fence and
a think block around it are skipped, and so are other objects.

**Lenient**, `segments`: of that object, the entries of the list "segments" in their order that
are objects with finite numbers as "start_time" and "end_time" and strings as "emotion" and
"reason"; the first `MAX_SEGMENTS` of them. Overlaps, wrong order and reversed times stay as
written, an unknown label too; a known spelling becomes the canonical one. Of a repeated key the
last value counts. Nothing is repaired: no trailing comma, no number in quotes, no open bracket.

**Strict**, `timeline`: the whole reply, except for JSON white space around it, is that object;
exactly the schema's keys, each once; every entry as above; and the invariants of a `Timeline`.
Otherwise it is None and `faults` says what is wrong, each text beginning with the fault's name
and a colon: `blank`, `too_long`, `no_object`, `surrounding_text`, `missing_key`, `extra_key`,
`duplicate_key`, `wrong_type`, `not_finite`, and those of `timeline_faults`; `more` ends a list
that was cut at `MAX_FAULTS`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from affect.json_object import JsonObject, decode, decode_whole, find_objects, scan_object
from affect.taxonomy import canonical_dar_emotion
from affect.timeline import (
    BOUNDARY_TOLERANCE_SECONDS,
    MAX_SEGMENTS,
    Segment,
    Timeline,
    timeline_faults,
)

MAX_REPLY_CHARACTERS = 200_000
"""A longer reply is not read at all: no segments, the fault `too_long`."""

MAX_FAULTS = 64
"""So many faults are listed; `more` counts the others."""

_WHITE_SPACE = " \t\n\r"
_TIMELINE_FAULTS = frozenset({"start", "gap", "overlap", "no_length", "end", "repeated_emotion"})
_SEGMENT_KEYS = ("start_time", "end_time", "emotion", "reason")


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A reply (`text`) to a clip of `duration_seconds`, as read by `parse_reply`.

    `segments` are the lenient ones; `timeline` is set only when the strict parse holds, and then
    has the same segments; `faults` is empty exactly then. `num_tokens` is the reply's length in
    the model's tokens where the caller knows it.
    """

    segments: tuple[Segment, ...]
    timeline: Timeline | None
    faults: tuple[str, ...]
    duration_seconds: float
    num_tokens: int | None
    text: str

    @property
    def fits_schema(self) -> bool:
        """Whether the reply is one JSON object in the schema, however wrong what it says is.

        Then all that may be at fault is the timeline: times that do not fit each other or the
        clip, or neighbours of one emotion.
        """
        return all(fault.partition(":")[0] in _TIMELINE_FAULTS for fault in self.faults)


def parse_reply(
    text: str,
    duration_seconds: float,
    num_tokens: int | None = None,
    *,
    tolerance_seconds: float = BOUNDARY_TOLERANCE_SECONDS,
) -> ParsedReply:
    """Read one reply. Never raises because of `text`, and takes time linear in its length.

    Raises ValueError for a duration that is not finite and positive: that is the row's mistake.
    """
    if not (math.isfinite(duration_seconds) and duration_seconds > 0):
        raise ValueError(f"a clip cannot last {duration_seconds!r} s")
    segments, faults = _read(text, duration_seconds, tolerance_seconds)
    if len(faults) > MAX_FAULTS:
        faults = (*faults[:MAX_FAULTS], f"more: {len(faults) - MAX_FAULTS} further faults")
    # No fault means that `timeline_faults` found none either: it is not asked again.
    timeline = (
        None if faults else Timeline.already_checked(segments, duration_seconds, tolerance_seconds)
    )
    return ParsedReply(segments, timeline, faults, duration_seconds, num_tokens, text)


def _read(
    text: str, duration_seconds: float, tolerance_seconds: float
) -> tuple[tuple[Segment, ...], tuple[str, ...]]:
    if len(text) > MAX_REPLY_CHARACTERS:
        fault = f"too_long: {len(text)} characters, at most {MAX_REPLY_CHARACTERS} are read"
        return (), (fault,)
    if not text.strip(_WHITE_SPACE):
        return (), ("blank: the reply is empty",)
    answer = _last_answer(text)
    if answer is None:
        return (), (_why_no_answer(text),)
    start, end, decoded = answer
    faults: list[str] = []
    before, after = text[:start].strip(_WHITE_SPACE), text[end:].strip(_WHITE_SPACE)
    if before or after:
        faults.append(
            f"surrounding_text: {len(before)} characters before the JSON object and "
            f"{len(after)} after it"
        )
    faults.extend(_key_faults(decoded, ("segments",), "the reply"))
    entries = decoded["segments"]
    if not isinstance(entries, list):
        faults.append(f"wrong_type: segments is {_type_name(entries)}, not a list")
        return (), tuple(faults)
    if len(entries) > MAX_SEGMENTS:
        faults.append(f"too_many: {len(entries)} segments, at most {MAX_SEGMENTS} are allowed")
    segments: list[Segment] = []
    for index, entry in enumerate(entries):
        if len(segments) == MAX_SEGMENTS:
            break
        segment = _segment(entry)
        if segment is not None:
            segments.append(segment)
        # An entry that could be read is at fault only by a key too many.
        if segment is None or len(entry) > len(_SEGMENT_KEYS) or entry.repeated_keys:
            faults.extend(_entry_faults(entry, f"segments[{index}]"))
    # With an entry missing, indices and gaps would be those of other segments.
    if len(segments) == len(entries):
        faults.extend(timeline_faults(segments, duration_seconds, tolerance_seconds))
    return tuple(segments), tuple(faults)


def _last_answer(text: str) -> tuple[int, int, JsonObject] | None:
    whole = decode_whole(text)
    if whole is not None:
        return (0, len(text), whole) if "segments" in whole else None
    for found in reversed(list(find_objects(text))):
        decoded = decode(text[found.start : found.end])
        if "segments" in decoded:
            return found.start, found.end, decoded
    return None


def _why_no_answer(text: str) -> str:
    start = len(text) - len(text.lstrip(_WHITE_SPACE))
    if text[start] == "{":
        scanned = scan_object(text, start)
        reason = getattr(scanned, "reason", None)
        if reason is not None:
            return f"no_object: the object is not complete JSON: {reason}"
        return 'missing_key: the reply has no "segments"'
    return 'no_object: the reply holds no complete JSON object with "segments"'


def _segment(entry: Any) -> Segment | None:
    if not isinstance(entry, JsonObject):
        return None
    get = entry.get
    start, end, emotion, reason = get("start_time"), get("end_time"), get("emotion"), get("reason")
    # `decode` makes a float of every JSON number and of nothing else.
    if not (isinstance(start, float) and isinstance(end, float)):
        return None
    if not (isinstance(emotion, str) and isinstance(reason, str)):
        return None
    if not (math.isfinite(start) and math.isfinite(end)):
        return None
    return Segment(start, end, canonical_dar_emotion(emotion) or emotion, reason)


def _entry_faults(entry: Any, place: str) -> Iterator[str]:
    if not isinstance(entry, JsonObject):
        yield f"wrong_type: {place} is {_type_name(entry)}, not an object"
        return
    yield from _key_faults(entry, _SEGMENT_KEYS, place)
    for key in ("start_time", "end_time"):
        if key in entry:
            value = entry[key]
            if not isinstance(value, float):
                yield f"wrong_type: {place}.{key} is {_type_name(value)}, not a number"
            elif not math.isfinite(value):
                yield f"not_finite: {place}.{key} is no finite number"
    for key in ("emotion", "reason"):
        if key in entry and not isinstance(entry[key], str):
            yield f"wrong_type: {place}.{key} is {_type_name(entry[key])}, not a string"


def _key_faults(decoded: JsonObject, keys: tuple[str, ...], place: str) -> Iterator[str]:
    for key in keys:
        if key not in decoded:
            yield f'missing_key: {place} has no "{key}"'
    extra = [key for key in decoded if key not in keys]
    if extra:
        others = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
        yield f"extra_key: {place} has {extra[0][:40]!r}{others}"
    if decoded.repeated_keys:
        yield f"duplicate_key: {place} writes {decoded.repeated_keys[0][:40]!r} more than once"


def _type_name(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "a boolean", float: "a number", str: "a string", list: "a list"}
    return names.get(type(value), "an object")
