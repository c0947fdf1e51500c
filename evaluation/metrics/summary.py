"""From clips to score rows: means with intervals and counts, and paired differences.

One row, as it stands in scores/NAME.json (fractions; null where no clip gives the metric a value):

    {"protocol": "strict", "metric": "miou_segment", "mean": 0.61, "low": 0.55, "high": 0.67,
     "num_scored": 97, "num_unparsed": 3, "num_missing": 0}

The three counts add up to the number of clips. Example: `score_clips(clips)`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from evaluation.metrics.bootstrap import (
    Bootstrap,
    FloatArray,
    divide,
    interval,
    replicate_all,
)
from evaluation.metrics.clips import Clip, ClipScore
from evaluation.metrics.protocols import Protocol, choose_protocols

# Two sums of the same numbers in another order differ by less; no metric's steps are as small.
_NO_DIFFERENCE = 1e-12


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One metric under one protocol, with its interval and the counts it stands on."""

    protocol: str
    metric: str
    mean: float | None
    low: float | None
    high: float | None
    num_scored: int
    num_unparsed: int
    num_missing: int

    def to_dict(self) -> dict[str, Any]:
        """The row as it is written."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """`other` minus `base` over the same clips, drawn in pairs; fractions, None as in ScoreRow.

    share_above_zero: share of the replicates with a value in which the difference is above 0
        (by more than 1e-12; equal systems have 0). It says how often resampling keeps the sign
        and is no probability that `other` is better. None where no replicate has a value.
    """

    protocol: str
    metric: str
    base: str
    other: str
    difference: float | None
    low: float | None
    high: float | None
    num_clips: int
    share_above_zero: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as it is written."""
        return asdict(self)


def metric_parts(scores: Sequence[ClipScore], protocol: Protocol) -> tuple[FloatArray, FloatArray]:
    """Numerators and denominators, each (clips, metrics)."""
    parts = np.array(
        [[metric(score) for metric in protocol.metrics.values()] for score in scores],
        dtype=np.float64,
    )
    return parts[..., 0], parts[..., 1]


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _check(clips: Sequence[Clip]) -> None:
    if not clips:
        raise ValueError("there is no clip to score: the rows file is empty")


def score_clips(
    clips: Sequence[Clip],
    protocols: Sequence[str] | None = None,
    bootstrap: Bootstrap | None = None,
) -> list[ScoreRow]:
    """Score clips under the named protocols (all by default), in the order of the tables.

    Raises ValueError for an unknown protocol or when there is no clip.
    """
    _check(clips)
    bootstrap = bootstrap or Bootstrap()
    chosen = choose_protocols(list(protocols or ()))
    scored = [[protocol.score_clip(clip) for clip in clips] for protocol in chosen]
    parts = [
        metric_parts(scores, protocol) for scores, protocol in zip(scored, chosen, strict=True)
    ]
    rows: list[ScoreRow] = []
    for protocol, scores, (numerators, denominators), replicates in zip(
        chosen, scored, parts, replicate_all(parts, bootstrap), strict=True
    ):
        means = divide(numerators.sum(axis=0), denominators.sum(axis=0))
        statuses = [score.status for score in scores]
        for column, metric in enumerate(protocol.metrics):
            bounds = interval(replicates[:, column], bootstrap.confidence)
            rows.append(
                ScoreRow(
                    protocol=protocol.name,
                    metric=metric,
                    mean=_number(means[column]),
                    low=bounds[0] if bounds else None,
                    high=bounds[1] if bounds else None,
                    num_scored=statuses.count("scored"),
                    num_unparsed=statuses.count("unparsed"),
                    num_missing=statuses.count("missing"),
                )
            )
    return rows


def compare_clips(
    base: tuple[str, Sequence[Clip]],
    other: tuple[str, Sequence[Clip]],
    protocols: Sequence[str] | None = None,
    bootstrap: Bootstrap | None = None,
) -> list[DifferenceRow]:
    """`other` minus `base`, metric by metric, paired over the same clips in the same order.

    Under `released` each side leaves out its own failures, so the means it subtracts may stand on
    different clips; the draws are paired all the same.
    """
    (base_name, base_clips), (other_name, other_clips) = base, other
    _check(base_clips)
    assert [clip.id for clip in base_clips] == [clip.id for clip in other_clips]
    bootstrap = bootstrap or Bootstrap()
    chosen = choose_protocols(list(protocols or ()))
    base_parts, other_parts = (
        [
            metric_parts([protocol.score_clip(clip) for clip in clips], protocol)
            for protocol in chosen
        ]
        for clips in (base_clips, other_clips)
    )
    replicates = replicate_all([*base_parts, *other_parts], bootstrap)
    rows: list[DifferenceRow] = []
    for position, protocol in enumerate(chosen):
        sides = base_parts[position], other_parts[position]
        base_means, other_means = (divide(n.sum(axis=0), d.sum(axis=0)) for n, d in sides)
        differences = replicates[len(chosen) + position] - replicates[position]
        for column, metric in enumerate(protocol.metrics):
            bounds = interval(differences[:, column], bootstrap.confidence)
            rows.append(
                DifferenceRow(
                    protocol=protocol.name,
                    metric=metric,
                    base=base_name,
                    other=other_name,
                    difference=_number(other_means[column] - base_means[column]),
                    low=bounds[0] if bounds else None,
                    high=bounds[1] if bounds else None,
                    num_clips=len(base_clips),
                    share_above_zero=_share_above_zero(differences[:, column]),
                )
            )
    return rows


def _share_above_zero(differences: FloatArray) -> float | None:
    values = differences[~np.isnan(differences)]
    return float(np.mean(values > _NO_DIFFERENCE)) if len(values) else None
