"""Equation 9, weights, removed terms, and what the score object is."""

import pickle

import pytest

from affect.parsing import parse_reply
from rewards import PRESETS, RewardSet, TermScores
from rewards.constants import PAPER, TERMS, PaperConstants
from tests.rewards.builders import TRUTH, compare, times

HALF_RIGHT = parse_reply(times(0.0, 5.0, 9.0), 9.0, 300)


def test_equation_9() -> None:
    # struct 1, count 1, seg .4676676416 (equation 6), emo 1, reason 1:
    # .10 + .25 + .25 * .4676676416 + .25 + .15 = .8669169104
    scores = RewardSet.from_preset("paper").score(HALF_RIGHT, TRUTH)
    assert scores.total == pytest.approx(0.8669169104, abs=1e-9)
    # The same under hardened with seg .5635960595: .75 + .25 * .5635960595
    scores = RewardSet.from_preset("hardened").score(HALF_RIGHT, TRUTH)
    assert scores.total == pytest.approx(0.8908990149, abs=1e-9)


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_the_truth_is_worth_exactly_one(preset: str) -> None:
    scores = RewardSet.from_preset(preset).score(parse_reply(TRUTH.to_json(), 9.0, 300), TRUTH)
    assert dict(scores) == dict.fromkeys((*TERMS, "total"), 1.0)


def test_paper_constants_are_those_of_the_paper() -> None:
    assert PaperConstants() == PaperConstants(
        format_share=0.5,
        duration_share=0.2,
        length_share=0.3,
        min_segment_seconds=0.4,
        soft_limit_tokens=1200,
        hard_limit_tokens=2400,
        length_decay_tokens=400.0,
        count_decay_segments=1.5,
        overlap_share=0.5,
        boundary_decay_seconds=0.5,
        min_label_iou=0.5,
        reason_mean_words=120,
        reason_decay_words=40.0,
        duplicate_jaccard=0.75,
        weights={"struct": 0.10, "count": 0.25, "seg": 0.25, "emo": 0.25, "reason": 0.15},
    )
    assert tuple(PAPER.weights) == TERMS


def test_the_five_terms_and_their_weights() -> None:
    rewards = RewardSet.from_preset("paper")
    assert rewards.terms == ("struct", "count", "seg", "emo", "reason")
    assert rewards.weights == [0.10, 0.25, 0.25, 0.25, 0.15]


def test_a_removed_term_leaves_the_other_weights() -> None:
    rewards = RewardSet.from_preset("paper", remove=("count", "reason"))
    assert rewards.terms == ("struct", "seg", "emo")
    assert rewards.weights == [0.10, 0.25, 0.25]
    assert [function.__name__ for function in rewards.trl_functions()] == ["struct", "seg", "emo"]
    scores = rewards.score(HALF_RIGHT, TRUTH)
    # .10 + .25 * .4676676416 + .25; the removed terms are still measured
    assert scores.total == pytest.approx(0.4669169104, abs=1e-9)
    assert scores.count == 1.0


def test_weights_are_replaced_by_name() -> None:
    rewards = RewardSet.from_preset("paper", weights={"seg": 1.0, "emo": 0.0})
    assert rewards.weights == [0.10, 0.25, 1.0, 0.0, 0.15]
    # .10 + .25 + .4676676416 + 0 + .15
    assert rewards.score(HALF_RIGHT, TRUTH).total == pytest.approx(0.9676676416, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "hardend"}, "did you mean hardened"),
        ({"name": "paper", "remove": ("emotion",)}, "unknown reward term 'emotion'"),
        ({"name": "paper", "remove": ("emos",)}, "did you mean emo"),
        ({"name": "paper", "remove": "count"}, "list of terms"),
        ({"name": "paper", "weights": {"segs": 1.0}}, "did you mean seg"),
        ({"name": "paper", "weights": {"seg": -0.1}}, "weight of seg is -0.1"),
        ({"name": "paper", "weights": {"seg": float("nan")}}, "weight of seg is nan"),
        ({"name": "paper", "weights": {"seg": True}}, "weight of seg is True"),
        ({"name": "paper", "weights": {"seg": "1"}}, "weight of seg is '1'"),
        ({"name": "paper", "remove": TERMS}, "no reward term is left"),
    ],
)
def test_mistakes_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RewardSet.from_preset(**arguments)


def test_scores_read_as_attributes_and_as_a_mapping() -> None:
    scores = TermScores(struct=0.1, count=0.2, seg=0.3, emo=0.4, reason=0.5, total=0.6)
    assert scores["seg"] == scores.seg == 0.3
    assert list(scores) == ["struct", "count", "seg", "emo", "reason", "total"]
    assert {**scores}["total"] == 0.6
    assert "keys" not in scores
    with pytest.raises(KeyError):
        scores["keys"]


def test_reward_sets_are_values() -> None:
    rewards = RewardSet.from_preset("hardened", remove=["count"])
    assert pickle.loads(pickle.dumps(rewards)) == rewards
    rewards.weights.clear()
    assert rewards.weights == [0.10, 0.25, 0.25, 0.15]


def test_terms_of_one_comparison_do_not_disturb_each_other() -> None:
    for terms in PRESETS.values():
        shared = compare(times(0.0, 5.0, 9.0))
        forward = [term(shared) for term in terms.values()]
        backward = [term(shared) for term in reversed(terms.values())]
        alone = [term(compare(times(0.0, 5.0, 9.0))) for term in terms.values()]
        assert forward == backward[::-1] == alone
