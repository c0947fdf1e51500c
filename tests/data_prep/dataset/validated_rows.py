"""Rows and clips for the tests of human validation.

rows = make_rows(tmp_path / "videos", {"test": 2, "train": 4})
"""

from collections.abc import Mapping
from pathlib import Path

from affect.records import Row, prompt_from_text
from affect.timeline import Segment, Timeline

EMOTIONS = ("Fear", "Relief", "Joy")


def make_row(name: str, num_segments: int = 2, reason: str = "A shadow moves.") -> Row:
    segments = tuple(
        Segment(float(n), float(n + 1), EMOTIONS[n], reason) for n in range(num_segments)
    )
    return Row(
        id=name,
        video=f"clips/{name}.mp4",
        duration_seconds=float(num_segments),
        source="vce",
        prompt=prompt_from_text("<video>\nSegment this silent video."),
        timeline=Timeline(segments, float(num_segments)),
        extra={"judgements": "visual_grounding 4.75"},
    )


def make_clips(root: Path, rows: Mapping[str, list[Row]]) -> None:
    for row in (row for listed in rows.values() for row in listed):
        path = root / row.video
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a clip that only its page's reader opens")


def make_rows(root: Path, num_videos: Mapping[str, int]) -> dict[str, list[Row]]:
    """Rows per split, with a file where each one's clip is."""
    rows = {
        split: [make_row(f"{split}_{number}") for number in range(count)]
        for split, count in num_videos.items()
    }
    make_clips(root, rows)
    return rows
