"""Small runs to be judged: rows, clips, predictions, and the command over them.

run = write_run(tmp_path, {"a": [(0, 2, "Joy", GOOD), (2, 4, "Fear", GOOD)], "b": None})
code = judge_run(run, server.base_url, judge="judge_hardened")
segments(run, "judge_hardened.scripted")[0].scores
"""

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from affect.run_folder import RunFolder
from evaluation.judge.__main__ import main
from evaluation.judge.judgements import (
    JudgeScoreRow,
    SegmentJudgement,
    judge_scores_path,
    read_judge_scores,
    read_judgements,
)
from tests.affect.video.clips import write_clip
from tests.evaluation.files import write_lines, write_rows

Predicted = Sequence[tuple[float, float, str, str]]

GOOD = "A grey square grows lighter until the whole picture glows, and the dark start is forgotten."
SECONDS = 4.0
TRUTH = [[0, 2, "Joy"], [2, 4, "Fear"]]
BUDGET = {
    "fps": 0.5,
    "min_frames": 2,
    "max_frames": 2,
    "min_pixels": 784,
    "max_pixels": 3136,
}
AUTHOR = "runs/demo/author"


def reply_text(segments: Predicted) -> str:
    """A reply in the schema."""
    keys = ("start_time", "end_time", "emotion", "reason")
    return json.dumps({"segments": [dict(zip(keys, one, strict=True)) for one in segments]})


def write_run(
    folder: Path,
    replies: Mapping[str, Predicted | str | None],
    *,
    with_clips: Sequence[str] | None = None,
    **header: Any,
) -> Path:
    """A run with predictions/test.jsonl; a reply of None is a row that failed, a string the text as
    it came. Every row is annotated with TRUTH, every clip lasts 4 s. header: more fields."""
    rows = write_rows(folder / "rows.jsonl", dict.fromkeys(replies, TRUTH), SECONDS)
    (folder / "videos").mkdir(exist_ok=True)
    for row_id in replies if with_clips is None else with_clips:
        write_clip(folder / "videos" / f"{row_id}.mp4", num_frames=20, time_base=Fraction(1, 5))
    run = folder / "run"
    about = {"model": AUTHOR, "budget": BUDGET, "rows": str(rows), **header}
    lines: list[Any] = [{"header": about}]
    for row_id, reply in replies.items():
        text = reply if reply is None or isinstance(reply, str) else reply_text(reply)
        error = "the clip is broken" if text is None else None
        lines.append({"id": row_id, "text": text, "error": error})
    write_lines(RunFolder(run).predictions("test"), lines)
    return run


def write_config(
    run: Path, base_url: str, judge: str, model: Mapping[str, Any], **keys: Any
) -> Path:
    """A configuration of the command beside the run."""
    # 0: decoded in this process, without the start of another.
    quick = {"max_backoff_seconds": 0.05, "max_attempts": 3, "decode_timeout_seconds": 0}
    limits = {**quick, **keys.pop("limits", {})}
    config = {
        "judge": judge,
        "run": str(run),
        "model": {
            "base_url": base_url,
            "model": "scripted",
            "max_concurrent": 4,
            "price_per_million_prompt_tokens": 1.0,
            "price_per_million_completion_tokens": 2.0,
            **model,
        },
        "limits": limits,
        **keys,
    }
    path = run.parent / f"{judge}.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def judge_run(
    run: Path,
    base_url: str,
    *,
    judge: str = "judge_hardened",
    model: Mapping[str, Any] | None = None,
    **keys: Any,
) -> int:
    """`dar judge` over the run: its exit code."""
    path = write_config(run, base_url, judge, model or {}, **keys)
    return main(["--config", str(path)])


def judgements_path(run: Path, label: str) -> Path:
    return RunFolder(run).judgements("test", label)


def segments(run: Path, label: str) -> list[SegmentJudgement]:
    """As they stand in the file."""
    return list(read_judgements(judgements_path(run, label)).segments)


def scores(run: Path, label: str) -> dict[str, JudgeScoreRow]:
    """By dimension."""
    rows = read_judge_scores(judge_scores_path(judgements_path(run, label)))
    return {row.dimension: row for row in rows}
