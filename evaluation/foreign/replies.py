"""Which row an entry of another system's file means, and what it replies.

    {"videos": ["clips/a.mp4"], "response": "{\\"segments\\": ...}", "messages": [...]}    ms-swift
    {"video_id": "a", "segments": [{"start_time": 0.0, ...}]}                    structured
    {"id": "a", "response": null, "error": "timeout"}                            a failed row
    video,start,end,emotion,reason                                               one line a segment

Texts are taken as they came. A structured reply becomes JSON text exactly as it was written; a
list of segments gets `{"segments": ...}` around it. Two fields with different replies are refused
until --reply-field says which one it is.

Example: `read_answer(entry, None).answer.text`
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from evaluation.foreign.csv_table import END, NUMBER, START, SUFFIXES, read_csv
from evaluation.foreign.json_entries import Entry, Member, read_json_entries
from evaluation.predictions import Answer

ID_FIELDS = ("id", "video_id", "video", "videos", "path")
"""In this order; the first that is not null counts."""
REPLY_FIELDS = ("text", "response", "prediction", "output", "answer", "raw_output")
MESSAGES, SEGMENTS, ERROR, KEY = "messages", "segments", "error", "key"
_OWN_FIELDS = frozenset({"id", "text", "num_tokens", "finished", "error"})
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_PLAIN_NUMBER = re.compile(rf"{NUMBER}|[+-]?nan|[+-]?inf")

Kind = Literal["text", "structured", "failed"]


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """answer: as in our files of predictions. field: where it stood; None for a failure."""

    answer: Answer
    kind: Kind
    field: str | None


def read_entries(
    path: Path, format_name: str = "auto", id_field: str | None = None
) -> Iterator[Entry]:
    """Yield a file's entries; of a CSV of segments one for each id, in the order they first appear.

    format_name: auto (by the file's name and look), json, jsonl or csv.
    Raises ValueError as `FILE:LINE: what is wrong`.
    """
    if format_name == "csv" or (format_name == "auto" and path.suffix.lower() in SUFFIXES):
        return _csv_entries(path, id_field)
    is_lines = {"auto": None, "json": False, "jsonl": True}[format_name]
    return read_json_entries(path, is_lines=is_lines)


def read_id(entry: Entry, id_field: str | None) -> tuple[str, str]:
    """The id as text, and the field it stood in ("key": the entry's key in the file).

    Raises ValueError where no field, or the named one, holds an id.
    """
    if id_field is None and entry.key is not None:
        return entry.key, KEY
    names = ID_FIELDS if id_field is None else (id_field,)
    name = next((one for one in names if entry.present(one)), None)
    if name is None:
        raise ValueError(
            f"{entry.place}: no id: {_there(entry)}; looked for {', '.join(names)}; name the field "
            "with --id-field"
        )
    value = entry.members[name].value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and isinstance(value.get("path"), str):
        value = value["path"]
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not (isinstance(value, str) and value):
        raise ValueError(
            f"{entry.place}: {name}: an id or one path is needed, not "
            f"{entry.members[name].raw[:60]!r}"
        )
    return value, name


def read_answer(entry: Entry, reply_field: str | None) -> ReadAnswer:
    """What the entry replies, or why it has no reply.

    Raises ValueError where no field holds a reply, several hold different ones, or what is there is
    neither a text nor segments.
    """
    error = entry.members.get(ERROR)
    if error is not None and error.value not in (None, False, "", [], {}):
        reason = error.value if isinstance(error.value, str) else error.raw
        return ReadAnswer(Answer(None, error=reason), "failed", None)
    if reply_field is not None:
        if reply_field not in entry.members:
            raise ValueError(f"{entry.place}: there is no field {reply_field!r}: {_there(entry)}")
        return _reply(entry, reply_field)
    texts = [name for name in REPLY_FIELDS if entry.present(name)]
    if texts:
        first, *others = texts
        for other in others:
            if entry.members[other].value != entry.members[first].value:
                raise ValueError(
                    f"{entry.place}: {first} and {other} hold different things; say which one is "
                    "the reply with --reply-field"
                )
        return _reply(entry, first)
    for name in (MESSAGES, SEGMENTS):
        if entry.present(name):
            return _reply(entry, name)
    null = [name for name in (*REPLY_FIELDS, MESSAGES, SEGMENTS) if name in entry.members]
    if not null:
        looked = ", ".join((*REPLY_FIELDS, MESSAGES, SEGMENTS))
        raise ValueError(
            f"{entry.place}: no reply: {_there(entry)}; looked for {looked}; name the field with "
            "--reply-field"
        )
    return _reply(entry, null[0])


def _reply(entry: Entry, name: str) -> ReadAnswer:
    member = entry.members[name]
    value = member.value
    if name == MESSAGES:
        value = _last_turn(entry.place, value)
    if value is None:
        place = Path(entry.place).name
        return ReadAnswer(Answer(None, error=f"{name} is null in {place}"), "failed", None)
    if isinstance(value, str):
        return ReadAnswer(_text_answer(entry, value), "text", name)
    if name != MESSAGES and isinstance(value, list):
        return ReadAnswer(Answer(f'{{"segments": {member.raw}}}'), "structured", name)
    if name != MESSAGES and isinstance(value, dict) and "segments" in value:
        return ReadAnswer(Answer(member.raw), "structured", name)
    raise ValueError(
        f"{entry.place}: {name}: a text, a list of segments or an object with segments is needed, "
        f"not {member.raw[:60]!r}"
    )


def _text_answer(entry: Entry, text: str) -> Answer:
    """With the length and end that our own files tell; another's fields of that name may mean
    other things."""
    if not set(entry.members) <= _OWN_FIELDS:
        return Answer(text)
    values = {name: member.value for name, member in entry.members.items()}
    num_tokens, finished = values.get("num_tokens"), values.get("finished")
    is_count = isinstance(num_tokens, int) and not isinstance(num_tokens, bool)
    return Answer(
        text,
        num_tokens=num_tokens if is_count else None,
        finished=finished if isinstance(finished, bool) else None,
    )


def _last_turn(place: str, messages: Any) -> Any:
    """The text of the assistant's turn that ends a chat; None where it is null."""
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not (isinstance(last, dict) and last.get("role") == "assistant" and "content" in last):
        raise ValueError(f"{place}: messages: does not end with an assistant's turn")
    content = last["content"]
    if isinstance(content, list):
        parts = [part.get("text") if isinstance(part, dict) else None for part in content]
        if not all(isinstance(part, str) for part in parts):
            raise ValueError(f"{place}: messages: the assistant's turn holds more than text")
        content = "".join(str(part) for part in parts)
    return content


def _there(entry: Entry) -> str:
    names = ", ".join(repr(name)[:40] for name in list(entry.members)[:12])
    return f"the fields are {names or 'none'}"


# --- CSV -----------------------------------------------------------------------------------------


def _csv_entries(path: Path, id_field: str | None) -> Iterator[Entry]:
    table = read_csv(path)
    names = ID_FIELDS if id_field is None else (id_field.casefold(),)
    name = table.find(names)
    if name is None:
        raise ValueError(
            f"{path}:1: no column for the id: there are {table.names}; name it with --id-field"
        )
    start, end = table.find(START), table.find(END)
    if start is None and end is None:
        for line in table.lines:
            members = {key: Member(cell, json.dumps(cell)) for key, cell in line.cells.items()}
            yield Entry(line.place, members)
        return
    if start is None or end is None or "emotion" not in table.columns:
        raise ValueError(
            f"{path}:1: segments need the columns start, end and emotion; there are {table.names}"
        )
    groups: dict[str, list[str]] = {}
    places: dict[str, str] = {}
    for line in table.lines:
        cells = line.cells
        fields = {
            "start_time": _number(cells[start]),
            "end_time": _number(cells[end]),
            "emotion": json.dumps(cells["emotion"], ensure_ascii=False),
            # No column is no reason given, which is what an empty text says.
            "reason": json.dumps(cells.get("reason", ""), ensure_ascii=False),
        }
        written = ", ".join(f'"{field}": {text}' for field, text in fields.items())
        groups.setdefault(cells[name], []).append(f"{{{written}}}")
        places.setdefault(cells[name], line.place)
    for key, segments in groups.items():
        raw = f"[{', '.join(segments)}]"
        members = {name: Member(key, json.dumps(key)), SEGMENTS: Member(json.loads(raw), raw)}
        yield Entry(places[key], members)


def _number(cell: str) -> str:
    """A cell as JSON: a number as it is spelt, what is none as a text for the scorer to see."""
    text = cell.strip()
    if _JSON_NUMBER.fullmatch(text):
        return text
    if _PLAIN_NUMBER.fullmatch(text.lower()):
        value = float(text)
        return json.dumps(value) if not math.isnan(value) else "NaN"
    return json.dumps(cell, ensure_ascii=False)
