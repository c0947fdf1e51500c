"""A folder with two short clips, and rows of them to break.

Example:
    folder = draw(tmp_path)                       # a.mp4 (2.0 s) and b.mp4 (3.0 s)
    write_lines(folder / "rows.jsonl", sft("a"), sft("b", video_duration=9.0))
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.affect.video.clips import write_clip

SECONDS = {"a": 2.0, "b": 3.0}


def draw(folder: Path) -> Path:
    """Clips of 10 and 15 frames at 5 frames a second."""
    for name, seconds in SECONDS.items():
        write_clip(
            folder / f"{name}.mp4", round(5 * seconds), size=(56, 56), time_base=Fraction(1, 5)
        )
    return folder


def answer(*segments: tuple[float, float, str, str]) -> str:
    keys = ("start_time", "end_time", "emotion", "reason")
    return json.dumps({"segments": [dict(zip(keys, one, strict=True)) for one in segments]})


def good_answer(name: str) -> str:
    return answer((0.0, 1.0, "Joy", "They dance."), (1.0, SECONDS[name], "Fear", "A shadow."))


def sft(name: str, *, reply: str | None = None, **changes: Any) -> dict[str, Any]:
    """The released SFT row of a clip; a change of None takes the field out."""
    turns = [
        {"from": "human", "value": "<video>\nSegment this silent video."},
        {"from": "gpt", "value": good_answer(name) if reply is None else reply},
    ]
    row = {
        "id": name,
        "video": f"{name}.mp4",
        "video_duration": SECONDS[name],
        "conversations": turns,
        **changes,
    }
    return {key: value for key, value in row.items() if value is not None}


def unanswered(name: str, **changes: Any) -> dict[str, Any]:
    """An SFT row to predict only."""
    return sft(name, conversations=sft(name)["conversations"][:1], **changes)


def grpo(name: str, **changes: Any) -> dict[str, Any]:
    """ms-swift's GRPO row of a clip; a change of None takes the field out."""
    row = {
        "id": name,
        "messages": [
            {"role": "system", "content": "You know how viewers feel."},
            {"role": "user", "content": "<video>\nSegment this silent video."},
        ],
        "videos": [f"{name}.mp4"],
        "video_duration": SECONDS[name],
        "solution": good_answer(name),
        **changes,
    }
    return {key: value for key, value in row.items() if value is not None}


def write_lines(path: Path, *lines: dict[str, Any] | bytes) -> Path:
    """One line each; bytes are written as they are, to break the format."""
    encoded = (one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(one + b"\n" for one in encoded))
    return path
