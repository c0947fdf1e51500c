"""Advantages in literal numbers: weighted sum (eq. 9), then the group's mean and spread (eq. 3)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards import RewardSet
from tests.train.grpo_fixtures import (
    ScriptedReward,
    build_trainer,
    completion,
    rows,
    script_completions,
)
from tests.train.recording_trainer import RecordingTrainer
from tests.train.slow_grpo import group_advantages


def advantages_of(trainer: RecordingTrainer) -> dict[str, list[float]]:
    """By row id, in the order of the samples."""
    sampling = trainer.records.samplings[0]
    found: dict[str, list[float]] = {}
    for one, value in zip(sampling.rows, sampling.output["advantages"].tolist(), strict=True):
        found.setdefault(one["id"], []).append(value)
    return found


def advantages(
    folder: Path,
    terms: Sequence[dict[str, Sequence[float | None]]],
    weights: Sequence[float] = (1.0,),
    **overrides: Any,
) -> dict[str, list[float]]:
    trainer = build_trainer(
        folder,
        rows("".join(terms[0])),
        rewards=[ScriptedReward(f"term_{n}", values) for n, values in enumerate(terms)],
        weights=weights,
        num_generations=4,
        max_completion_length=2,
        beta=0.0,
        **overrides,
    )
    trainer.train()
    return advantages_of(trainer)


def test_a_group_of_four(tmp_path: Path) -> None:
    # Mean .5; squares .25, 0, 0, .25 over 3: deviation .40824829; .5 / .40834829 = 1.22444484.
    found = advantages(tmp_path, [{"a": [1.0, 0.5, 0.5, 0.0]}])
    assert found["a"] == pytest.approx([1.2244448, 0.0, 0.0, -1.2244448], abs=1e-6)


def test_an_unscored_completion_is_left_out_of_its_group(tmp_path: Path) -> None:
    # 1, 0 and .5: mean .5, deviation .5; .5 / .5001 = .99980004. As 0 it would be another group.
    found = advantages(tmp_path, [{"a": [1.0, None, 0.0, 0.5]}])
    assert found["a"] == pytest.approx([0.99980004, 0.0, -0.99980004, 0.0], abs=1e-6)


def test_equal_rewards_and_a_single_scored_one_have_no_advantage(tmp_path: Path) -> None:
    term: dict[str, Sequence[float | None]] = {
        "a": [0.7] * 4,
        "b": [None, None, 0.9, None],
        "c": [None] * 4,
        "d": [0.0, 0.0, 0.0, 1.0],
    }
    found = advantages(tmp_path, [term])
    assert found["a"] == pytest.approx([0.0] * 4, abs=1e-6)
    assert found["b"] == [0.0] * 4 and found["c"] == [0.0] * 4
    # Mean .25, deviation .5: -.25 / .5001 and .75 / .5001.
    assert found["d"] == pytest.approx([-0.4999] * 3 + [1.4997001], abs=1e-6)


def test_groups_are_normalised_each_by_itself(tmp_path: Path) -> None:
    found = advantages(tmp_path, [{"a": [1.0, 0.5, 0.5, 0.0], "b": [0.51, 0.5, 0.5, 0.49]}])
    assert found["a"] == pytest.approx([1.2244448, 0.0, 0.0, -1.2244448], abs=1e-6)
    # Deviation .0081649658; .01 / .0082649658 = 1.2099264: the 1e-4 counts for something here.
    assert found["b"] == pytest.approx([1.2099264, 0.0, 0.0, -1.2099264], abs=1e-4)


def test_terms_are_weighted_and_summed_before_the_group_is_normalised(tmp_path: Path) -> None:
    # .25 x [1, 1, 0, 0] + .75 x [1, 1/3, 2/3, 0] = [1, .5, .5, 0]
    terms = [{"a": [1.0, 1.0, 0.0, 0.0]}, {"a": [1.0, 1 / 3, 2 / 3, 0.0]}]
    found = advantages(tmp_path, terms, weights=[0.25, 0.75])
    assert found["a"] == pytest.approx([1.2244448, 0.0, 0.0, -1.2244448], abs=1e-5)


def test_a_term_that_is_missing_counts_nothing_while_another_is_there(tmp_path: Path) -> None:
    terms = [{"a": [1.0, None, 0.0, None]}, {"a": [None, 0.5, 0.5, None]}]
    found = advantages(tmp_path, terms, weights=[1.0, 1.0])
    # 1, .5, .5 and one without any: mean 2/3, deviation .28867513.
    assert found["a"] == pytest.approx([1.1543006, -0.5771503, -0.5771503, 0.0], abs=1e-6)


def test_the_papers_terms_and_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real replies, scored by the real terms: the advantage is that of their totals."""
    gold = rows("a")[0]["solution"]
    half = gold.replace("Fear", "Anger")
    replies = [completion(gold), completion(half), completion("Joy"), completion("no idea")]
    script_completions(monkeypatch, {"a": dict(enumerate(replies))})
    trainer = build_trainer(tmp_path, rows("a"), num_generations=4, max_completion_length=200)
    trainer.train()
    reward_set = RewardSet.from_preset("paper")
    totals = (trainer._rewards_per_func @ torch.tensor(reward_set.weights)).tolist()
    assert totals[0] > totals[1] > totals[2] == pytest.approx(0.03)
    assert advantages_of(trainer)["a"] == pytest.approx(group_advantages(totals), abs=1e-5)


def test_the_slow_reference_in_literal_numbers() -> None:
    assert group_advantages([1.0, 0.5, 0.5, 0.0]) == pytest.approx([1.2244448, 0, 0, -1.2244448])
    assert group_advantages([1.0, None, 0.0, 0.5]) == pytest.approx([0.9998, 0, -0.9998, 0])
    assert group_advantages([None, 1.0]) == [0.0, 0.0]


@given(st.lists(st.none() | st.floats(0, 1), min_size=2, max_size=8))
@settings(deadline=None)
def test_the_slow_reference_has_mean_zero_and_no_spread_above_one(
    rewards: list[float | None],
) -> None:
    found = group_advantages(rewards)
    assert sum(found) == pytest.approx(0.0, abs=1e-6)
    num_scored = sum(reward is not None for reward in rewards)
    assert sum(value**2 for value in found) <= max(num_scored - 1, 0) + 1e-6
