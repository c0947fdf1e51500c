"""Run folders with rows, clips, replies and judgements, for the tests of the page.

rows = write_tagged_rows(tmp_path, {"a": [[0, 4, "Joy", "why"], [4, 8, "Fear", "why"]]})
run = write_run(tmp_path / "runs" / "sft", rows, {"a": reply(...), "b": None})
html = write_page([run], tmp_path / "report.html")
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from affect.judge_dimensions import JUDGE_DIMENSIONS
from evaluation.report.clip_video import choose_embedded, find_clips
from evaluation.report.examples import examples_of
from evaluation.report.page import render_page
from evaluation.runs import load_runs
from tests.evaluation.files import write_lines

Spans = Sequence[Sequence[Any]]
FRAMES_PER_SECOND = 25


def timeline_text(spans: Spans) -> str:
    """The JSON text of [start, end, emotion, reason] lists."""
    names = ("start_time", "end_time", "emotion", "reason")
    return json.dumps({"segments": [dict(zip(names, span, strict=True)) for span in spans]})


def write_tagged_rows(
    folder: Path,
    truths: Mapping[str, Spans],
    *,
    duration_seconds: float = 8.0,
    videos: Mapping[str, str] | None = None,
    tags: Mapping[str, Mapping[str, str]] | None = None,
) -> Path:
    """rows.jsonl in `folder`. videos: paths by id, else videos/ID.mp4. tags: further fields."""
    lines = []
    for row_id, spans in truths.items():
        lines.append(
            {
                "id": row_id,
                "video": (videos or {}).get(row_id, f"videos/{row_id}.mp4"),
                "video_duration": duration_seconds,
                "conversations": [
                    {"from": "human", "value": "<video>\nSegment this video."},
                    {"from": "gpt", "value": timeline_text(spans)},
                ],
                **(tags or {}).get(row_id, {}),
            }
        )
    return write_lines(folder / "rows.jsonl", lines)


def write_run(run: Path, rows: Path, replies: Mapping[str, str | None], name: str = "test") -> Path:
    """A run folder with predictions of the rows; a reply of None is a failed row."""
    lines: list[Any] = [{"header": {"model": run.name, "rows": str(rows)}}]
    for row_id, text in replies.items():
        error = "no picture" if text is None else None
        lines.append({"id": row_id, "text": text, "error": error})
    write_lines(run / "predictions" / f"{name}.jsonl", lines)
    return run


def judgement(row_id: str, segment: int | None, value: float | None, **more: Any) -> dict[str, Any]:
    """One segment with the same score in all dimensions; None is unscored."""
    state = "unscored" if value is None else "judged"
    scores = None if value is None else dict.fromkeys(JUDGE_DIMENSIONS, value)
    line = {"id": row_id, "segment": segment, "state": state, "scores": scores, "overall": value}
    return {**line, **more}


def write_judgements(
    run: Path, judgements: Sequence[Mapping[str, Any]], label: str = "judge_paper.gpt-4o"
) -> None:
    """Finished judgements of the run's predictions `test`."""
    predictions = (run / "predictions" / "test.jsonl").read_bytes()
    header = {
        "judge": label.partition(".")[0],
        "model": {"model": "gpt-4o"},
        "samples": 1,
        "prompt_hash": "0" * 64,
        "budget": {},
        "predictions_sha256": hashlib.sha256(predictions).hexdigest(),
        "rows_sha256": "0" * 64,
    }
    path = run / "judgements" / "test" / f"{label}.jsonl"
    write_lines(path, [{"header": header}, *judgements])
    path.with_name(f"{label}.scores.json").write_text("[]")


def write_clip(path: Path, seconds: float, side_pixels: int = 64) -> Path:
    """H.264 of a bar that moves from left to right, so that every frame differs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    num_frames = round(seconds * FRAMES_PER_SECOND)
    with av.open(str(path), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=FRAMES_PER_SECOND, options={"g": "5"})
        stream.width = stream.height = side_pixels
        stream.pix_fmt = "yuv420p"
        stream.time_base = Fraction(1, FRAMES_PER_SECOND)
        for number in range(num_frames):
            picture = np.full((side_pixels, side_pixels, 3), 40, dtype=np.uint8)
            left = number * (side_pixels - 8) // num_frames
            picture[:, left : left + 8] = (240, 200, 60)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def write_page(
    runs: Sequence[Path],
    out: Path,
    *,
    video_root: Path | None = None,
    embed_bytes: int = 0,
    title: str = "A report",
) -> Path:
    """The page without the sections of numbers and plots, which have tests of their own."""
    loaded = load_runs(runs, "test", labels={}, video_root=video_root)
    videos = find_clips(loaded[0].truths, loaded[0].video_root, out)
    embedded = choose_embedded(videos, embed_bytes)
    examples = examples_of(loaded, videos, embedded)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(render_page(title, [], examples, embedded), encoding="utf-8")
    return out
