"""The score files of a run, as far as they are about the exported weights.

A file of RUN/scores is a list of rows as `dar score` writes them; the first line of
RUN/predictions/NAME.jsonl says which weights gave the answers, and how they were asked. Scores of
other weights are no scores of this model: they are named and left out.

Example: `read_scores(RunFolder(run), {sha256})[0].rows["strict", "miou_segment"].mean`
"""

import json
import math
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affect.run_folder import RunFolder

_COUNTS = ("num_scored", "num_unparsed", "num_missing")


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric under one protocol: fractions, None where it has no value."""

    mean: float | None
    low: float | None
    high: float | None
    num_scored: int
    num_unparsed: int
    num_missing: int


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """One score file.

    rows: (protocol, metric) -> figure. asked: the header of the predictions, None where the run has
    no such file. left_out: why it says nothing about the exported model, else None.
    """

    name: str
    rows: Mapping[tuple[str, str], Figure]
    asked: Mapping[str, Any] | None
    left_out: str | None = None


def read_scores(run: RunFolder, weights: Set[str]) -> list[ScoreFile]:
    """Every score file of a run, by name.

    Args:
        weights: digests of the weights whose scores count: the checkpoint's and the export's.

    Raises:
        ValueError: a file that is no JSON, or rows with values that no score has.
    """
    return [_read(run, path, weights) for path in sorted((run.path / "scores").glob("*.json"))]


def _read(run: RunFolder, path: Path, weights: Set[str]) -> ScoreFile:
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON ({error}); remove it or score again") from error
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        return ScoreFile(path.stem, {}, None, "it holds no score rows")
    rows = {}
    for number, row in enumerate(content, 1):
        key, figure = _figure(row, f"{path}: row {number}")
        if key in rows:
            raise ValueError(f"{path}: row {number}: {key[1]} under {key[0]} stands there twice")
        rows[key] = figure
    asked = _asked(run.predictions(path.stem))
    answered_by = (asked or {}).get("model_sha256")
    other = answered_by is not None and answered_by not in weights
    return ScoreFile(path.stem, rows, asked, "other weights gave the answers" if other else None)


def _asked(path: Path) -> Mapping[str, Any] | None:
    if not path.is_file():
        return None
    with path.open(encoding="utf-8") as file:
        first = file.readline()
    try:
        header = json.loads(first)["header"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: line 1 is no header of predictions") from error
    if not isinstance(header, Mapping):
        raise ValueError(f"{path}: line 1 is no header of predictions")
    return header


def _figure(row: Mapping[str, Any], where: str) -> tuple[tuple[str, str], Figure]:
    protocol, metric = row.get("protocol"), row.get("metric")
    if not isinstance(protocol, str) or not isinstance(metric, str):
        raise ValueError(f"{where}: protocol and metric must be names")
    fractions = []
    for name in ("mean", "low", "high"):
        value = row.get(name)
        if value is not None and not (
            type(value) in (int, float) and math.isfinite(value) and 0 <= value <= 1
        ):
            raise ValueError(f"{where}: {name} is {value!r}, not a fraction from 0 to 1 or null")
        fractions.append(None if value is None else float(value))
    counts = [row.get(name) for name in _COUNTS]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ValueError(f"{where}: {', '.join(_COUNTS)} must be counts")
    return (protocol, metric), Figure(*fractions, *counts)  # type: ignore[arg-type]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")
