"""How far raters agree on one question, by three coefficients.

    agreement = agree(ratings, "grounding", FORM.ratings)
    agreement.alpha                    # Coefficient(value=0.71, num=412)
    agreement.mean_pair_kappa          # 0.64

A rating that was not given is missing and enters no coefficient.
"""

from collections.abc import Sequence
from itertools import combinations

from affect.coefficients import Coefficient, fleiss_kappa, krippendorff_alpha, weighted_kappa
from affect.frozen import Frozen
from affect.sheets.items import Item
from affect.sheets.ratings import ExpertRatings


class Agreement(Frozen):
    """pair_kappas: "a and b" -> Cohen's kappa with quadratic weights, over what both rated.
    fleiss: ratings as mere names, over what all rated. alpha: Krippendorff's, ordinal, over all
    there is."""

    pair_kappas: dict[str, Coefficient]
    fleiss: Coefficient
    alpha: Coefficient

    @property
    def mean_pair_kappa(self) -> float | None:
        """Over the pairs that have one; None where none has."""
        values = [one.value for one in self.pair_kappas.values() if one.value is not None]
        return sum(values) / len(values) if values else None


def agree(ratings: ExpertRatings[Item], question: str, categories: Sequence[int]) -> Agreement:
    """Over all items. categories: all that can be given, ascending."""
    everything = [ratings.of_item(question, item.id) for item in ratings.items]
    experts = ratings.experts
    return Agreement(
        pair_kappas={
            f"{experts[one]} and {experts[other]}": _pair_kappa(everything, one, other, categories)
            for one, other in combinations(range(len(experts)), 2)
        },
        fleiss=fleiss_kappa(everything, categories),
        alpha=krippendorff_alpha(everything, categories, "ordinal"),
    )


def _pair_kappa(
    items: Sequence[Sequence[int | None]], one: int, other: int, categories: Sequence[int]
) -> Coefficient:
    first, second = [], []
    for item in items:
        a, b = item[one], item[other]
        if a is not None and b is not None:
            first.append(a)
            second.append(b)
    return weighted_kappa(first, second, categories)
