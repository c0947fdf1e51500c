"""Finished runs without any training: folders as a trainer leaves them, around tiny random models.

Example:
    base = save_base(tmp_path / "base")
    run = make_run(tmp_path / "sft", base, weights=tiny_policy(seed=4)[0])
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from affect.run_folder import RunFolder
from affect.trained_budget import BUDGET_FILE, TrainedBudget
from affect.video import FrameBudget
from affect.weights_hash import sha256_of_weights
from publish.record import ExportOptions, ExportRecord
from publish.source import find_source
from tests.tiny import shared_processor, tiny_policy

BUDGET = FrameBudget(fps=2.0, min_frames=4, max_frames=8, min_pixels=56 * 56, max_pixels=56 * 84)


def save_model(folder: Path, model: Any) -> Path:
    """A whole checkpoint, as trainers save it."""
    model.save_pretrained(folder)
    shared_processor().save_pretrained(folder)
    return folder


def save_base(folder: Path, seed: int = 3) -> Path:
    """A base model."""
    return save_model(folder, tiny_policy(seed)[0])


def make_run(
    folder: Path,
    starting_model: Path | str,
    *,
    weights: Any | None = None,
    config: Mapping[str, Any] | None = None,
    prompt: str = "segment",
) -> RunFolder:
    """A run of the cold start that is done; its model is random, or `weights`."""
    run = RunFolder(folder)
    save_model(run.final, tiny_policy(seed=4)[0] if weights is None else weights)
    finish_run(run, starting_model, config=config, prompt=prompt)
    return run


def finish_run(
    run: RunFolder,
    starting_model: Path | str,
    *,
    config: Mapping[str, Any] | None = None,
    prompt: str = "segment",
) -> None:
    """What a run leaves beside its model."""
    settings = {"run_dir": str(run.path), "seed": 0, "model": {"path": str(starting_model)}}
    run.config.write_text(yaml.safe_dump({**settings, **(config or {})}), encoding="utf-8")
    run.environment.write_text(json.dumps({"git": {"revision": "0123abcd", "dirty": False}}))
    budget = TrainedBudget.of(BUDGET, prompt=prompt, max_completion_tokens=40)
    budget.write(run.budget)
    budget.write(run.final / BUDGET_FILE)
    run.write_done({"steps": 7})


def score_row(
    protocol: Any, metric: Any, mean: float | None = 0.5, /, **changes: Any
) -> dict[str, Any]:
    """One row as `dar score` writes it."""
    bounds = (None, None) if mean is None else (max(0.0, mean - 0.125), min(1.0, mean + 0.125))
    row = {
        "protocol": protocol,
        "metric": metric,
        "mean": mean,
        "low": bounds[0],
        "high": bounds[1],
    }
    return {**row, "num_scored": 90, "num_unparsed": 7, "num_missing": 3, **changes}


def write_scores(
    run: RunFolder, name: str, rows: Sequence[Any], asked: Mapping[str, Any] | None = None
) -> None:
    """A score file, and the predictions' header if it is given."""
    path = run.scores(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(rows), encoding="utf-8")
    if asked is not None:
        predictions = run.predictions(name)
        predictions.parent.mkdir(exist_ok=True)
        predictions.write_text(json.dumps({"header": dict(asked)}) + "\n", encoding="utf-8")


def asked_of(run: RunFolder, **changes: Any) -> dict[str, Any]:
    """The header of predictions that the run's finished model gave."""
    return {
        "model": "final",
        "model_sha256": sha256_of_weights(run.final),
        "rows": "somewhere/else/test.sft.jsonl",
        "temperature": 0.0,
        "dtype": "float32",
        **changes,
    }


def export(
    run: RunFolder, out: Path, options: ExportOptions | None = None, **how: Any
) -> ExportRecord:
    """Export into `out`, silently."""
    from publish.export import export_run

    base = how.pop("base", None)
    step = how.pop("step", None)
    source = find_source(run.path, base=base, step=step)
    return export_run(source, out, options or ExportOptions(), **{"say": lambda text: None, **how})
