"""Small files of rows and predictions for the tests of this folder.

Example: `write_rows(tmp_path / "rows.jsonl", {"a": [[0, 4, "Joy"], [4, 8, "Fear"]]}, 8.0)`
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Spans = Sequence[Sequence[Any]]


def reply(spans: Spans) -> str:
    """The JSON text of [start, end, emotion] triples."""
    return json.dumps(
        {
            "segments": [
                {"start_time": start, "end_time": end, "emotion": emotion, "reason": "They dance."}
                for start, end, emotion in spans
            ]
        }
    )


def sft_row(row_id: str, spans: Spans | None, duration_seconds: float) -> dict[str, Any]:
    """A released SFT row of `videos/ID.mp4`; without spans it has no answer."""
    turns = [{"from": "human", "value": "<video>\nSegment this video."}]
    if spans is not None:
        turns.append({"from": "gpt", "value": reply(spans)})
    return {
        "id": row_id,
        "video": f"videos/{row_id}.mp4",
        "video_duration": duration_seconds,
        "conversations": turns,
    }


def write_lines(path: Path, values: Sequence[Any]) -> Path:
    """One JSON value per line; a string is written as it is, to break the format."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def write_rows(
    path: Path, truths: Mapping[str, Spans | None], duration_seconds: float = 8.0
) -> Path:
    """A file of SFT rows."""
    return write_lines(
        path, [sft_row(key, spans, duration_seconds) for key, spans in truths.items()]
    )


def write_predictions(path: Path, replies: Mapping[str, str | None]) -> Path:
    """A file of predictions; a reply of None becomes a failed row."""
    lines: list[Any] = [{"header": {"model": "somebody's"}}]
    for row_id, text in replies.items():
        error = "no picture" if text is None else None
        lines.append({"id": row_id, "text": text, "error": error})
    return write_lines(path, lines)
