"""One thing that is wrong with one row: where, what was found, what is expected.

    Fault(line=3, id="bikes", field="video_duration", found="12.0 s",
          expected="10.000 s, as the pictures last (within 0.15 s)")

Example: `faults_of(3, "bikes", AnswerError("solution", ("end: segments[1] ends at 9 s ...",)))`
"""

from collections.abc import Iterator
from dataclasses import dataclass

from affect.field_error import AnswerError, FieldError

ANSWER_RULES = {
    "blank": "the JSON text of a timeline",
    "too_long": "an answer that is short enough to be read",
    "no_object": 'one JSON object with the key "segments"',
    "surrounding_text": "nothing but the JSON object",
    "missing_key": "the keys segments, start_time, end_time, emotion, reason",
    "extra_key": "the keys segments, start_time, end_time, emotion, reason and no other",
    "duplicate_key": "each key once",
    "wrong_type": "times as numbers, emotion and reason as texts, segments as a list of objects",
    "not_finite": "times that are finite numbers",
    "duration": "a clip with a length",
    "empty": "at least one segment",
    "too_many": "at most 256 segments",
    "start": "the first segment starts at 0",
    "gap": "each segment starts where the one before ends",
    "overlap": "each segment starts where the one before ends",
    "no_length": "each segment ends after its start",
    "end": "the last segment ends where the clip ends",
    "emotion": "one of the 27 emotions",
    "repeated_emotion": "another emotion than the segment before",
    "blank_reason": "a reason in words",
    "not_text": "text that can be written as UTF-8",
    "more": "no faults",
}
"""What is expected where the parse of an answer names a fault."""


@dataclass(frozen=True, slots=True)
class Fault:
    """line: of the file, from 1; 0 for the file itself. id: the row's, None where it has none."""

    line: int
    id: str | None
    field: str
    found: str
    expected: str


def faults_of(line: int, row_id: str | None, error: FieldError) -> Iterator[Fault]:
    """The error of a field as one fault, or that of an answer as one for each thing wrong in it."""
    if not isinstance(error, AnswerError):
        yield Fault(line, row_id, error.field, error.found, error.expected)
        return
    for fault in error.faults:
        name, _, found = fault.partition(": ")
        yield Fault(line, row_id, error.field, found, ANSWER_RULES[name])
