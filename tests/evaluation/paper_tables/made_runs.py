"""Run folders whose scores can be worked out by hand: four clips of [0-4 Joy][4-8 Fear].

    make_run(tmp_path / "sft", rows, "RRHU")      # right, right, half, unparsed

R: both segments right. H: one segment [0-8 Joy], half of it right. U: no timeline. M: no reply.
Under strict a right clip has tIoU 1 and 1, a half one .5 (right label) and 0.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from affect.config.strict_yaml import dump_yaml
from affect.file_hash import sha256_of_file
from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.run_folder import RunFolder
from evaluation.judge.judgements import (
    AVERAGE,
    OVERALL,
    JudgeHeader,
    JudgeScoreRow,
    judge_scores_path,
    write_judge_scores,
)
from evaluation.suites.tsl300.results import (
    METRICS,
    TIOU_THRESHOLDS,
    TslCounts,
    TslReading,
    TslResults,
    TslScoreRow,
    write_tsl_results,
)
from tests.evaluation.files import Spans, reply, write_lines, write_rows

TRUTH: Spans = [[0, 4, "Joy"], [4, 8, "Fear"]]
REPLIES: dict[str, str | None] = {
    "R": reply(TRUTH),
    "H": reply([[0, 8, "Joy"]]),
    "U": "I cannot tell.",
    "M": None,
}


def make_rows(path: Path, num_clips: int = 4) -> Path:
    return write_rows(path, {f"clip{index}": TRUTH for index in range(num_clips)})


def make_run(
    folder: Path, rows: Path, replies: str, reward: Mapping[str, Any] | None = None
) -> Path:
    """predictions/test.jsonl with one reply per letter, and config.yaml with a reward section."""
    header = {"model": "m", "rows": str(rows), "rows_sha256": sha256_of_file(rows)}
    lines: list[Any] = [{"header": header}]
    for index, letter in enumerate(replies):
        text = REPLIES[letter]
        error = "no picture" if text is None else None
        lines.append({"id": f"clip{index}", "text": text, "error": error})
    write_lines(RunFolder(folder).predictions("test"), lines)
    if reward is not None:
        RunFolder(folder).config.write_text(dump_yaml({"seed": 0, "reward": dict(reward)}))
    return folder


def judge(
    folder: Path, label: str, average: float | None, *, samples: int = 1, unscored: int = 0
) -> None:
    """Judgements of predictions/test.jsonl; each dimension has the average."""
    name, _, model = label.partition(".")
    path = RunFolder(folder).judgements("test", label)
    header = JudgeHeader(
        judge=name,
        model={"name": model},
        samples=samples,
        prompt_hash="p",
        budget={},
        predictions_sha256=sha256_of_file(RunFolder(folder).predictions("test")),
        rows_sha256="r",
    )
    write_lines(path, [{"header": header.model_dump(mode="json")}])
    rows = [
        JudgeScoreRow(
            judge=name,
            model=model,
            dimension=dimension,
            mean=average,
            low=None if average is None else average - 0.25,
            high=None if average is None else average + 0.25,
            num_judged=6,
            num_gated=1,
            num_unscored=unscored,
            num_unparsed=1,
            num_missing=0,
        )
        for dimension in (*JUDGE_DIMENSIONS, AVERAGE, OVERALL)
    ]
    write_judge_scores(judge_scores_path(path), rows)


def score_tsl(folder: Path, mean: float, labels: str = "gt", policy: str = "background") -> None:
    """tsl300/tsl.json in which every metric has the same mean."""
    rows: Sequence[TslScoreRow] = [
        TslScoreRow(metric=metric, tiou=tiou, mean=mean, low=mean - 0.1, high=mean + 0.1)
        for metric in METRICS
        for tiou in (*TIOU_THRESHOLDS, None)
    ]
    results = TslResults(
        predictions_sha256="p",
        labels_sha256=labels,
        subset="test",
        reading=TslReading(reading="strict", open_emotions=policy, polarity={}, merged=True),
        tie_rule="misses first",
        num_replicates=10,
        seed=0,
        counts=TslCounts(
            num_videos=100,
            num_scored=90,
            num_unparsed=8,
            num_missing=2,
            num_truth_positive=352,
            num_truth_negative=232,
            num_predicted_positive=100,
            num_predicted_negative=50,
        ),
        rows=tuple(rows),
    )
    write_tsl_results(RunFolder(folder).tsl300("tsl"), results)
