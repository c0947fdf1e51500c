"""Which reward terms a run was trained on, from its config.yaml: the check marks of table 7.

    reward: {preset: hardened, weights: null, remove: [count]}
    -> struct on, count off, seg on, emo on, reason on

A term is off where it is removed or its weight is 0. A run without a reward section, such as a cold
start, has neither mark.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from affect.config.strict_yaml import read_yaml_mapping
from affect.run_folder import RunFolder
from evaluation.paper_tables.document import Cell, Column

TERMS = ("struct", "count", "seg", "emo", "reason")
"""Equation 9's, in its order. Every preset gives each a weight above 0."""

TERM_COLUMNS = tuple(
    Column(key=f"reward_{term}", title=f"R_{term}", unit="check") for term in TERMS
)


def terms_on(run: Path) -> dict[str, bool] | None:
    """Term -> whether it was on; None where the run was not trained on rewards.

    Raises ValueError naming the file for a reward section that says anything else.
    """
    path = RunFolder(run).config
    if not path.is_file():
        return None
    reward = read_yaml_mapping(path)[0].get("reward")
    if reward is None:
        return None
    if not isinstance(reward, Mapping):
        raise ValueError(f"{path}: reward: a section is needed, not {reward!r}")
    weights = reward.get("weights") or {}
    removed = reward.get("remove") or ()
    _check(path, "weights", weights, Mapping)
    _check(path, "remove", removed, list | tuple)
    return {term: term not in removed and _weight(path, weights, term) > 0 for term in TERMS}


def _check(path: Path, name: str, value: Any, kind: Any) -> None:
    if not isinstance(value, kind):
        raise ValueError(f"{path}: reward.{name}: {value!r} is not what training writes")
    unknown = sorted(str(term) for term in value if term not in TERMS)
    if unknown:
        raise ValueError(f"{path}: reward.{name}: no term is called {unknown[0]!r}")


def _weight(path: Path, weights: Mapping[str, Any], term: str) -> float:
    weight = weights.get(term, 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float):
        raise ValueError(f"{path}: reward.weights.{term}: a number is needed, not {weight!r}")
    return float(weight)


def reward_preset(run: Path) -> str | None:
    """`paper` or `hardened` as the configuration names it; None where it names none."""
    path = RunFolder(run).config
    reward = read_yaml_mapping(path)[0].get("reward") if path.is_file() else None
    preset = reward.get("preset") if isinstance(reward, Mapping) else None
    return preset if isinstance(preset, str) else None


def term_cells(label: str, runs: Sequence[Path]) -> tuple[Cell, ...]:
    """The five marks of one line. Raises ValueError where its runs differ in them."""
    found = [terms_on(run) for run in runs]
    if any(one != found[0] for one in found):
        raise ValueError(
            f"{label}: its runs were trained on different reward terms; give them labels of "
            "their own"
        )
    if found[0] is None:
        return (Cell(why="not trained on rewards"),) * len(TERMS)
    return tuple(Cell(is_on=found[0][term]) for term in TERMS)
