"""What judging leaves: one line per predicted segment, and a row of scores per dimension.

    judgements/NAME/LABEL.jsonl         {"header": {...}}, then one `SegmentJudgement` per line
    judgements/NAME/LABEL.scores.json   a list of `JudgeScoreRow`

LABEL names judge and model (`judge_paper.gpt-4o`). Numbers of different judges, or of one judge
played by different models, stand in different files and are never averaged.

Example: `read_judgements(run.judgements("test", "judge_paper.gpt-4o")).of_clip("a")`
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ValidationError, model_validator

from affect.atomic import write_text_atomic
from affect.first_fault import first_fault
from affect.frozen import Frozen
from affect.jsonl import numbered_jsonl
from affect.judge_dimensions import JUDGE_DIMENSIONS, MAX_SCORE, MIN_SCORE

JUDGES = ("judge_paper", "judge_hardened")
AVERAGE, OVERALL = "average", "overall"
"""Beside the five: their mean ("Avg" of the paper's tables), and the judge's own `score`."""
JUDGED_COLUMNS = (*JUDGE_DIMENSIONS, AVERAGE, OVERALL)

State = Literal["judged", "gated", "unscored"]
"""judged: by a model. gated: worth 0 without asking anybody, `why` says for what. unscored: there
is nothing that can be used (too few usable samples, or the clip could not be shown, `why` says
which); it enters no mean, is counted, and the next run tries it again."""


class SegmentJudgement(Frozen):
    """One predicted segment as a judge saw it.

    id: of the clip. segment: its place among the predicted ones, from 0; None for a clip whose
    reply holds none that the judge reads, which then is gated as a whole and weighs `weight`
    segments. scores: 0 to 5 for all of JUDGE_DIMENSIONS (median of the samples), None if unscored.
    overall: the judge's own total, 0 to 5 (its median, too). comment: of the first sample whose
    overall lies nearest to that. num_samples: usable replies: what the medians stand on.
    """

    id: str
    segment: int | None
    state: State
    scores: dict[str, float] | None
    overall: float | None
    comment: str = ""
    why: str = ""
    num_samples: int = 0
    weight: int = 1

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.scores is None) != (self.state == "unscored"):
            raise ValueError("scores stand exactly where the segment is not unscored")
        if (self.overall is None) != (self.scores is None):
            raise ValueError("the overall score stands beside the five, or neither does")
        values = [*(self.scores or {}).values(), *([] if self.overall is None else [self.overall])]
        if self.scores is not None and set(self.scores) != set(JUDGE_DIMENSIONS):
            raise ValueError(f"scores for {', '.join(JUDGE_DIMENSIONS)} are needed")
        if not all(MIN_SCORE <= value <= MAX_SCORE for value in values):
            raise ValueError(f"scores lie between {MIN_SCORE} and {MAX_SCORE}, not {values}")
        return self

    @property
    def average(self) -> float | None:
        """The mean of the five; None if unscored."""
        if self.scores is None:
            return None
        return sum(self.scores[name] for name in JUDGE_DIMENSIONS) / len(JUDGE_DIMENSIONS)


class JudgeHeader(Frozen):
    """How the judgements came about.

    judge: of JUDGES. model: the model section's `identity`. samples: asked per segment.
    prompt_hash: of the judge's prompt. budget: of the frames it was shown.
    predictions_sha256, rows_sha256: of the content of the files that were judged.
    """

    judge: str
    model: dict[str, Any]
    samples: int
    prompt_hash: str
    budget: dict[str, Any]
    predictions_sha256: str
    rows_sha256: str


class JudgeScoreRow(Frozen):
    """One column of a judge. dimension: of JUDGED_COLUMNS. mean, low, high: 0 to 5, with a 95 %
    interval from a bootstrap over clips; None where nothing was scored.

    num_judged, num_gated, num_unscored: segments. num_unparsed, num_missing: clips whose reply
    held no segment that the judge reads, and clips without a reply.
    """

    judge: str
    model: str
    dimension: str
    mean: float | None
    low: float | None
    high: float | None
    num_judged: int
    num_gated: int
    num_unscored: int
    num_unparsed: int
    num_missing: int


@dataclass(frozen=True)
class JudgementFile:
    """What a file of judgements holds; the last word on each segment counts."""

    path: Path
    header: JudgeHeader
    segments: tuple[SegmentJudgement, ...]

    @property
    def label(self) -> str:
        """`judge_paper.gpt-4o`."""
        return self.path.name.removesuffix(".jsonl")

    def of_clip(self, clip_id: str) -> list[SegmentJudgement]:
        """In the order of the predicted segments; [] where nothing is said of the clip."""
        return list(self._by_clip.get(clip_id, ()))

    @cached_property
    def _by_clip(self) -> dict[str, list[SegmentJudgement]]:
        found: dict[str, list[SegmentJudgement]] = {}
        for one in sorted(self.segments, key=_place):
            found.setdefault(one.id, []).append(one)
        return found


def _place(one: SegmentJudgement) -> int:
    return -1 if one.segment is None else one.segment


def judge_label(judge: str, model: str) -> str:
    """LABEL: judge and model, as one file name. `judge_paper.Qwen_Qwen3-VL-32B-Instruct`."""
    return f"{judge}.{re.sub(r'[^A-Za-z0-9._-]+', '_', model)}"


def read_judgements(path: Path) -> JudgementFile:
    """Raises ValueError naming file and line for what is not as above."""
    header: JudgeHeader | None = None
    last: dict[tuple[str, int | None], SegmentJudgement] = {}
    for number, value in numbered_jsonl(path):
        try:
            if header is None:
                if set(value) != {"header"}:
                    raise ValueError('the first line must be {"header": {"judge": ...}}')
                header = JudgeHeader.model_validate(value["header"])
                continue
            one = SegmentJudgement.model_validate(value)
        except ValidationError as error:
            fault = first_fault(error, "line")
            raise ValueError(f"{path}:{number}: field {fault}") from error
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from error
        last[one.id, one.segment] = one
    if header is None:
        raise ValueError(f"{path}: is empty; a header line is needed")
    return JudgementFile(path, header, tuple(last.values()))


def judge_scores_path(judgements: Path) -> Path:
    """Where the scores of a file of judgements stand: beside it."""
    return judgements.with_name(judgements.name.removesuffix(".jsonl") + ".scores.json")


def write_judge_scores(path: Path, rows: Sequence[JudgeScoreRow]) -> None:
    """Write score rows as a JSON list, whole or not at all."""
    text = json.dumps([row.model_dump(mode="json") for row in rows], indent=2, allow_nan=False)
    write_text_atomic(path, text + "\n")


def read_judge_scores(path: Path) -> list[JudgeScoreRow]:
    """Raises ValueError naming the file for what is no such list."""
    try:
        return JudgeScoreRow.list_from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not a list of judge scores: {error}") from error
