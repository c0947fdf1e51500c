"""Means over seeds and paired intervals, beside a slow and obvious bootstrap."""

import numpy as np
import pytest

from cli.ladder.measures import METRICS, Measures
from cli.ladder.results import ladder_results
from evaluation.metrics.bootstrap import Bootstrap, draw_counts

NUM_CLIPS = 12
BOOTSTRAP = Bootstrap(num_replicates=300, seed=4)


def random_measures(seed: int, shift: float = 0.0) -> Measures:
    generator = np.random.default_rng(seed)
    denominators = generator.integers(1, 4, size=(NUM_CLIPS, len(METRICS))).astype(float)
    numerators = denominators * (generator.random((NUM_CLIPS, len(METRICS))) * 0.5 + shift)
    return Measures(numerators, denominators)


def rungs() -> dict[str, dict[int, Measures]]:
    return {
        "base": {0: random_measures(1), 1: random_measures(2)},
        "sft": {0: random_measures(3, 0.1), 1: random_measures(4, 0.1)},
        "grpo": {0: random_measures(5, 0.3), 1: random_measures(6, 0.3)},
    }


def slow_gains(base: dict[int, Measures], other: dict[int, Measures], column: int) -> list[float]:
    """The mean gain over seeds under each draw of clips, one clip at a time."""
    gains = []
    for counts in np.concatenate(list(draw_counts(NUM_CLIPS, BOOTSTRAP))):
        drawn = [clip for clip, count in enumerate(counts) for _ in range(int(count))]
        by_seed = []
        for seed in base:
            sides = []
            for side in (base[seed], other[seed]):
                above = sum(side.numerators[clip, column] for clip in drawn)
                sides.append(above / sum(side.denominators[clip, column] for clip in drawn))
            by_seed.append(sides[1] - sides[0])
        gains.append(sum(by_seed) / len(by_seed))
    return gains


def test_gains_equal_a_slow_bootstrap() -> None:
    made = rungs()
    results = ladder_results(made, {}, BOOTSTRAP)
    for name in ("total", "strict_miou", "length_tokens"):
        gains = slow_gains(made["sft"], made["grpo"], METRICS.index(name))
        found = results["gain_over_sft"][name]
        assert found["low"] == pytest.approx(np.quantile(gains, 0.025), abs=1e-12)
        assert found["high"] == pytest.approx(np.quantile(gains, 0.975), abs=1e-12)
        expected = {
            str(s): made["grpo"][s].means()[name] - made["sft"][s].means()[name] for s in (0, 1)
        }
        assert found["by_seed"] == pytest.approx(expected)
        assert found["mean"] == pytest.approx(sum(expected.values()) / 2)


def test_equal_sides_gain_exactly_nothing() -> None:
    made = rungs()
    made["sft"] = made["grpo"]
    gain = ladder_results(made, {}, BOOTSTRAP)["gain_over_sft"]["total"]
    assert (gain["mean"], gain["low"], gain["high"]) == (0.0, 0.0, 0.0)


def test_an_ablation_is_compared_over_its_own_seeds() -> None:
    made = rungs()
    without = {1: random_measures(7)}
    found = ladder_results(made, {"count": without}, BOOTSTRAP)["ablations"]["count"]
    assert found["seeds"] == [1]
    change = found["change"]["count"]
    assert change["mean"] == pytest.approx(
        without[1].means()["count"] - made["grpo"][1].means()["count"]
    )
    assert change["by_seed"].keys() == {"1"}


def test_what_nothing_defines_is_none() -> None:
    made = rungs()
    column = METRICS.index("paper_emo_acc")
    for measures in made["grpo"].values():
        measures.denominators[:, column] = 0.0
    results = ladder_results(made, {}, BOOTSTRAP)
    for found in (results["grpo"]["paper_emo_acc"], results["gain_over_sft"]["paper_emo_acc"]):
        assert (found["mean"], found["low"], found["high"]) == (None, None, None)
