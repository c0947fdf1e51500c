"""Means per system and dimension over all experts' ratings, with intervals over videos.

    mean of a dimension = sum of all its ratings / their number
    mean of `average`   = sum of (mean of an expert's five ratings of a segment) / number of those
                          (expert, segment) of which all five were given

Example: two experts give one segment causal logic 4 and 3, and one of them a second segment 2: the
mean is (4 + 3 + 2) / 3 = 3.0 over 3 ratings, 1 missing. A rating left open enters nothing.

With failures `zero`, a clip of which nothing could be rated adds to every column a 0 for each
segment of its truth and each expert, as the judges count it.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.sheets.agreement import agree
from affect.sheets.ratings import ExpertRatings
from evaluation.human.questions import FORM
from evaluation.human.results import (
    RATED_COLUMNS,
    ExpertAgreementRow,
    Failures,
    HumanScoreRow,
    HumanSystem,
)
from evaluation.human.study import StudyItem, StudyKey
from evaluation.metrics.bootstrap import Bootstrap, divide, interval, replicate_means

Ratings = ExpertRatings[StudyItem]


def item_ratings(ratings: Ratings, item_id: str) -> dict[str, list[float | None]]:
    """RATED_COLUMNS -> one value per expert, None where he left it open, or, for `average`, any of
    the five."""
    columns: dict[str, list[float | None]] = {
        name: list(ratings.of_item(name, item_id)) for name in JUDGE_DIMENSIONS
    }
    by_expert = zip(*(columns[name] for name in JUDGE_DIMENSIONS), strict=True)
    columns[RATED_COLUMNS[-1]] = [_mean_of_all(five) for five in by_expert]
    return columns


def _mean_of_all(five: Sequence[float | None]) -> float | None:
    given = [rating for rating in five if rating is not None]
    return sum(given) / len(given) if len(given) == len(five) else None


def item_means(ratings: Ratings) -> dict[str, dict[str, float | None]]:
    """Item id -> RATED_COLUMNS -> mean over the experts who rated it, None where nobody did."""
    means: dict[str, dict[str, float | None]] = {}
    for item in ratings.items:
        means[item.id] = {}
        for name, values in item_ratings(ratings, item.id).items():
            given = [value for value in values if value is not None]
            means[item.id][name] = sum(given) / len(given) if given else None
    return means


def score_systems(
    key: StudyKey, ratings: Ratings, failures: Failures, bootstrap: Bootstrap
) -> list[HumanScoreRow]:
    """By system, in the order of the study, and column. All systems are resampled with the same
    draws of videos."""
    place_of = {video: place for place, video in enumerate(key.videos)}
    per_item = {item.id: item_ratings(ratings, item.id) for item in key.items}
    return [
        row
        for system in key.systems
        for row in _system_rows(key, system, per_item, place_of, failures, bootstrap)
    ]


def _system_rows(
    key: StudyKey,
    system: str,
    per_item: Mapping[str, Mapping[str, Sequence[float | None]]],
    place_of: Mapping[str, int],
    failures: Failures,
    bootstrap: Bootstrap,
) -> list[HumanScoreRow]:
    shape = len(place_of), len(RATED_COLUMNS)
    sums, counts = np.zeros(shape), np.zeros(shape)
    num_missing = np.zeros(len(RATED_COLUMNS), dtype=int)
    for item in key.items:
        if item.system != system:
            continue
        for column, name in enumerate(RATED_COLUMNS):
            values = per_item[item.id][name]
            given = [value for value in values if value is not None]
            sums[place_of[item.row_id], column] += sum(given)
            counts[place_of[item.row_id], column] += len(given)
            num_missing[column] += len(values) - len(given)
    num_ratings = counts.sum(axis=0)
    num_zeros = 0
    if failures == "zero":
        for answer in key.answers:
            if answer.system == system and answer.status != "rated":
                zeros = answer.num_true_segments * len(key.experts)
                counts[place_of[answer.row_id]] += zeros
                num_zeros += zeros
    means = divide(sums.sum(axis=0), counts.sum(axis=0))
    replicates = replicate_means(sums, counts, bootstrap)
    rows = []
    for column, name in enumerate(RATED_COLUMNS):
        within = interval(replicates[:, column], bootstrap.confidence)
        is_defined = counts[:, column].any()
        rows.append(
            HumanScoreRow(
                system=system,
                dimension=name,
                mean=float(means[column]) if is_defined else None,
                low=within[0] if within and is_defined else None,
                high=within[1] if within and is_defined else None,
                num_ratings=int(num_ratings[column]),
                num_missing=int(num_missing[column]),
                num_videos=int(np.count_nonzero(counts[:, column])),
                num_zeros=num_zeros,
            )
        )
    return rows


def count_systems(key: StudyKey) -> list[HumanSystem]:
    """What there was to rate of each system."""
    return [
        HumanSystem(
            system=system,
            num_videos=len(key.videos),
            num_segments=sum(item.system == system for item in key.items),
            num_unparsed=_num_answers(key, system, "unparsed"),
            num_missing=_num_answers(key, system, "missing"),
        )
        for system in key.systems
    ]


def _num_answers(key: StudyKey, system: str, status: str) -> int:
    return sum(answer.system == system and answer.status == status for answer in key.answers)


def agree_experts(ratings: Ratings) -> list[ExpertAgreementRow]:
    """Over the segments of all systems, by dimension."""
    rows = []
    for name in JUDGE_DIMENSIONS:
        agreement = agree(ratings, name, FORM.ratings)
        num_pairs = sum(one.value is not None for one in agreement.pair_kappas.values())
        rows.append(
            ExpertAgreementRow(
                dimension=name,
                alpha=agreement.alpha,
                mean_kappa=agreement.mean_pair_kappa,
                num_pairs=num_pairs,
                num_undefined_pairs=len(agreement.pair_kappas) - num_pairs,
            )
        )
    return rows
