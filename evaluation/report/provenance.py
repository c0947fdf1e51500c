"""What was compared: model, weights, budget, prompt and rows of each run.

provenance(runs)      # Content: one line per field, one column per run, differences marked
"""

import json
from collections.abc import Sequence
from typing import Any

from evaluation.report.contents import Cell, Column, Content, NumberTable, Paragraph
from evaluation.run_results import RunResults

_TITLES = {
    "model": "model",
    "model_sha256": "weights, SHA-256",
    "budget": "frame budget",
    "prompt": "prompt",
    "prompt_hash": "prompt, hash",
    "max_new_tokens": "reply limit, tokens",
    "temperature": "temperature",
    "top_k": "top k",
    "top_p": "top p",
    "seed": "seed",
    "dtype": "precision",
    "rows": "rows",
    "rows_sha256": "rows, SHA-256",
    "video_root": "videos",
}
# Where things lie may differ between runs that were asked alike.
_MAY_DIFFER = frozenset({"model", "model_sha256", "rows", "video_root", "predictions", "clips"})
UNKNOWN = "unknown"


def provenance(runs: Sequence[RunResults]) -> Content:
    """Every field of the headers; `unknown` where a header doesn't say."""
    headers = [run.predictions.header.model_dump(mode="json") for run in runs]
    names = dict.fromkeys([*_TITLES, *(name for header in headers for name in header)])
    rows: list[tuple[Cell, ...]] = [
        _row("predictions", "predictions", [run.name for run in runs]),
        _row("clips", "clips", [len(run.clips) for run in runs]),
    ]
    for name in names:
        values = [header.get(name) for header in headers]
        if name not in _TITLES and all(value is None for value in values):
            continue
        rows.append(_row(name, _TITLES.get(name, name.replace("_", " ")), values))
    bootstraps = [
        f"{run.bootstrap.num_replicates} replicates, seed {run.bootstrap.seed}" for run in runs
    ]
    rows.append(_row("bootstrap", "bootstrap", bootstraps))
    columns = [Column("field"), *(Column(run.label) for run in runs)]
    sentences = ["How the replies came about, as their files' headers say."]
    if len(runs) > 1:
        columns.append(Column("alike"))
        unlike = [str(row[0]) for row in rows if row[-1] == "no"]
        if unlike:
            sentences.append(f"The runs were asked under different settings: {', '.join(unlike)}.")
        untold = [str(row[0]) for row in rows if row[-1] == UNKNOWN]
        if untold:
            sentences.append(f"Not known of every run: {', '.join(untold)}.")
    else:
        rows = [row[:-1] for row in rows]
    table = NumberTable("provenance", "Headers of the predictions.", tuple(columns), rows)
    return Content("provenance", "What was compared", (Paragraph(" ".join(sentences)), table))


def _row(name: str, title: str, values: Sequence[Any]) -> tuple[Cell, ...]:
    texts = [_text(value) for value in values]
    if name in _MAY_DIFFER:
        alike = ""
    elif UNKNOWN in texts:
        alike = UNKNOWN
    else:
        alike = "yes" if len(set(texts)) == 1 else "no"
    return (title, *texts, alike)


def _text(value: Any) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(one)}" for key, one in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
