"""What an analysis of one run's replies holds, under one protocol.

    document = analyse(truths, clips, protocol="strict")      # evaluation.analysis.analyse
    document.emotions[0].emotion, document.emotions[0].recall.mean
    write_analysis(run.analysis("test"), [document, ...])      # one per protocol

Shares are fractions from 0 to 1, with 95 % intervals from a bootstrap over clips; None where
nothing defines them. Every share stands beside the counts it is made of.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from affect.atomic import write_text_atomic
from affect.frozen import Frozen

NOTHING = "(none)"
"""In the confusion matrix: the partner that a segment did not find."""


class Share(Frozen):
    """numerator / denominator as `mean`, and its interval; all None where the denominator is 0."""

    mean: float | None
    low: float | None
    high: float | None
    numerator: float
    denominator: float


class EmotionRow(Frozen):
    """One of the 27, in their order. num_truth, num_predicted: segments in clips that count under
    the protocol. num_correct: pairs with this label on both sides and tIoU >= .5. precision,
    recall, f1: of that (`evaluation.analysis.emotions`). mean_tiou: over the truth's segments of
    this emotion (a segment without partner is 0)."""

    emotion: str
    num_truth: int
    num_predicted: int
    num_correct: int
    precision: Share
    recall: Share
    f1: Share
    mean_tiou: Share


class Confusion(Frozen):
    """counts[i][j]: places where the truth says labels[i] and the reply labels[j]. labels: DAR's
    27, labels outside them that replies used (sorted; `evaluation.analysis.labels` says how many),
    and NOTHING last."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class Transitions(Frozen):
    """truth, predicted: [i][j] counts of changes from labels[i] to labels[j], of all clips and of
    scored ones. labels: the confusion's without NOTHING. distance: total variation between the two
    distributions over changes, 0 to 1; None where a side has no change."""

    labels: tuple[str, ...]
    truth: tuple[tuple[int, ...], ...]
    predicted: tuple[tuple[int, ...], ...]
    num_truth: int
    num_predicted: int
    distance: float | None


class Bin(Frozen):
    """from_seconds <= error < to_seconds; an open end is None."""

    from_seconds: float | None
    to_seconds: float | None
    count: int


class BoundaryErrors(Frozen):
    """Of inner boundaries, predicted minus true, each true one with at most one predicted.

    bins: histogram of the errors in seconds, symmetric around 0. mean_absolute_seconds,
    median_seconds: of those that have a partner, the median with its sign (below 0: too early);
    None where none has. within: seconds as text ("0.5") -> share of the truth's boundaries that a
    reply meets within that; missed ones do not. num_missed: true ones without partner; num_extra:
    predicted ones.
    """

    bins: tuple[Bin, ...]
    num_paired: int
    num_missed: int
    num_extra: int
    mean_absolute_seconds: float | None
    median_seconds: float | None
    within: dict[str, Share]


class Group(Frozen):
    """Some of the clips. name: "10-15 s", "3", "Animals", "(untagged)". metrics: the protocol's."""

    name: str
    num_clips: int
    num_scored: int
    num_unparsed: int
    num_missing: int
    metrics: dict[str, Share]


class Breakdown(Frozen):
    """by: `duration`, `num_segments` (of the truth), `genre`, `scene`."""

    by: str
    groups: tuple[Group, ...]


class Analysis(Frozen):
    """One protocol's view of one file of predictions. The three counts add up to the clips."""

    protocol: str
    num_scored: int
    num_unparsed: int
    num_missing: int
    emotions: tuple[EmotionRow, ...]
    confusion: Confusion
    transitions: Transitions
    boundaries: BoundaryErrors
    breakdowns: tuple[Breakdown, ...]


def write_analysis(path: Path, documents: Sequence[Analysis]) -> None:
    """Write a JSON list, one object per protocol, whole or not at all."""
    text = json.dumps([one.model_dump(mode="json") for one in documents], allow_nan=False)
    write_text_atomic(path, text + "\n")


def read_analysis(path: Path) -> list[Analysis]:
    """Raises ValueError naming the file for what is no such list."""
    try:
        return Analysis.list_from_json(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: not an analysis: {error}") from error
