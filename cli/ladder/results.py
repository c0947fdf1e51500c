"""From the measures of several seeds to means, gains and their intervals.

A mean is one over seeds of the metric's mean over clips. Its interval is a percentile bootstrap
over the test clips: one draw of clips serves all seeds and both sides of a difference (paired). The
interval therefore says how far the clips carry; how far the seeds lie apart stands beside it in
`by_seed`.

Example:
    results = ladder_results({"base": {0: measures, 1: ...}, "sft": {...}, "grpo": {...}}, {})
    results["gain_over_sft"]["strict_miou"]     # {"mean": .08, "low": .04, "high": .12}
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from cli.ladder.measures import METRICS, Measures
from evaluation.metrics.bootstrap import Bootstrap, FloatArray, interval, replicate_means

RUNGS = ("base", "sft", "grpo")
BySeed = Mapping[int, Measures]
Interval = dict[str, float | None]


def ladder_results(
    rungs: Mapping[str, BySeed],
    ablations: Mapping[str, BySeed],
    bootstrap: Bootstrap | None = None,
) -> dict[str, Any]:
    """The content of results.json.

    Args:
        rungs: "base", "sft" and "grpo", each with the same seeds.
        ablations: removed term -> its runs, with any of these seeds.

    Returns:
        {"base" | "sft" | "grpo": {metric: {mean, low, high, by_seed}}, "gain_over_sft": {metric:
        {mean, low, high, by_seed}}, "ablations": {term: {"seeds", "metrics", "change"}}, "about"}.
        Fractions, but for length_tokens; `change` is against grpo of the same seeds. A value that
        nothing defines is None.
    """
    bootstrap = bootstrap or Bootstrap()
    seeds = sorted(rungs["grpo"])
    results: dict[str, Any] = {name: _summaries(rungs[name], seeds, bootstrap) for name in RUNGS}
    results["gain_over_sft"] = _differences(rungs["sft"], rungs["grpo"], seeds, bootstrap)
    results["ablations"] = {
        term: {
            "seeds": sorted(runs),
            "metrics": _summaries(runs, sorted(runs), bootstrap),
            "change": _differences(rungs["grpo"], runs, sorted(runs), bootstrap),
        }
        for term, runs in ablations.items()
    }
    results["about"] = {
        "seeds": seeds,
        "num_clips": len(rungs["grpo"][seeds[0]].numerators),
        "replicates": bootstrap.num_replicates,
        "bootstrap_seed": bootstrap.seed,
        "confidence": bootstrap.confidence,
    }
    return results


def _summaries(runs: BySeed, seeds: list[int], bootstrap: Bootstrap) -> dict[str, Any]:
    replicates = np.mean([_replicates(runs[seed], bootstrap) for seed in seeds], axis=0)
    means = {seed: runs[seed].means() for seed in seeds}
    return {
        name: _summary(
            {seed: means[seed][name] for seed in seeds}, replicates[:, column], bootstrap
        )
        for column, name in enumerate(METRICS)
    }


def _differences(
    base: BySeed, other: BySeed, seeds: list[int], bootstrap: Bootstrap
) -> dict[str, Any]:
    replicates = np.mean(
        [_replicates(other[s], bootstrap) - _replicates(base[s], bootstrap) for s in seeds], axis=0
    )
    means = {seed: (base[seed].means(), other[seed].means()) for seed in seeds}
    return {
        name: _summary(
            {seed: means[seed][1][name] - means[seed][0][name] for seed in seeds},
            replicates[:, column],
            bootstrap,
        )
        for column, name in enumerate(METRICS)
    }


def _replicates(measures: Measures, bootstrap: Bootstrap) -> FloatArray:
    return replicate_means(measures.numerators, measures.denominators, bootstrap)


def _summary(
    by_seed: Mapping[int, float], replicates: FloatArray, bootstrap: Bootstrap
) -> dict[str, Any]:
    mean = math.fsum(by_seed.values()) / len(by_seed)
    bounds = interval(replicates, bootstrap.confidence)
    return {
        "mean": _number(mean),
        "low": bounds[0] if bounds else None,
        "high": bounds[1] if bounds else None,
        "by_seed": {str(seed): _number(value) for seed, value in by_seed.items()},
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
