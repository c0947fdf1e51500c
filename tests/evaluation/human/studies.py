"""Small runs, their studies, and experts who fill in sheets, for the tests of this folder.

runs = write_runs(tmp_path, {"one": {"a": reply([[0, 8, "Joy"]])}, "two": {"a": None}})
key = write_study(tmp_path / "study", [load_run(run, "test") for run in runs], 1)
fill(tmp_path / "study" / "expert_1.csv", lambda line, name: "4")
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from affect.file_hash import sha256_of_file
from affect.judge_dimensions import JUDGE_DIMENSIONS
from evaluation.human.study import StudyKey
from evaluation.judge.judgements import (
    JUDGED_COLUMNS,
    JudgeHeader,
    JudgeScoreRow,
    SegmentJudgement,
    judge_scores_path,
    write_judge_scores,
)
from tests.evaluation.files import reply, sft_row, write_lines

TRUTH = [[0, 4, "Joy"], [4, 8, "Fear"]]
Line = dict[str, str]


def write_runs(
    root: Path, replies: Mapping[str, Mapping[str, str | None]], *, clip: bytes = b"a clip"
) -> list[Path]:
    """Run folders root/SYSTEM, all answering rows of the same clips, 8 s each with two segments.

    A reply of None is a row without an answer; all systems need the same clips.
    """
    clip_ids = list(next(iter(replies.values())))
    rows = write_lines(root / "rows.jsonl", [sft_row(one, TRUTH, 8.0) for one in clip_ids])
    for one in clip_ids:
        path = root / "videos" / f"{one}.mp4"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(clip)
    folders = []
    for system, texts in replies.items():
        header = {"model": system, "rows": str(rows), "video_root": str(root)}
        lines = [
            {"id": one, "text": text, "error": "no picture" if text is None else None}
            for one, text in texts.items()
        ]
        write_lines(root / system / "predictions" / "test.jsonl", [{"header": header}, *lines])
        folders.append(root / system)
    return folders


def two_segments(*emotions: str) -> str:
    """A reply of two segments over 8 s."""
    first, second = emotions or ("Joy", "Fear")
    return reply([[0, 4, first], [4, 8, second]])


def read_lines(path: Path) -> list[Line]:
    """A sheet as a spreadsheet shows it."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write_sheet(path: Path, lines: Sequence[Line], columns: Sequence[str] | None = None) -> None:
    """Overwrite a sheet, as a spreadsheet would."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns or list(lines[0]))
        writer.writeheader()
        writer.writerows(lines)


def fill(path: Path, rating: Callable[[Line, str], str]) -> None:
    """Rate all of a sheet; rating: (line, dimension) -> what goes into the cell."""
    lines = read_lines(path)
    for line in lines:
        for name in JUDGE_DIMENSIONS:
            line[name] = rating(line, name)
    write_sheet(path, lines)


def system_of(key: StudyKey) -> dict[str, str]:
    """Item id -> system."""
    return {item.id: item.system for item in key.items}


def write_judgements(
    run: Path,
    judgements: Sequence[SegmentJudgement],
    label: str = "judge_paper.gpt-4o",
    samples: int = 1,
) -> None:
    """A finished file of judgements on the run's replies, as a judge leaves it."""
    path = run / "judgements" / "test" / f"{label}.jsonl"
    judge, _, model = label.partition(".")
    header = JudgeHeader(
        judge=judge,
        model={"name": model},
        samples=samples,
        prompt_hash="0" * 64,
        budget={},
        predictions_sha256=sha256_of_file(run / "predictions" / "test.jsonl"),
        rows_sha256="0" * 64,
    )
    lines = [one.model_dump(mode="json") for one in judgements]
    write_lines(path, [{"header": header.model_dump(mode="json")}, *lines])
    score = dict.fromkeys(("mean", "low", "high"))
    counts = dict.fromkeys(
        ("num_judged", "num_gated", "num_unscored", "num_unparsed", "num_missing"), 0
    )
    write_judge_scores(
        judge_scores_path(path),
        [
            JudgeScoreRow.model_validate(
                {"judge": judge, "model": model, "dimension": name, **score, **counts}
            )
            for name in JUDGED_COLUMNS
        ],
    )


def judged(clip_id: str, segment: int, score: float) -> SegmentJudgement:
    """A segment with the same score on all dimensions."""
    return SegmentJudgement(
        id=clip_id,
        segment=segment,
        state="judged",
        scores=dict.fromkeys(JUDGE_DIMENSIONS, score),
        overall=score,
        num_samples=1,
    )
