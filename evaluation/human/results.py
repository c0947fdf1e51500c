"""What a human evaluation comes to: means per system, agreement among experts and with judges.

    study/results.json      one `HumanResults`

Example: `read_human_results(Path("study/results.json")).rows[0].mean     # 3.62, of 0 to 5`
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from affect.atomic import write_text_atomic
from affect.coefficients import Coefficient
from affect.frozen import Frozen
from affect.judge_dimensions import JUDGE_DIMENSIONS
from evaluation.judge.judgements import AVERAGE
from evaluation.metrics.bootstrap import Bootstrap

RATED_COLUMNS = (*JUDGE_DIMENSIONS, AVERAGE)
"""The columns of table 3: the five dimensions, and the mean of an expert's five ratings."""

Failures = Literal["left_out", "zero"]
"""What a sampled clip without a readable segment counts: nothing, or 0 for each true segment."""

Level = Literal["segment", "within_system", "system"]
"""segment: over all segments; systems that differ in quality make it high by themselves.
within_system: over all segments, each as its distance from the mean of its system, so that only
what experts and judge say of one system's segments counts. system: over systems."""


class HumanScoreRow(Frozen):
    """One system's column. dimension: of RATED_COLUMNS. mean, low, high: 0 to 5, over all ratings,
    with a 95 % interval from a bootstrap over videos; None where nobody rated anything.

    num_ratings, num_missing: ratings that experts gave, and that they left open; in the column
    `average` an expert's five ratings of a segment are one, and missing unless all are there.
    num_zeros: what failed clips were counted as beside them, 0 unless failures are `zero`.
    num_videos: that the mean stands on.
    """

    system: str
    dimension: str
    mean: float | None
    low: float | None
    high: float | None
    num_ratings: int
    num_missing: int
    num_videos: int
    num_zeros: int = 0


class HumanSystem(Frozen):
    """What of one system was rated. num_videos: that were sampled; num_unparsed, num_missing: those
    of them whose reply held no segment, and that had no reply, so that there was nothing to rate.
    """

    system: str
    num_videos: int
    num_segments: int
    num_unparsed: int
    num_missing: int


class ExpertAgreementRow(Frozen):
    """How far experts agree on one of the five dimensions. alpha: Krippendorff's, ordinal.
    mean_kappa: of all pairs of experts, Cohen's with quadratic weights; None where no pair has one.
    num_pairs: with a kappa; num_undefined_pairs: the others.
    """

    dimension: str
    alpha: Coefficient
    mean_kappa: float | None
    num_pairs: int
    num_undefined_pairs: int


class Correlation(Frozen):
    """value: -1 to 1, None where `reason` says why not; low, high: a 95 % interval from a bootstrap
    over videos, None where there is none. num: pairs that it rests on."""

    value: float | None
    low: float | None
    high: float | None
    num: int
    reason: str | None = None


class JudgeAgreementRow(Frozen):
    """Experts against one judge on one column of RATED_COLUMNS.

    A segment is the mean of its experts' ratings beside the judge's score; a system is the means
    over its segments that have both.
    num_gated, num_unscored, num_not_judged, num_not_rated: segments that are no pair, since the
    judge was not asked, gave no score, or does not list them, or since no expert rated them.
    """

    judge: str
    level: Level
    dimension: str
    pearson: Correlation
    spearman: Correlation
    num_gated: int
    num_unscored: int
    num_not_judged: int
    num_not_rated: int


class HumanResults(Frozen):
    """All of one study. num_missing: expert -> ratings left open. seed: of the sample of videos.
    num_replicates, bootstrap_seed: behind the intervals."""

    name: str
    experts: tuple[str, ...]
    num_videos: int
    num_items: int
    failures: Failures
    seed: int
    systems: tuple[HumanSystem, ...]
    rows: tuple[HumanScoreRow, ...]
    num_missing: dict[str, int]
    expert_agreement: tuple[ExpertAgreementRow, ...]
    judge_agreement: tuple[JudgeAgreementRow, ...]
    comments: tuple[tuple[str, str, str], ...] = ()
    """Expert, item, text."""
    num_replicates: int = Bootstrap().num_replicates
    bootstrap_seed: int = Bootstrap().seed


def write_human_results(path: Path, results: HumanResults) -> None:
    """Whole or not at all."""
    write_text_atomic(path, results.model_dump_json(indent=2) + "\n")


def read_human_results(path: Path) -> HumanResults:
    """Raises ValueError naming the file for what is no such results."""
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file; read the ratings of the study first")
    try:
        return HumanResults.from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not the results of a human evaluation: {error}") from error


def system_rows(results: HumanResults, system: str) -> Sequence[HumanScoreRow]:
    """The columns of one system, in the order of RATED_COLUMNS."""
    return [row for row in results.rows if row.system == system]
