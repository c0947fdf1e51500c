"""Scoring a whole test split from its files, intervals and all, on one core.

    write_files(folder, num_clips=1441)
    measure_scoring(folder)
    {"score_seconds": 3.1, "analyse_seconds": 1.9, "num_clips": 1441, "num_replicates": 2000}

The truth is the rendered world's; the replies are drawn: boundaries off by up to a second and a
half, one label in three wrong, a segment too many or too few in one of ten, one of twenty no JSON,
one of fifty missing. Reading both files is measured with it. A process of its own, held to one core
where the system can do that, does the work.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from affect.jsonl import write_jsonl_atomic
from affect.records import write_sft_rows
from affect.taxonomy import DAR_EMOTIONS
from affect.timeline import Segment, Timeline
from data_prep.rendered.rows import sample_rows

NUM_CLIPS = 1441
"""The test split of the paper."""

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def write_files(folder: Path, num_clips: int = NUM_CLIPS, seed: int = 0) -> None:
    """rows.jsonl and predictions.jsonl; equal arguments write equal files."""
    rng = random.Random(seed)
    rows = sample_rows(num_clips, seed=seed, split="test")
    write_sft_rows(folder / "rows.jsonl", rows)
    lines: list[dict[str, Any]] = [{"header": {"model": "drawn"}}]
    for row in rows:
        assert row.timeline is not None
        if rng.random() >= 0.02:
            lines.append({"id": row.id, "text": _reply(rng, row.timeline)})
    write_jsonl_atomic(folder / "predictions.jsonl", lines)


def _reply(rng: random.Random, truth: Timeline) -> str:
    if rng.random() < 0.05:
        return "The viewer is moved by what happens here."
    inner = [segment.end_seconds for segment in truth.segments[:-1]]
    end = truth.duration_seconds
    if rng.random() < 0.1:
        inner = (
            inner[:-1] if inner and rng.random() < 0.5 else [*inner, rng.uniform(0.5, end - 0.5)]
        )
    moved = sorted(round(min(max(at + rng.uniform(-1.5, 1.5), 0.3), end - 0.3), 1) for at in inner)
    bounds = [0.0, *dict.fromkeys(at for at in moved if 0 < at < end), end]
    emotions: list[str] = []
    for number in range(len(bounds) - 1):
        right = truth.segments[min(number, len(truth.segments) - 1)].emotion
        others = [one for one in DAR_EMOTIONS if one not in emotions[-1:]]
        is_right = rng.random() > 1 / 3 and right in others
        emotions.append(right if is_right else rng.choice(others))
    segments = tuple(
        Segment(start, stop, emotion, "Something moves, and the viewer follows it.")
        for start, stop, emotion in zip(bounds, bounds[1:], emotions, strict=False)
    )
    return Timeline(segments, end).to_json()


def measure_scoring(folder: Path) -> dict[str, Any]:
    """Wall seconds, measured in a process of its own that may use one core.

    Raises RuntimeError with the end of its output where it fails.
    """
    environment = os.environ | dict.fromkeys(_ONE_THREAD, "1")
    command = [sys.executable, "-m", "speed.scored_files", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(f"scoring failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _measure(folder: Path) -> dict[str, Any]:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    # Only now, so that numpy's threads, if it made any, are made within the limit.
    from evaluation.analysis.analyse import analyse
    from evaluation.clips import load_clips, read_truths
    from evaluation.metrics import Bootstrap, score_clips
    from evaluation.predictions import read_predictions

    begun = time.monotonic()
    truths = read_truths(folder / "rows.jsonl")
    clips = load_clips(truths, read_predictions(folder / "predictions.jsonl"))
    score_rows = score_clips(clips)
    scored = time.monotonic()
    analyse(truths, clips, "strict")
    analysed = time.monotonic()
    return {
        "score_seconds": round(scored - begun, 2),
        "analyse_seconds": round(analysed - scored, 2),
        "num_clips": len(clips),
        "num_replicates": Bootstrap().num_replicates,
        "num_intervals": len(score_rows),
    }


def main(argv: list[str] | None = None) -> int:
    """Measures in this process; `measure_scoring` starts it."""
    parser = argparse.ArgumentParser(prog="python -m speed.scored_files")
    parser.add_argument("folder", type=Path, help="that `write_files` wrote")
    sys.stdout.write(json.dumps(_measure(parser.parse_args(argv).folder)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
