"""A file of another system's replies, checked whole and then written as one of ours.

    source = Source(Path("theirs.json"), matcher)
    survey = survey_source(source)                    # raises before anything is written
    write_import(Path("runs/videmo/predictions/test.jsonl"), header, source)

The file is read twice and held never: JSON Lines of any size pass through (a JSON document and a
CSV are read as a whole). The result replaces nothing: a file that is there already must hold the
same.
"""

import os
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from affect.file_hash import sha256_of_file
from affect.jsonl import JsonlWriter
from affect.parsing import parse_reply
from affect.row import Row
from affect.timeline import BOUNDARY_TOLERANCE_SECONDS, reply_tolerance_seconds
from evaluation.foreign.json_entries import Entry
from evaluation.foreign.replies import KEY, read_answer, read_entries, read_id
from evaluation.foreign.row_matching import RowMatcher
from evaluation.predictions import Answer, PredictionHeader

_LINES_AT_ONCE = 64

SETTINGS = (
    "model_sha256", "endpoint", "budget", "prompt", "prompt_hash", "max_new_tokens", "temperature",
    "top_k", "top_p", "seed", "dtype",
)  # fmt: skip
"""Fields of a header of ours that say how replies came about wherever they lie."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file and how it is read; fields that are None are found."""

    path: Path
    matcher: RowMatcher
    format_name: str = "auto"
    id_field: str | None = None
    reply_field: str | None = None
    skip_unknown: bool = False


@dataclass
class Survey:
    """What a source holds: counts of rows and of how they were found."""

    header: Mapping[str, Any] | None = None
    """Of a file that is one of ours."""
    failed: set[str] = field(default_factory=set)
    """Rows whose last word is an error."""
    answered: set[str] = field(default_factory=set)
    matched_by: Counter[str] = field(default_factory=Counter)
    id_fields: Counter[str] = field(default_factory=Counter)
    reply_fields: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    num_unknown: int = 0
    num_readable: int = 0
    """Replies of which the lenient parse reads a segment (protocol `paper`)."""
    num_strict: int = 0
    """Replies that are a strict timeline."""
    faults: Counter[str] = field(default_factory=Counter)
    """Name of the first fault of each other reply."""

    @property
    def reply_kind(self) -> str:
        """`text`, `structured`, or `text and structured`; `none` where all failed."""
        return " and ".join(sorted(self.kinds, reverse=True)) or "none"


def survey_source(source: Source, rows: Mapping[str, Row]) -> Survey:
    """Read the whole file once, writing nothing.

    Args:
        rows: by id; replies are read as they will be scored.

    Raises:
        ValueError: by file and line for an entry that can't be read, whose id is no row's or two
            rows', and for a second reply to a row; where there is no entry of any row.
    """
    survey = Survey()
    for row_id, answer in _answers(source, survey):
        if answer.text is None:
            continue
        row = rows[row_id]
        parsed = parse_reply(
            answer.text,
            row.duration_seconds,
            tolerance_seconds=(
                BOUNDARY_TOLERANCE_SECONDS
                if row.timeline is None
                else reply_tolerance_seconds(row.timeline)
            ),
        )
        survey.num_readable += bool(parsed.segments)
        survey.num_strict += parsed.timeline is not None
        if parsed.faults:
            survey.faults[parsed.faults[0].partition(":")[0]] += 1
    if not survey.answered and not survey.failed:
        raise ValueError(f"{source.path}: holds no entry of any of the rows")
    return survey


def write_import(path: Path, header: PredictionHeader, source: Source) -> bool:
    """Write the file of predictions, whole or not at all; False where it was there already.

    Raises ValueError where another file of that name is there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with JsonlWriter(partial) as output:
            output.write({"header": header.model_dump(mode="json")})
            answers = _answers(source, Survey())
            while lines := list(islice(answers, _LINES_AT_ONCE)):
                output.write(*({"id": row_id, **asdict(answer)} for row_id, answer in lines))
        if not path.exists():
            os.replace(partial, path)
            return True
        if sha256_of_file(path) != sha256_of_file(partial):
            raise ValueError(
                f"{path}: is there already and holds other predictions; choose another --name, or "
                "move the file away"
            )
        return False
    finally:
        partial.unlink(missing_ok=True)


def _answers(source: Source, survey: Survey) -> Iterator[tuple[str, Answer]]:
    """Row id and answer of each entry, counted in `survey`."""
    places: dict[str, str] = {}
    for entry in _without_header(source, survey):
        value, id_field = read_id(entry, source.id_field)
        try:
            match = source.matcher.match(value, id_field)
        except ValueError as error:
            raise ValueError(f"{entry.place}: {error}") from error
        if match is None:
            if source.skip_unknown:
                survey.num_unknown += 1
                continue
            raise ValueError(
                f"{entry.place}: {_called(id_field)} {value!r} is none of the rows; name another "
                "field with --id-field, or leave such entries out with --skip-unknown"
            )
        row_id = match.row_id
        # In a file of ours a line after a failure is a later try; elsewhere two are two.
        is_later_try = survey.header is not None and row_id in survey.failed
        if row_id in places and not is_later_try:
            raise ValueError(
                f"{entry.place}: {_called(id_field)} {value!r}: row {row_id!r} has an entry at "
                f"{places[row_id]} already; which one counts is not for us to say"
            )
        read = read_answer(entry, source.reply_field)
        places[row_id] = entry.place
        if not is_later_try:
            survey.id_fields[id_field] += 1
            survey.matched_by[match.how] += 1
        survey.failed.discard(row_id)
        if read.answer.error is not None:
            survey.failed.add(row_id)
        else:
            survey.answered.add(row_id)
            survey.kinds[read.kind] += 1
            survey.reply_fields[str(read.field)] += 1
        yield row_id, read.answer


def _without_header(source: Source, survey: Survey) -> Iterator[Entry]:
    """The entries; a first one that is a header of ours is noted instead."""
    entries = read_entries(source.path, source.format_name, source.id_field)
    first = next(entries, None)
    if first is None:
        raise ValueError(f"{source.path}: holds no entry")
    header = first.members.get("header")
    if len(first.members) == 1 and header is not None and isinstance(header.value, dict):
        survey.header = header.value
        yield from entries
    else:
        yield from chain([first], entries)


def _called(id_field: str) -> str:
    return "the id" if id_field == KEY else id_field
