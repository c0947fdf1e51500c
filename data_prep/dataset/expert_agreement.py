"""What the experts' ratings say: per question means, shares accepted, and how far experts agree.

    report = expert_agreement(ratings)
    report.questions["grounding"].share_accepted     # 0.93
    report.questions["grounding"].alpha              # Coefficient(value=0.71, num=412)

A rating that was not given is missing: it is counted as that and enters no mean and no coefficient.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from affect.coefficients import Coefficient, fleiss_kappa, krippendorff_alpha, weighted_kappa
from affect.frozen import Frozen
from data_prep.dataset.sheet_items import MIN_ACCEPTED, QUESTIONS, RATINGS, SheetItem


@dataclass(frozen=True)
class ExpertRatings:
    """All that was read back. ratings: question -> expert -> item id -> rating or None; every
    expert has every item. comments: (expert, item id, text) where one was written."""

    experts: tuple[str, ...]
    items: tuple[SheetItem, ...]
    ratings: Mapping[str, Mapping[str, Mapping[str, int | None]]]
    comments: tuple[tuple[str, str, str], ...]


class RatingSummary(Frozen):
    """Over all experts and items. mean: 1 to 5. share_accepted: of ratings from MIN_ACCEPTED on.
    Both None where no rating was given."""

    num_ratings: int
    num_missing: int
    mean: float | None
    share_accepted: float | None


class QuestionAgreement(RatingSummary):
    """splits: the same of each split. pair_kappas: "a and b" -> Cohen's kappa with quadratic
    weights, over what both rated. fleiss: ratings as mere names, over what all rated.
    alpha: Krippendorff's, ordinal, over all there is."""

    splits: dict[str, RatingSummary]
    pair_kappas: dict[str, Coefficient]
    fleiss: Coefficient
    alpha: Coefficient


class ExpertAgreement(Frozen):
    """num_missing: expert -> ratings not given. comments: expert, item, text."""

    experts: tuple[str, ...]
    num_videos: dict[str, int]
    num_items: dict[str, int]
    num_missing: dict[str, int]
    questions: dict[str, QuestionAgreement]
    comments: tuple[tuple[str, str, str], ...]


def expert_agreement(read: ExpertRatings) -> ExpertAgreement:
    """The report on one validation."""
    splits = sorted({item.split for item in read.items})
    of_split = {split: [item for item in read.items if item.split == split] for split in splits}
    return ExpertAgreement(
        experts=read.experts,
        num_videos={
            split: len({item.row_id for item in items}) for split, items in of_split.items()
        },
        num_items={split: len(items) for split, items in of_split.items()},
        num_missing={
            expert: sum(
                rating is None
                for by_expert in read.ratings.values()
                for rating in by_expert[expert].values()
            )
            for expert in read.experts
        },
        questions={name: _question(read, name, of_split) for name in QUESTIONS},
        comments=read.comments,
    )


def _question(
    read: ExpertRatings, name: str, of_split: Mapping[str, Sequence[SheetItem]]
) -> QuestionAgreement:
    by_expert = read.ratings[name]

    def of_items(items: Iterable[SheetItem]) -> list[list[int | None]]:
        return [[by_expert[expert][item.id] for expert in read.experts] for item in items]

    everything = of_items(read.items)
    return QuestionAgreement(
        **_summary(everything).model_dump(),
        splits={split: _summary(of_items(items)) for split, items in of_split.items()},
        pair_kappas={
            f"{read.experts[one]} and {read.experts[other]}": _pair_kappa(everything, one, other)
            for one, other in combinations(range(len(read.experts)), 2)
        },
        fleiss=fleiss_kappa(everything, RATINGS),
        alpha=krippendorff_alpha(everything, RATINGS, "ordinal"),
    )


def _summary(items: Sequence[Sequence[int | None]]) -> RatingSummary:
    given = [rating for item in items for rating in item if rating is not None]
    num_accepted = sum(rating >= MIN_ACCEPTED for rating in given)
    return RatingSummary(
        num_ratings=len(given),
        num_missing=sum(map(len, items)) - len(given),
        mean=sum(given) / len(given) if given else None,
        share_accepted=num_accepted / len(given) if given else None,
    )


def _pair_kappa(items: Sequence[Sequence[int | None]], one: int, other: int) -> Coefficient:
    first, second = [], []
    for item in items:
        a, b = item[one], item[other]
        if a is not None and b is not None:
            first.append(a)
            second.append(b)
    return weighted_kappa(first, second, RATINGS)
