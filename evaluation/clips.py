"""Clips to score, from a file of rows and a file of predictions.

Example: `load_clips(read_truths("test.sft.jsonl"), read_predictions("test.jsonl"))`
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from affect.file_hash import sha256_of_file
from affect.records import Row, read_rows
from affect.timeline import Timeline
from evaluation.metrics import Clip, make_clip
from evaluation.predictions import PredictionFile


@dataclass(frozen=True, slots=True)
class Truth:
    """An annotated row: its timeline, and all else that it says of its clip."""

    id: str
    timeline: Timeline
    row: Row

    @property
    def genre(self) -> str | None:
        """As the data builder tagged it; None where nobody did."""
        return _text(self.row.extra.get("genre"))

    @property
    def scene(self) -> str | None:
        """As genre."""
        return _text(self.row.extra.get("scene"))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def read_truths(rows_path: str | Path) -> list[Truth]:
    """The annotated rows of a file, in its order.

    Raises ValueError naming file and row where a row has no timeline, or where there is no row.
    """
    truths: list[Truth] = []
    for row in read_rows(Path(rows_path)):
        if row.timeline is None:
            raise ValueError(f"{rows_path}: row {row.id!r} has no annotated timeline to score with")
        truths.append(Truth(row.id, row.timeline, row))
    if not truths:
        raise ValueError(f"{rows_path}: there is no row in it")
    return truths


def load_clips(truths: Sequence[Truth], predictions: PredictionFile) -> list[Clip]:
    """One clip per truth, in order; missing where the file has no reply to it.

    Raises ValueError naming file and line for a prediction of a row that is not annotated.
    """
    known = {truth.id for truth in truths}
    for row_id, line_number in predictions.line_numbers.items():
        if row_id not in known:
            raise ValueError(
                f"{predictions.path}:{line_number}: id {row_id!r} is not among the rows; score "
                "the file with the rows it was made for"
            )
    clips: list[Clip] = []
    for truth in truths:
        answer = predictions.replies.get(truth.id)
        reply, num_tokens = (None, None) if answer is None else (answer.text, answer.num_tokens)
        clips.append(make_clip(truth.id, truth.timeline, reply, num_tokens))
    return clips


def tell_other_rows(predictions: PredictionFile, rows_path: str | Path) -> str:
    """A sentence where the rows are not those that were answered, "" where they are or nobody says.

    Corrected annotations are a reason to score replies again; a world drawn anew under the same ids
    is not, and gives numbers all the same.
    """
    stated = predictions.header.rows_sha256
    if stated is None or stated == sha256_of_file(Path(rows_path)):
        return ""
    return (
        f"{predictions.path}: answers {predictions.header.rows or 'a file'} as it was then; "
        f"{rows_path} has another content, and is what it is scored with"
    )
