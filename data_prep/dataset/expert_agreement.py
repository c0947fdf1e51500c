"""What the experts' ratings say: per question means, shares accepted, and how far experts agree.

    report = expert_agreement(ratings)
    report.questions["grounding"].share_accepted     # 0.93
    report.questions["grounding"].alpha              # Coefficient(value=0.71, num=412)

A rating that was not given is missing: it is counted as that and enters no mean and no coefficient.
"""

from collections.abc import Iterable, Mapping, Sequence

from affect.coefficients import Coefficient
from affect.frozen import Frozen
from affect.sheets.agreement import agree
from affect.sheets.ratings import ExpertRatings
from data_prep.dataset.sheet_items import MIN_ACCEPTED, QUESTIONS, RATINGS, ValidationItem


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


def expert_agreement(read: ExpertRatings[ValidationItem]) -> ExpertAgreement:
    """The report on one validation."""
    splits = sorted({item.split for item in read.items})
    of_split = {split: [item for item in read.items if item.split == split] for split in splits}
    return ExpertAgreement(
        experts=read.experts,
        num_videos={
            split: len({item.row_id for item in items}) for split, items in of_split.items()
        },
        num_items={split: len(items) for split, items in of_split.items()},
        num_missing=read.num_missing(),
        questions={name: _question(read, name, of_split) for name in QUESTIONS},
        comments=read.comments,
    )


def _question(
    read: ExpertRatings[ValidationItem],
    name: str,
    of_split: Mapping[str, Sequence[ValidationItem]],
) -> QuestionAgreement:
    def of_items(items: Iterable[ValidationItem]) -> list[list[int | None]]:
        return [read.of_item(name, item.id) for item in items]

    agreement = agree(read, name, RATINGS)
    return QuestionAgreement(
        **_summary(of_items(read.items)).model_dump(),
        splits={split: _summary(of_items(items)) for split, items in of_split.items()},
        pair_kappas=agreement.pair_kappas,
        fleiss=agreement.fleiss,
        alpha=agreement.alpha,
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
