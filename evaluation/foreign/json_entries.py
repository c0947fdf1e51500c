"""JSON files of other systems, entry by entry; of each value also the text it was written as.

    {"id": "a", "segments": [{"start_time": 0, "end_time": NaN}]}       one line of theirs.jsonl
    [{"id": "a", ...}, {"id": "b", ...}]                                theirs.json, a list
    {"a": {"segments": [...]}, "b": "a reply", "c": null}               theirs.json, keyed by id

A reply that is structured is scored as it was written, so its text is kept beside what it decodes
to: 1.50 stays 1.50, and NaN or a key written twice is for the scorer to see.

Example: `[entry.members["id"].value for entry in read_json_entries(path)]`
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any

from affect.jsonl import without_repeats

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHITE_SPACE = " \t\n\r"
_MAX_INT_DIGITS = 18
LINES_SUFFIXES = frozenset({".jsonl", ".ndjson"})


@dataclass(frozen=True, slots=True)
class Member:
    """What a field holds, decoded, and its text in the file."""

    value: Any
    raw: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One object of a file. place: `FILE:LINE`. key: in a file keyed by id, its key."""

    place: str
    members: Mapping[str, Member]
    key: str | None = None

    def present(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return name in self.members and self.members[name].value is not None


def read_json_entries(
    path: Path, *, is_lines: bool | None = None, refuse_repeats: bool = False
) -> Iterator[Entry]:
    """Yield the entries of a file; JSON Lines are read line by line, a document as a whole.

    Args:
        is_lines: None goes by the name (.jsonl, .ndjson) and, for others, by whether the first line
            is an object by itself with more after it.
        refuse_repeats: an object anywhere within that writes a key twice is refused; else only one
            at the level of the entry is.

    Raises:
        ValueError: `FILE:LINE: what is wrong`.
    """
    decoder = _STRICT if refuse_repeats else _LENIENT
    if is_lines is None:
        is_lines = path.suffix.lower() in LINES_SUFFIXES or _holds_lines(path)
    return _lines(path, decoder) if is_lines else _document(path, decoder)


def decode_utf8(data: bytes, path: Path, first_line: int = 1) -> str:
    """The text of bytes that begin on `first_line`. Raises ValueError by file and line."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first_line + data.count(b"\n", 0, error.start)
        raise ValueError(
            f"{path}:{line}: not UTF-8 (byte {data[error.start]:#04x}); save the file as UTF-8"
        ) from error


def read_utf8(path: Path) -> str:
    """A whole file without its byte order mark. Raises ValueError by file and line."""
    return decode_utf8(path.read_bytes().removeprefix(_BYTE_ORDER_MARK), path)


def _holds_lines(path: Path) -> bool:
    with open(path, "rb") as file:
        first = b""
        for line in file:
            line = line.removeprefix(_BYTE_ORDER_MARK).strip()
            if not line:
                continue
            if first:
                break
            first = line
        else:
            return False
    try:
        return isinstance(_LENIENT.decode(first.decode("utf-8")), dict)
    except (ValueError, RecursionError):
        return False


def _lines(path: Path, decoder: json.JSONDecoder) -> Iterator[Entry]:
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            if not line.strip():
                continue
            text = decode_utf8(line.rstrip(b"\r\n"), path, number)
            reader = _Reader(path, text, number, decoder)
            at = reader.after_space(0)
            if text[at] != "{":
                raise reader.fault(at, "an object {...} is needed on each line")
            members, end = reader.members_at(at)
            reader.check_end(end)
            yield Entry(f"{path}:{number}", members)


def _document(path: Path, decoder: json.JSONDecoder) -> Iterator[Entry]:
    text = read_utf8(path)
    reader = _Reader(path, text, 1, decoder)
    at = reader.after_space(0)
    if at == len(text):
        raise ValueError(f"{path}:1: the file is empty")
    if text[at] == "[":
        end = at + 1
        for start, is_last in reader.elements(at):
            if is_last:
                end = start
                break
            if text[start] != "{":
                raise reader.fault(start, "each element of the list must be an object {...}")
            members, reader.position = reader.members_at(start)
            yield Entry(reader.place(start), members)
        reader.check_end(end)
    elif text[at] == "{":
        for key, start, member in reader.pairs(at):
            place = reader.place(start)
            if isinstance(member.value, dict):
                members, _ = reader.members_at(start)
            elif member.value is None or isinstance(member.value, str):
                members = {"text": member}
            elif isinstance(member.value, list):
                members = {"segments": member}
            else:
                raise reader.fault(
                    start, f"under the id {key!r} a text, an object, a list or null is needed"
                )
            yield Entry(place, members, key)
        reader.check_end(reader.position)
    else:
        raise reader.fault(at, "a list [...] or an object {...} is needed")


class _Reader:
    """Walks one level of a text; `position` is where the walk stands."""

    def __init__(self, path: Path, text: str, first_line: int, decoder: json.JSONDecoder) -> None:
        self.path, self.text, self.decoder = path, text, decoder
        self.position = 0
        self._counted, self._line = 0, first_line

    def place(self, at: int) -> str:
        """`FILE:LINE`; asked with growing places, so that lines are counted once."""
        if at < self._counted:
            self._line -= self.text.count("\n", at, self._counted)
        else:
            self._line += self.text.count("\n", self._counted, at)
        self._counted = at
        return f"{self.path}:{self._line}"

    def fault(self, at: int, reason: str) -> ValueError:
        return ValueError(f"{self.place(min(at, len(self.text)))}: {reason}")

    def after_space(self, at: int) -> int:
        while at < len(self.text) and self.text[at] in _WHITE_SPACE:
            at += 1
        return at

    def value(self, at: int) -> tuple[Any, int]:
        """The value that begins at `at`, and where it ends."""
        try:
            return self.decoder.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise self.fault(error.pos, f"not JSON: {error.msg}") from error
        except RecursionError as error:
            raise self.fault(at, "nested too deeply to be read") from error
        except ValueError as error:
            raise self.fault(at, str(error)) from error

    def elements(self, at: int) -> Iterator[tuple[int, bool]]:
        """Where each element of the list at `at` begins, the reader setting `position` to its end;
        last the place after the list, with True."""
        end = self.after_space(at + 1)
        if self.text[end : end + 1] == "]":
            yield end + 1, True
            return
        while True:
            if end == len(self.text):
                raise self.fault(end, "the file ends inside the list")
            yield end, False
            end = self.after_space(self.position)
            mark = self.text[end : end + 1]
            if mark == "]":
                yield end + 1, True
                return
            if mark != ",":
                raise self.fault(end, "not JSON: a comma or ] is needed between elements")
            end = self.after_space(end + 1)

    def pairs(self, at: int) -> Iterator[tuple[str, int, Member]]:
        """Each key, where its value begins, and the value; leaves `position` after the object."""
        end = self.after_space(at + 1)
        if self.text[end : end + 1] == "}":
            self.position = end + 1
            return
        while True:
            if self.text[end : end + 1] != '"':
                raise self.fault(end, "not JSON: a key in double quotes is needed")
            try:
                key, end = scanstring(self.text, end + 1)
            except json.JSONDecodeError as error:
                raise self.fault(error.pos, f"not JSON: {error.msg}") from error
            end = self.after_space(end)
            if self.text[end : end + 1] != ":":
                raise self.fault(end, "not JSON: a colon is needed after a key")
            start = self.after_space(end + 1)
            value, end = self.value(start)
            yield key, start, Member(value, self.text[start:end])
            end = self.after_space(end)
            mark = self.text[end : end + 1]
            if mark == "}":
                self.position = end + 1
                return
            if mark != ",":
                raise self.fault(end, "not JSON: a comma or } is needed after a value")
            end = self.after_space(end + 1)

    def members_at(self, at: int) -> tuple[dict[str, Member], int]:
        """The members of the object at `at`, and where it ends."""
        inner = _Reader(self.path, self.text, self._line, self.decoder)
        inner._counted = self._counted
        members: dict[str, Member] = {}
        for key, start, member in inner.pairs(at):
            if key in members:
                raise inner.fault(start, f"the key {key!r} is written more than once")
            members[key] = member
        return members, inner.position

    def check_end(self, at: int) -> None:
        at = self.after_space(at)
        if at < len(self.text):
            raise self.fault(at, "not JSON: there is more after the end")


def _whole_number(digits: str) -> int | float:
    # Python refuses to make an int of thousands of digits.
    return int(digits) if len(digits) <= _MAX_INT_DIGITS else float(digits)


_LENIENT = json.JSONDecoder(parse_int=_whole_number)
_STRICT = json.JSONDecoder(parse_int=_whole_number, object_pairs_hook=without_repeats)
