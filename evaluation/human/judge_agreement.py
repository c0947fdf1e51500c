"""Experts beside the judges that have judged the same replies: Pearson's and Spearman's.

    rows = agree_with_judges(key, item_means(ratings), {"demo/grpo": run.judges, ...}, Bootstrap())

A pair is a predicted segment that at least one expert rated and that the judge was asked about and
scored. Segments that the judge gated at 0 without a call, left unscored or does not list, and
segments that nobody rated, are no pairs; they are counted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args

import numpy as np

from evaluation.human.correlations import correlate, correlate_systems
from evaluation.human.results import RATED_COLUMNS, Correlation, JudgeAgreementRow, Level
from evaluation.human.study import StudyKey
from evaluation.judge.judgements import AVERAGE, JudgementFile, SegmentJudgement
from evaluation.metrics.bootstrap import Bootstrap
from evaluation.run_results import JudgeResults

Means = Mapping[str, Mapping[str, float | None]]
"""Item id -> RATED_COLUMNS -> mean over experts (`scores.item_means`)."""


@dataclass
class _Pairs:
    """Of one column. video, system: places in the study's."""

    video: list[int] = field(default_factory=list)
    system: list[int] = field(default_factory=list)
    expert: list[float] = field(default_factory=list)
    judge: list[float] = field(default_factory=list)
    num_not_rated: int = 0


def agree_with_judges(
    key: StudyKey,
    means: Means,
    judges: Mapping[str, Mapping[str, JudgeResults]],
    bootstrap: Bootstrap,
) -> list[JudgeAgreementRow]:
    """By judge, level and column. judges: system -> label of a judge -> what it said.

    Raises ValueError where a judge judged two systems in different ways.
    """
    labels = sorted({label for by_label in judges.values() for label in by_label})
    rows: list[JudgeAgreementRow] = []
    for label in labels:
        files = {
            system: by_label[label].judgements
            for system, by_label in judges.items()
            if label in by_label
        }
        _check_same_judge(files)
        rows.extend(_judge_rows(key, means, label, files, bootstrap))
    return rows


def _check_same_judge(files: Mapping[str, JudgementFile]) -> None:
    first, *others = files.values()
    for other in others:
        asked, also = (
            one.header.model_dump(exclude={"predictions_sha256", "rows_sha256"})
            for one in (first, other)
        )
        differing = [name for name in asked if asked[name] != also[name]]
        if differing:
            raise ValueError(
                f"{other.path}: judged in another way than {first.path} ({', '.join(differing)}); "
                "judge both again with one configuration"
            )


def _judge_rows(
    key: StudyKey,
    means: Means,
    label: str,
    files: Mapping[str, JudgementFile],
    bootstrap: Bootstrap,
) -> list[JudgeAgreementRow]:
    judgements = _of_items(key, files)
    num_of = Counter("absent" if one is None else one.state for one in judgements.values())
    pairs = {name: _pairs(key, means, judgements, name) for name in RATED_COLUMNS}
    rows = []
    for level in get_args(Level):
        for name, found in pairs.items():
            pearson, spearman = _correlate(key, found, level, bootstrap)
            rows.append(
                JudgeAgreementRow(
                    judge=label,
                    level=level,
                    dimension=name,
                    pearson=pearson,
                    spearman=spearman,
                    num_gated=num_of["gated"],
                    num_unscored=num_of["unscored"],
                    num_not_judged=num_of["absent"],
                    num_not_rated=found.num_not_rated,
                )
            )
    return rows


def _of_items(
    key: StudyKey, files: Mapping[str, JudgementFile]
) -> dict[str, SegmentJudgement | None]:
    """Item id -> what the judge said of that segment, or of its clip as a whole; None: nothing."""
    said = {
        (system, one.id, one.segment): one
        for system, file in files.items()
        for one in file.segments
    }
    return {
        item.id: said.get((item.system, item.row_id, item.segment))
        or said.get((item.system, item.row_id, None))
        for item in key.items
    }


def _pairs(
    key: StudyKey,
    means: Means,
    judgements: Mapping[str, SegmentJudgement | None],
    column: str,
) -> _Pairs:
    place_of_video = {video: place for place, video in enumerate(key.videos)}
    place_of_system = {system: place for place, system in enumerate(key.systems)}
    found = _Pairs()
    for item in key.items:
        expert, judgement = means[item.id][column], judgements[item.id]
        if expert is None:
            found.num_not_rated += 1
        if expert is None or judgement is None or judgement.state != "judged":
            continue
        score = _score(judgement, column)
        found.video.append(place_of_video[item.row_id])
        found.system.append(place_of_system[item.system])
        found.expert.append(expert)
        found.judge.append(score)
    return found


def _score(judgement: SegmentJudgement, column: str) -> float:
    score = judgement.average if column == AVERAGE else (judgement.scores or {})[column]
    assert score is not None, judgement
    return score


def _correlate(
    key: StudyKey, pairs: _Pairs, level: Level, bootstrap: Bootstrap
) -> tuple[Correlation, Correlation]:
    if level == "system":
        return _of_systems(pairs, len(key.videos), len(key.systems), bootstrap)
    sides = pairs.expert, pairs.judge
    if level == "within_system":
        sides = _distances(pairs.expert, pairs.system), _distances(pairs.judge, pairs.system)
    return correlate(pairs.video, *sides, len(key.videos), bootstrap)


def _distances(values: Sequence[float], systems: Sequence[int]) -> list[float]:
    """From the mean of each value's system; rounded, since what is equal is to stay so."""
    of_system: dict[int, list[float]] = {}
    for value, system in zip(values, systems, strict=True):
        of_system.setdefault(system, []).append(value)
    means = {system: sum(found) / len(found) for system, found in of_system.items()}
    return [round(value - means[system], 9) for value, system in zip(values, systems, strict=True)]


def _of_systems(
    pairs: _Pairs, num_videos: int, num_systems: int, bootstrap: Bootstrap
) -> tuple[Correlation, Correlation]:
    shape = num_videos, num_systems
    experts, judge, counts = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    place = (np.array(pairs.video, dtype=int), np.array(pairs.system, dtype=int))
    np.add.at(experts, place, pairs.expert)
    np.add.at(judge, place, pairs.judge)
    np.add.at(counts, place, 1.0)
    return correlate_systems(experts, judge, counts, bootstrap)
