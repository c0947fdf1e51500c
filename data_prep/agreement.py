"""Agreement of the two judges over all that they judged in a build.

    report = judge_agreement(judged_pairs(records), threshold=3.5)
    report.dimensions["causal_logic"].weighted_kappa     # Coefficient(value=0.41, num=812)
    report.share_both_pass                               # 0.63

Segments that a judge saw again unchanged, because only others were rewritten, count once.
"""

from collections.abc import Iterable, Iterator

from affect.coefficients import Coefficient, pearson, spearman, weighted_kappa
from affect.frozen import Frozen
from affect.judge_dimensions import JUDGE_DIMENSIONS
from data_prep.records import Decided, Judgement
from data_prep.stages.decide import JudgementPair, reaches
from data_prep.stages.judge import judged_view

SCORES = (0, 1, 2, 3, 4, 5)


class DimensionAgreement(Frozen):
    """pearson, spearman: of the scores. weighted_kappa: of the scores as whole numbers, quadratic.
    share_equal: of segments whose whole scores are the same, None where there are none."""

    pearson: Coefficient
    spearman: Coefficient
    weighted_kappa: Coefficient
    share_equal: float | None


class JudgeAgreement(Frozen):
    """judges: both names, () where nothing was judged. dimensions: JUDGE_DIMENSIONS and `mean`.
    pass_kappa: Cohen's, of whether a judge's mean reaches the threshold.
    num_judged: pairs of judgements behind all this, one per segment and version of it."""

    judges: tuple[str, ...]
    num_judged: int
    dimensions: dict[str, DimensionAgreement]
    threshold: float
    num_first_passes: int
    num_second_passes: int
    num_both_pass: int
    share_both_pass: float | None
    share_same_verdict: float | None
    pass_kappa: Coefficient


def judged_pairs(records: Iterable[Decided]) -> Iterator[JudgementPair]:
    """Both judgements of every segment in every version of it that was judged.

    Round 0 of a record is what the judge stage left, so nothing else need be read.
    """
    for record in records:
        seen: set[str] = set()
        for judged_round in record.rounds:
            for index, pair in enumerate(judged_round.judgements):
                view = judged_view(judged_round.segments, index)
                if view not in seen:
                    seen.add(view)
                    yield pair


def judge_agreement(pairs: Iterable[JudgementPair], threshold: float) -> JudgeAgreement:
    """Raises ValueError where the pairs are not all of the same two judges, in the same order."""
    listed = list(pairs)
    names = sorted({(first.judge, second.judge) for first, second in listed})
    if len(names) > 1:
        told = "; ".join(" and ".join(pair) for pair in names)
        raise ValueError(
            f"judgements of several pairs of judges ({told}) have no common agreement; "
            "take those of one configuration"
        )
    first_pass, second_pass = (
        [reaches(pair[side].mean, threshold) for pair in listed] for side in (0, 1)
    )
    both = [one and other for one, other in zip(first_pass, second_pass, strict=True)]
    same = [one == other for one, other in zip(first_pass, second_pass, strict=True)]
    return JudgeAgreement(
        judges=names[0] if names else (),
        num_judged=len(listed),
        dimensions={
            **{name: _dimension(listed, name) for name in JUDGE_DIMENSIONS},
            "mean": _dimension(listed, None),
        },
        threshold=threshold,
        num_first_passes=sum(first_pass),
        num_second_passes=sum(second_pass),
        num_both_pass=sum(both),
        share_both_pass=_share(both),
        share_same_verdict=_share(same),
        pass_kappa=weighted_kappa(
            [int(one) for one in first_pass], [int(one) for one in second_pass], (0, 1)
        ),
    )


def whole_score(score: float) -> int:
    """The nearest whole number, halves up (`round` would make 2.5 a 2 and 3.5 a 4)."""
    return int(score + 0.5)


def _dimension(pairs: list[JudgementPair], name: str | None) -> DimensionAgreement:
    """name: of a dimension, None for the means."""
    first, second = ([_score(pair[side], name) for pair in pairs] for side in (0, 1))
    whole_first, whole_second = list(map(whole_score, first)), list(map(whole_score, second))
    return DimensionAgreement(
        pearson=pearson(first, second),
        spearman=spearman(first, second),
        weighted_kappa=weighted_kappa(whole_first, whole_second, SCORES),
        share_equal=_share(
            [one == other for one, other in zip(whole_first, whole_second, strict=True)]
        ),
    )


def _score(judgement: Judgement, name: str | None) -> float:
    return judgement.mean if name is None else judgement.scores[name]


def _share(flags: list[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None
