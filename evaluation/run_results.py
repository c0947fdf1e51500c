"""All that is known of one run's replies to one file of rows: for reports, tables and trackers.

    run = load_run(Path("runs/demo/grpo"), "test")
    run.label, run.score("strict", "miou_segment").mean      # 'demo/grpo', 0.61
    run.judges["judge_paper.gpt-4o"].scores                   # list[JudgeScoreRow]
    run.training                                              # lines of metrics.jsonl, or ()

Scores are computed from the replies, not read from scores/NAME.json, so that they are always of
these rows and this code. Judgements are read as they are, and refused where they are of other
replies than those in predictions/.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from affect.file_hash import sha256_of_file
from affect.jsonl import read_jsonl
from affect.run_folder import RunFolder
from evaluation.clips import Truth, load_clips, read_truths
from evaluation.judge.judgements import (
    JudgementFile,
    JudgeScoreRow,
    judge_scores_path,
    read_judge_scores,
    read_judgements,
)
from evaluation.metrics import Bootstrap, Clip, ScoreRow, score_clips
from evaluation.predictions import PredictionFile, read_predictions


@dataclass(frozen=True)
class JudgeResults:
    """One judge's judgements, and the scores made of them."""

    judgements: JudgementFile
    scores: Sequence[JudgeScoreRow]


@dataclass(frozen=True)
class RunResults:
    """label: how the run is called in tables. name: of the predictions. truths and clips: in the
    order of the rows. judges: by label. rows_path, video_root: of the rows that were answered."""

    label: str
    folder: RunFolder
    name: str
    rows_path: Path
    video_root: Path
    predictions: PredictionFile
    truths: Sequence[Truth]
    clips: Sequence[Clip]
    judges: Mapping[str, JudgeResults]
    bootstrap: Bootstrap

    @cached_property
    def scores(self) -> list[ScoreRow]:
        """Under all protocols."""
        return score_clips(self.clips, None, self.bootstrap)

    def score(self, protocol: str, metric: str) -> ScoreRow:
        """Raises KeyError for what no protocol has."""
        for row in self.scores:
            if (row.protocol, row.metric) == (protocol, metric):
                return row
        raise KeyError((protocol, metric))

    @cached_property
    def training(self) -> tuple[dict[str, Any], ...]:
        """The run's metrics.jsonl, one dictionary per logged step; () where it trained nothing."""
        path = self.folder.metrics
        return tuple(read_jsonl(path)) if path.is_file() else ()


def load_run(
    path: Path,
    name: str,
    *,
    label: str | None = None,
    rows: Path | None = None,
    video_root: Path | None = None,
    bootstrap: Bootstrap | None = None,
) -> RunResults:
    """Read predictions/NAME.jsonl of a run folder, its rows, and what judges said.

    rows, video_root: where they are now, if not where the predictions' header says.
    Raises ValueError naming the file for what is not there or not of these replies.
    """
    folder = RunFolder(path)
    predictions, rows_path, video_root = find_answered(folder, name, rows, video_root)
    truths = read_truths(rows_path)
    return RunResults(
        label=label or default_label(path),
        folder=folder,
        name=name,
        rows_path=rows_path,
        video_root=video_root,
        predictions=predictions,
        truths=truths,
        clips=load_clips(truths, predictions),
        judges=_judges(folder, name, predictions.path),
        bootstrap=bootstrap or Bootstrap(),
    )


def find_answered(
    folder: RunFolder, name: str, rows: Path | None = None, video_root: Path | None = None
) -> tuple[PredictionFile, Path, Path]:
    """A run's predictions, the file of the rows that they answer, and the root of its videos.

    rows, video_root: as in `load_run`. Raises ValueError naming the file for what is not there.
    """
    predictions_path = folder.predictions(name)
    if not folder.path.is_dir():
        raise ValueError(f"{folder.path}: there is no such run folder")
    if not predictions_path.is_file():
        there = sorted(one.stem for one in predictions_path.parent.glob("*.jsonl"))
        known = (
            f"it has {', '.join(there)}" if there else "it has none yet; predict or import first"
        )
        raise ValueError(f"{predictions_path}: the run has no predictions {name!r}; {known}")
    predictions = read_predictions(predictions_path)
    header = predictions.header
    rows_path = rows or (Path(header.rows) if header.rows else None)
    if rows_path is None:
        raise ValueError(
            f"{predictions_path}: does not say which rows it answers; give --rows FILE"
        )
    if not rows_path.is_file():
        raise ValueError(f"{rows_path}: the rows are not there; name their file with --rows FILE")
    if video_root is None:
        video_root = Path(header.video_root) if header.video_root else rows_path.parent
    return predictions, rows_path, video_root


def default_label(path: Path) -> str:
    """`demo/grpo` of runs/demo/grpo; `videmo` of runs/videmo."""
    parts = path.resolve().parts[-2:]
    return parts[-1] if parts[0] == "runs" else "/".join(parts)


def _judges(folder: RunFolder, name: str, predictions_path: Path) -> dict[str, JudgeResults]:
    found: dict[str, JudgeResults] = {}
    sha256 = sha256_of_file(predictions_path)
    for path in sorted(folder.judgements(name, "any").parent.glob("*.jsonl")):
        scores_path = judge_scores_path(path)
        if not scores_path.is_file():
            continue  # judging was stopped: its means would be of some of the segments
        judgements = read_judgements(path)
        if judgements.header.predictions_sha256 != sha256:
            raise ValueError(
                f"{path}: judges other replies than {predictions_path} holds now; move it away, "
                "and judge again"
            )
        found[judgements.label] = JudgeResults(judgements, read_judge_scores(scores_path))
    return found
