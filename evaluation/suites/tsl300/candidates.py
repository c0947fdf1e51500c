"""What enters the protocol: stretches that a model calls positive or negative, each with a score.

Read from a file in TSL-300's own form, the one that its script scores:

    {"version": "VERSION 1.3", "external_data": {}, "results": {"102_Ekman6_surprise_408": [
        {"label": "p", "score": 0.83, "segment": [18.2, 31.0]}, ...]}}

How replies become the same is said in `evaluation.suites.tsl300.replies`.

Example: `read_tsl_file(Path("detections.json")).candidates["102_Ekman6_surprise_408"][0].score`
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affect.file_hash import sha256_of_file
from evaluation.suites.tsl300.json_file import read_object
from evaluation.suites.tsl300.labels import POLARITY_OF_LETTER, Polarity


@dataclass(frozen=True, slots=True)
class Candidate:
    """One stretch. A reversed or empty one has no length, overlaps nothing, and counts as wrong."""

    polarity: Polarity
    start_seconds: float
    end_seconds: float
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Candidates:
    """By video; a video with an empty list was answered with nothing, one without is missing.

    unparsed: videos with a reply that could not be read. num_background, num_unknown_emotion: as
    in `TslCounts`. sha256: of the file they came from.
    """

    path: Path
    sha256: str
    candidates: Mapping[str, Sequence[Candidate]]
    unparsed: frozenset[str] = frozenset()
    num_background: int = 0
    num_unknown_emotion: int = 0


def is_tsl_file(path: Path) -> bool:
    """Whether a file is one object with `results`, not lines of predictions."""
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "results" in value


def read_tsl_file(path: Path) -> Candidates:
    """Raises ValueError naming file, video and field for what is not as above."""
    value = read_object(path)
    unknown = sorted(set(value) - {"results", "version", "external_data"})
    if unknown:
        raise ValueError(f"{path}: {unknown[0]}: unknown field beside 'results'")
    results = value.get("results")
    if not isinstance(results, dict):
        raise ValueError(f"{path}: results: an object of lists by video is needed")
    found: dict[str, list[Candidate]] = {}
    for video_id, stored in results.items():
        if not isinstance(stored, list):
            raise ValueError(f"{path}: {video_id}: a list is needed, not {type(stored).__name__}")
        found[video_id] = [
            _candidate(f"{path}: {video_id}[{index}]", one) for index, one in enumerate(stored)
        ]
    return Candidates(path, sha256_of_file(path), found)


def _candidate(where: str, stored: Any) -> Candidate:
    if not isinstance(stored, dict) or set(stored) != {"label", "score", "segment"}:
        raise ValueError(f"{where}: an object with 'label', 'score' and 'segment' is needed")
    label = stored["label"]
    polarity = POLARITY_OF_LETTER.get(label) if isinstance(label, str) else None
    if polarity is None:
        raise ValueError(f"{where}: label: p or n is needed, not {label!r}")
    times = stored["segment"]
    if not isinstance(times, list) or len(times) != 2:
        raise ValueError(f"{where}: segment: a start and an end are needed, not {times!r}")
    start_seconds, end_seconds = (_number(f"{where}: segment", time) for time in times)
    return Candidate(
        polarity, start_seconds, end_seconds, _number(f"{where}: score", stored["score"])
    )


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}: a number is needed, not {value!r}")
    # The bound comes first: float() of an integer beyond it raises.
    if not abs(value) < 1e12 or not math.isfinite(value):
        raise ValueError(f"{where}: a finite number is needed, not {value!r}")
    return float(value)
