"""Runs drawn from a seed: rows, replies that are right so often, a training log, a judge's scores.

    rows = write_drawn_rows(tmp_path / "rows.jsonl", 40, seed=0)
    run = drawn_run(tmp_path / "runs" / "a", rows, share_right=0.6, seed=1)

Nobody was trained and nobody judged: the numbers only have the shape of such.
"""

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from affect.file_hash import sha256_of_file
from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.taxonomy import DAR_EMOTIONS
from evaluation.judge.judgements import JUDGED_COLUMNS, JudgeScoreRow, write_judge_scores
from evaluation.metrics import Bootstrap
from evaluation.run_results import RunResults, load_run
from tests.evaluation.files import Spans, reply, sft_row, write_lines

GENRES = ("Animals", "Comedy", "Sports & <Games>", "Travel")
SCENES = ("indoor", "outdoor")


def write_drawn_rows(
    path: Path, num_clips: int, *, seed: int, emotions: Sequence[str] = DAR_EMOTIONS
) -> Path:
    """Clips of one to five segments, some emotions far more frequent than others."""
    drawn = random.Random(seed)
    weights = [1 / (place + 1) for place in range(len(emotions))]
    rows = []
    for number in range(num_clips):
        duration = drawn.choice((4.0, 8.0, 14.0, 22.0))
        cuts = sorted(drawn.sample(range(1, int(duration * 2)), drawn.randint(0, 4)))
        times = [0.0, *(cut / 2 for cut in cuts), duration]
        names: list[str] = []
        for _ in times[1:]:
            left = [name for name in emotions if not names or name != names[-1]]
            kept = [weights[emotions.index(name)] for name in left]
            names.append(drawn.choices(left, kept)[0])
        spans = [list(one) for one in zip(times, times[1:], names, strict=False)]
        row = sft_row(f"clip{number:04d}", spans, duration)
        rows.append({**row, "genre": drawn.choice(GENRES), "scene": drawn.choice(SCENES)})
    return write_lines(path, rows)


def _answer(
    spans: Spans, share_right: float, drawn: random.Random, others: Sequence[str]
) -> str | None:
    if drawn.random() < 0.03:
        return None
    if drawn.random() < 0.05:
        return "I see a dog."
    times = [spans[0][0], *(end for _, end, _ in spans)]
    for place in range(1, len(times) - 1):
        moved = times[place] + drawn.gauss(0.1, 0.6 * (1.2 - share_right))
        times[place] = round(min(max(moved, times[place - 1] + 0.2), times[-1] - 0.2), 1)
    if len(spans) > 1 and drawn.random() > share_right:
        times.pop(drawn.randrange(1, len(times) - 1))
    names = [
        name if drawn.random() < share_right else drawn.choice(others)
        for (_, _, name), _ in zip(spans, times[1:], strict=False)
    ]
    return reply([list(one) for one in zip(times, times[1:], names, strict=False)])


def drawn_run(
    folder: Path,
    rows: Path,
    *,
    share_right: float,
    seed: int,
    label: str | None = None,
    others: Sequence[str] = DAR_EMOTIONS[:12],
    training: str | None = None,
    judges: Sequence[str] = (),
    replicates: int = 200,
) -> RunResults:
    """training: `grpo`, `sft` or nothing. judges: labels such as `judge_paper.gpt-4o`. others:
    what is said where the reply is wrong."""
    drawn = random.Random(seed)
    lines: list[Any] = [{"header": {"model": f"drawn {share_right}", "seed": seed}}]
    for text in rows.read_text(encoding="utf-8").splitlines():
        row = json.loads(text)
        spans = [
            [one["start_time"], one["end_time"], one["emotion"]]
            for one in json.loads(row["conversations"][1]["value"])["segments"]
        ]
        answer = _answer(spans, share_right, drawn, others)
        error = "no picture" if answer is None else None
        lines.append({"id": row["id"], "text": answer, "error": error})
    predictions = write_lines(folder / "predictions" / "test.jsonl", lines)
    if training is not None:
        write_lines(folder / "metrics.jsonl", _training(training, drawn))
    for judge in judges:
        _judge(folder, judge, sha256_of_file(predictions), share_right, drawn)
    return load_run(folder, "test", label=label, rows=rows, bootstrap=Bootstrap(replicates))


def _training(kind: str, drawn: random.Random) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for step in range(5, 305, 5):
        done = step / 300
        line: dict[str, Any] = {"step": step, "learning_rate": 1e-5 * (1 - done)}
        if kind == "sft":
            line["loss"] = 2 * (1 - done) ** 2 + 0.2 + drawn.gauss(0, 0.05)
        else:
            for name in ("struct", "count", "seg", "emo", "reason"):
                line[f"rewards/{name}/mean"] = 0.3 + 0.4 * done + drawn.gauss(0, 0.06)
            line["reward"] = 0.3 + 0.4 * done + drawn.gauss(0, 0.04)
            line["kl"] = None if step == 50 else 0.05 * done + abs(drawn.gauss(0, 0.01))
            line["completions/mean_length"] = 180 - 40 * done + drawn.gauss(0, 8)
            line["completions/clipped_ratio"] = max(0.0, 0.2 * (1 - done) + drawn.gauss(0, 0.02))
            line["completions/num_dropped"] = 0.0
        lines.append(line)
    return [*lines, {"step": 300, "train_runtime": 12.0, "train_loss": 0.1}]


def _judge(
    folder: Path, label: str, predictions_sha256: str, share_right: float, drawn: random.Random
) -> None:
    judge, _, model = label.partition(".")
    path = folder / "judgements" / "test" / f"{label}.jsonl"
    header = {
        "judge": judge,
        "model": {"model": model},
        "samples": 1,
        "prompt_hash": "0" * 8,
        "budget": {},
        "predictions_sha256": predictions_sha256,
        "rows_sha256": "0" * 64,
    }
    judged = {
        "id": "clip0000",
        "segment": 0,
        "state": "judged",
        "scores": dict.fromkeys(JUDGE_DIMENSIONS, 3.0),
        "overall": 3.0,
    }
    write_lines(path, [{"header": header}, judged])
    scores = []
    for dimension in JUDGED_COLUMNS:
        mean = 4.5 * share_right + drawn.uniform(-0.4, 0.4)
        scores.append(
            JudgeScoreRow(
                judge=judge,
                model=model,
                dimension=dimension,
                mean=mean,
                low=mean - 0.2,
                high=mean + 0.25,
                num_judged=90,
                num_gated=7,
                num_unscored=3,
                num_unparsed=2,
                num_missing=1,
            )
        )
    write_judge_scores(path.with_name(f"{label}.scores.json"), scores)
