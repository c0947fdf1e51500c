"""SC-Acc, mIoU and Emo-Acc under one protocol, and their differences to a base.

Example: `localisation(systems, "strict", Bootstrap()).cells["SFT"][1].mean`      # mIoU
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.metrics import PROTOCOLS, Bootstrap, ClipScore
from evaluation.metrics.over_seeds import (
    Parts,
    SeedMean,
    difference_over_seeds,
    mean_over_seeds,
)
from evaluation.metrics.summary import metric_parts
from evaluation.paper_tables.document import Cell, Column, Count, Difference
from evaluation.paper_tables.systems import System
from evaluation.run_results import RunResults
from evaluation.tables import PAPER_METRICS, metric_title


@dataclass(frozen=True, slots=True)
class Localisation:
    """columns: three. cells and counts by label."""

    columns: tuple[Column, ...]
    cells: dict[str, tuple[Cell, ...]]
    counts: dict[str, Count]
    differences: tuple[Difference, ...]


def localisation(
    systems: Sequence[System], protocol: str, bootstrap: Bootstrap, base: str | None = None
) -> Localisation:
    """The three columns of all systems; differences to `base` where it is among them."""
    columns = tuple(
        Column(key=key, title=_title(protocol, key), unit="percent") for key in PAPER_METRICS
    )
    scores = {one.label: [_scores(run, protocol) for run in one.runs] for one in systems}
    parts = {
        label: [_parts(of_run, protocol) for of_run in of_runs] for label, of_runs in scores.items()
    }
    cells = {
        label: tuple(_cell(value) for value in mean_over_seeds(of_runs, bootstrap))
        for label, of_runs in parts.items()
    }
    differences = [
        Difference(
            label=label, base=base, column=key, mean=value.mean, low=value.low, high=value.high
        )
        for label, of_runs in parts.items()
        if base in parts and base is not None and label != base
        for key, value in zip(
            PAPER_METRICS, difference_over_seeds(parts[base], of_runs, bootstrap), strict=True
        )
    ]
    counts = {label: _count(of_runs) for label, of_runs in scores.items()}
    return Localisation(columns, cells, counts, tuple(differences))


def _title(protocol: str, key: str) -> str:
    # The caption says that it is per segment; the paper heads the column so.
    return "mIoU" if key == "miou_segment" else metric_title(protocol, key)


def _scores(run: RunResults, protocol: str) -> list[ClipScore]:
    return [PROTOCOLS[protocol].score_clip(clip) for clip in run.clips]


def _parts(scores: Sequence[ClipScore], protocol: str) -> Parts:
    numerators, denominators = metric_parts(scores, PROTOCOLS[protocol])
    columns = [list(PROTOCOLS[protocol].metrics).index(key) for key in PAPER_METRICS]
    return numerators[:, columns], denominators[:, columns]


def _cell(value: SeedMean) -> Cell:
    return Cell(
        mean=value.mean,
        low=value.low if value.mean is not None else None,
        high=value.high if value.mean is not None else None,
        by_run=value.by_seed if len(value.by_seed) > 1 else (),
        why="the protocol counts none of its replies" if value.mean is None else None,
    )


def _count(runs: Sequence[Sequence[ClipScore]]) -> Count:
    statuses = [score.status for of_run in runs for score in of_run]
    parts = {name: statuses.count(name) for name in ("scored", "unparsed", "missing")}
    return Count(of="clips", parts=parts)
