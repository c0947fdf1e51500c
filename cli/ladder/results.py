"""From the measures of several seeds to means, gains and their intervals.

What a mean over seeds and its interval are is said in `evaluation.metrics.over_seeds`.

Example:
    results = ladder_results({"base": {0: measures, 1: ...}, "sft": {...}, "grpo": {...}}, {})
    results["gain_over_sft"]["strict_miou"]     # {"mean": .08, "low": .04, "high": .12}
"""

from collections.abc import Mapping
from typing import Any

from cli.ladder.measures import METRICS, Measures
from evaluation.metrics.bootstrap import Bootstrap
from evaluation.metrics.over_seeds import (
    Parts,
    SeedMean,
    difference_over_seeds,
    mean_over_seeds,
)

RUNGS = ("base", "sft", "grpo")
BySeed = Mapping[int, Measures]


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
    values = mean_over_seeds([_parts(runs[seed]) for seed in seeds], bootstrap)
    return _by_metric(values, seeds)


def _differences(
    base: BySeed, other: BySeed, seeds: list[int], bootstrap: Bootstrap
) -> dict[str, Any]:
    before, after = ([_parts(side[seed]) for seed in seeds] for side in (base, other))
    return _by_metric(difference_over_seeds(before, after, bootstrap), seeds)


def _parts(measures: Measures) -> Parts:
    return measures.numerators, measures.denominators


def _by_metric(values: list[SeedMean], seeds: list[int]) -> dict[str, Any]:
    return {
        name: {
            "mean": value.mean,
            "low": value.low,
            "high": value.high,
            "by_seed": {
                str(seed): of_seed for seed, of_seed in zip(seeds, value.by_seed, strict=True)
            },
        }
        for name, value in zip(METRICS, values, strict=True)
    }
