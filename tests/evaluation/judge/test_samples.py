"""Medians of samples, by hand; and when there are too few for one."""

import pytest

from affect.judge_dimensions import JUDGE_DIMENSIONS
from affect.llm.chat import ModelFailure
from evaluation.judge.judge import Opinion
from evaluation.judge.samples import judgement_of_samples

REFUSED = ModelFailure("refused", "judge", "the filter stopped it")
BROKEN = ModelFailure("off_schema", "judge", "no number")


def opinion(overall: int, *scores: int, comment: str = "") -> Opinion:
    return Opinion(dict(zip(JUDGE_DIMENSIONS, scores, strict=True)), overall, comment)


def test_the_median_of_each_dimension_by_itself() -> None:
    one = judgement_of_samples(
        "a",
        3,
        [
            opinion(1, 0, 5, 2, 3, 4, comment="low"),
            opinion(4, 5, 4, 2, 0, 1, comment="middle"),
            opinion(5, 1, 3, 3, 5, 0, comment="high"),
        ],
    )
    assert one.scores == {
        "visual_grounding": 1.0,
        "causal_logic": 4.0,
        "viewer_centricity": 2.0,
        "temporal_consistency": 3.0,
        "answer_consistency": 1.0,
    }
    assert (one.state, one.overall, one.comment, one.num_samples) == ("judged", 4.0, "middle", 3)
    assert one.average == pytest.approx(11 / 5)
    assert (one.id, one.segment, one.weight, one.why) == ("a", 3, 1, "")


def test_an_even_number_gives_halves_and_the_first_of_two_comments() -> None:
    one = judgement_of_samples(
        "a", 0, [opinion(2, 0, 1, 2, 3, 4, comment="first"), opinion(3, 1, 1, 5, 4, 4, comment="b")]
    )
    assert list((one.scores or {}).values()) == [0.5, 1.0, 3.5, 3.5, 4.0]
    assert (one.overall, one.comment) == (2.5, "first")


def test_a_majority_is_enough() -> None:
    one = judgement_of_samples("a", 0, [opinion(2, 1, 1, 1, 1, 1), REFUSED, opinion(4, *[3] * 5)])
    assert (one.state, one.overall, one.num_samples) == ("judged", 3.0, 2)


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        ([REFUSED], "0 of 1 samples can be used; judge: refused: the filter stopped it"),
        (
            [opinion(2, *[1] * 5), BROKEN],
            "1 of 2 samples can be used; judge: off_schema: no number",
        ),
        (
            [BROKEN, opinion(2, *[1] * 5), REFUSED],
            "1 of 3 samples can be used; judge: off_schema: no number",
        ),
    ],
)
def test_half_or_fewer_are_none(samples: list[Opinion | ModelFailure], why: str) -> None:
    one = judgement_of_samples("a", 0, samples)
    assert (one.state, one.scores, one.overall, one.average) == ("unscored", None, None, None)
    assert one.why == why
