"""Agreement of two judges: literal numbers, each version of a segment once, nothing made up."""

import pytest

from affect.judge_dimensions import JUDGE_DIMENSIONS
from data_prep.agreement import judge_agreement, judged_pairs, whole_score
from data_prep.records import Decided, Round
from tests.data_prep.stages.scripted_reasoning import make_judgement, make_reasoning


def pair_of(first: float | list[float], second: float | list[float]):  # type: ignore[no-untyped-def]
    return make_judgement("one", first), make_judgement("two", second)


def test_by_hand() -> None:
    pairs = [pair_of(5, 4), pair_of(4, 5), pair_of(2, 3), pair_of(1, 2)]
    report = judge_agreement(pairs, threshold=3.5)
    assert report.judges == ("one", "two")
    assert report.num_judged == 4
    assert set(report.dimensions) == {*JUDGE_DIMENSIONS, "mean"}
    one = report.dimensions["causal_logic"]
    # Deviations (2, 1, -1, -2) and (.5, 1.5, -.5, -1.5): 6 over sqrt(10 * 5).
    assert one.pearson.value == pytest.approx(6 / 50**0.5)
    assert one.spearman.value == pytest.approx(0.8)  # ranks 4 3 2 1 and 3 4 2 1
    # Squared distances: 4 observed, times 4; all 16 pairs (1, 0, 4, 9 from 5 to 4, 5, 3, 2; ...):
    # 5: 1+0+4+9, 4: 0+1+1+4, 2: 4+9+1+0, 1: 9+16+4+1, in all 64.
    assert one.weighted_kappa.value == pytest.approx(1 - 16 / 64)
    assert one.share_equal == 0.0
    assert (report.num_first_passes, report.num_second_passes, report.num_both_pass) == (2, 2, 2)
    assert report.share_both_pass == 0.5
    assert report.share_same_verdict == 1.0
    assert report.pass_kappa.value == 1.0


def test_verdicts_apart_from_scores() -> None:
    pairs = [pair_of(3.5, 3.4), pair_of(3.5, 3.5), pair_of(1, 5), pair_of(0, 0)]
    report = judge_agreement(pairs, threshold=3.5)
    assert (report.num_first_passes, report.num_second_passes, report.num_both_pass) == (2, 2, 1)
    assert report.share_same_verdict == 0.5
    assert report.pass_kappa.value == 0.0


def test_constant_and_absent_scores_are_undefined_not_perfect() -> None:
    report = judge_agreement([pair_of(5, 5), pair_of(5, 5)], threshold=3.5)
    assert report.dimensions["mean"].pearson.value is None
    assert report.dimensions["mean"].weighted_kappa.value is None
    assert report.pass_kappa.value is None
    assert report.pass_kappa.reason == "both sides give one and the same rating to all"
    assert report.share_same_verdict == 1.0
    empty = judge_agreement([], threshold=3.5)
    assert (empty.judges, empty.num_judged) == ((), 0)
    assert empty.share_both_pass is None
    assert empty.dimensions["causal_logic"].share_equal is None
    assert empty.dimensions["causal_logic"].pearson.reason == "fewer than two items"


def test_other_judges_are_refused() -> None:
    other = (make_judgement("two", 5), make_judgement("one", 5))
    with pytest.raises(ValueError, match="one and two; two and one"):
        judge_agreement([pair_of(5, 5), other], threshold=3.5)


def test_halves_go_up() -> None:
    assert [whole_score(score) for score in (0, 0.4, 0.5, 2.5, 3.5, 4.5, 5)] == [
        0, 0, 1, 3, 4, 5, 5,
    ]  # fmt: skip


def test_each_version_counts_once() -> None:
    first, second, third = (
        make_reasoning(n, name) for n, name in enumerate(("Fear", "Joy", "Awkwardness"))
    )
    anew = make_reasoning(1, "Relief")
    low, high, again = pair_of(1, 1), pair_of(4, 4), pair_of(5, 5)
    rounds = (
        Round(segments=(first, second, third), judgements=(high, low, high), failed_segments=(1,)),
        Round(segments=(first, anew, third), judgements=(high, high, again), failed_segments=()),
    )
    record = Decided(provenance="verified", segments=(), rounds=rounds)
    # The first is the same in both rounds; the third has another before it and was judged anew.
    assert list(judged_pairs([record])) == [high, low, high, high, again]
    assert len(list(judged_pairs([record, record]))) == 10
    draft = Decided(provenance="draft", segments=())
    assert list(judged_pairs([draft])) == []
