"""Rows on disk: the released SFT and GRPO formats, read into one `Row` and written back the same.

One clip as an SFT row and as a GRPO row, each a single line in its file (JSON Lines):

    {"id": "bikes", "video": "real/bikes.mp4", "video_duration": 10.0, "source": "vce",
     "conversations": [
       {"from": "human", "value": "<video>\\nSegment this silent video."},
       {"from": "gpt", "value": "{\\"segments\\": [{\\"start_time\\": 0.0, ...}]}"}]}

    {"id": "bikes",
     "messages": [{"role": "user", "content": "<video>\\nSegment this silent video."}],
     "videos": ["real/bikes.mp4"], "video_duration": 10.0, "source": "vce",
     "solution": "{\\"segments\\": [{\\"start_time\\": 0.0, ...}]}"}

A system turn may come first. `source` may be absent, the answer too (then there is nothing to
train on, only to predict). `video_duration` may not: it is never inferred from the last end.
Other fields are kept as they are in `extra`. A released answer is read with the released
tolerance and stays on disk as written, while `row.timeline.to_json()` is what models train on.
"""

from collections.abc import Iterable
from pathlib import Path

from affect.jsonl import JsonlWriter, numbered_jsonl, read_jsonl, write_jsonl_atomic
from affect.messages import Message, prompt_from_text
from affect.row import Row
from affect.row_formats import grpo_object, row_from_object, sft_object
from affect.timeline import RELEASED_TOLERANCE_SECONDS
from affect.video_path import resolve_video

__all__ = [
    "JsonlWriter",
    "Message",
    "Row",
    "prompt_from_text",
    "read_jsonl",
    "read_rows",
    "resolve_video",
    "write_grpo_rows",
    "write_jsonl_atomic",
    "write_sft_rows",
]


def read_rows(path: Path, *, tolerance_seconds: float = RELEASED_TOLERANCE_SECONDS) -> list[Row]:
    """Read SFT or GRPO rows, told apart by their fields.

    Raises ValueError as `FILE:LINE: FIELD: what is wrong` at the first row that is not right,
    an id that stood before included.
    """
    rows: list[Row] = []
    line_of_id: dict[str, int] = {}
    for line, stored in numbered_jsonl(Path(path)):
        try:
            row = row_from_object(stored, tolerance_seconds)
            if row.id in line_of_id:
                raise ValueError(f"id: {row.id!r} stands already on line {line_of_id[row.id]}")
        except ValueError as error:
            raise ValueError(f"{path}:{line}: {error}") from error
        line_of_id[row.id] = line
        rows.append(row)
    return rows


def write_sft_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows in the released SFT format, the whole file or nothing."""
    write_jsonl_atomic(Path(path), [sft_object(row) for row in _with_unique_ids(path, rows)])


def write_grpo_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write rows in ms-swift's GRPO format (with `video_duration`), the whole file or nothing."""
    write_jsonl_atomic(Path(path), [grpo_object(row) for row in _with_unique_ids(path, rows)])


def _with_unique_ids(path: Path, rows: Iterable[Row]) -> list[Row]:
    listed = list(rows)
    seen: set[str] = set()
    for row in listed:
        if row.id in seen:
            raise ValueError(f"{path}: id: two rows are called {row.id!r}")
        seen.add(row.id)
    return listed
