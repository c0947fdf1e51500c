"""results.json as a page to read: the ladder, what GRPO gained, what each removed term changed.

Example: `Path("docs/results.md").write_text(results_page(results, "bash launch/ladder.sh"))`
"""

from collections.abc import Mapping, Sequence
from typing import Any

from cli.ladder.measures import LENGTHS, METRICS

_LADDER_METRICS = METRICS
_ABLATION_METRICS = (
    "total",
    "struct",
    "count",
    "seg",
    "emo",
    "reason",
    "strict_miou",
    "strict_emo_acc",
    "strict_sc_acc",
    "paper_sc_acc",
    "valid_json",
    "valid_timeline",
    "length_tokens",
    "truncated",
)
UNDEFINED = "-"


def results_page(results: Mapping[str, Any], command: str) -> str:
    """The page as Markdown; percent, but for lengths in tokens. Bold: an interval without zero."""
    about = results["about"]
    seeds = ", ".join(str(seed) for seed in about["seeds"])
    parts = [
        "# What GRPO brings on the rendered world",
        f"Made by `{command}`; the same figures as fractions are in `results.json`. "
        f"Greedy answers to {about['num_clips']} test clips, seeds {seeds}. "
        "Percent, `length_tokens` in tokens. In brackets 95 % intervals from a bootstrap over "
        f"clips ({about['replicates']} draws, paired, the same draw for all seeds); differences "
        "in bold have an interval without zero. A small drawn world and a tiny model: this "
        "checks the pipeline and says nothing about real films.",
        "## The ladder",
        _table(
            ["metric", "base", "SFT", "GRPO", "GRPO - SFT", "by seed"],
            [
                [
                    f"`{name}`",
                    *(_value(results[rung][name], name) for rung in ("base", "sft", "grpo")),
                    _value(results["gain_over_sft"][name], name, signed=True),
                    _by_seed(results["gain_over_sft"][name], name),
                ]
                for name in _LADDER_METRICS
            ],
        ),
        "`total` and the five terms are the `hardened` preset's, which GRPO trained on, "
        "`paper_total` the paper's on the same answers; `strict_` and `paper_` are the metrics "
        "under these protocols (docs/evaluation.md).",
    ]
    if results["ablations"]:
        parts += ["## One reward term left out", _ablations(results["ablations"])]
    return "\n\n".join(parts) + "\n"


def _ablations(ablations: Mapping[str, Any]) -> str:
    seeds = {term: ", ".join(map(str, run["seeds"])) for term, run in ablations.items()}
    which = "; ".join(f"{term}: seeds {value}" for term, value in seeds.items())
    table = _table(
        ["metric", *(f"without {term}" for term in ablations)],
        [
            [
                f"`{name}`",
                *(_value(run["change"][name], name, signed=True) for run in ablations.values()),
            ]
            for name in _ABLATION_METRICS
        ],
    )
    return (
        "GRPO from the same cold starts with one term removed, as in the paper's Table 7; the "
        "others keep their weights. Difference to GRPO with all five, same seeds "
        f"({which}). All terms are measured whether they were trained on or not; `total` is the "
        f"sum over all five.\n\n{table}"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _value(summary: Mapping[str, Any], name: str, *, signed: bool = False) -> str:
    if summary["mean"] is None:
        return UNDEFINED
    sign = "+" if signed else ""
    mean, low, high = (summary[key] for key in ("mean", "low", "high"))
    text = _figure(mean, name, sign)
    if low is None:
        return text
    if signed and (low > 0 or high < 0):
        text = f"**{text}**"
    return f"{text} [{_figure(low, name, sign)}, {_figure(high, name, sign)}]"


def _by_seed(summary: Mapping[str, Any], name: str) -> str:
    values = summary["by_seed"].values()
    return ", ".join(UNDEFINED if v is None else _figure(v, name, "+") for v in values)


def _figure(value: float, name: str, sign: str) -> str:
    return f"{value if name in LENGTHS else 100 * value:{sign}.1f}"
