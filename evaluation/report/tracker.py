"""The report's tables, pictures and headline numbers in an experiment tracker.

    send_to_tracker("wandb", "affect", runs, analyses, sections)     # labels of what was sent

One tracked run per run, called by its label, with its header as configuration, its scores as
summary values, and the tables and pictures of the report; of several runs one more, `comparison`,
that has them side by side. Numbers are sent as numbers: fractions stay fractions.
WANDB_MODE=offline writes them to a folder (WANDB_DIR) that `wandb sync` sends later.
"""

import io
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from evaluation.analysis.document import Analysis
from evaluation.report.contents import Cell, Column, Content, Interval, NumberTable
from evaluation.report.draw import png_of
from evaluation.run_results import RunResults

if TYPE_CHECKING:
    from evaluation.report.sections import PageSection

TRACKERS = ("wandb",)
COMPARISON = "comparison"
Value = str | int | float | None


def send_to_tracker(
    kind: str,
    project: str,
    runs: Sequence[RunResults],
    analyses: Mapping[str, Analysis],
    sections: "Sequence[PageSection]",
) -> list[str]:
    """Send all of it; returns the names of the tracked runs.

    sections: as on the page, sent as one document beside the tables.
    Raises ValueError for an unknown kind, for a missing package with what to install, and for what
    the tracker refuses.
    """
    if kind not in TRACKERS:
        raise ValueError(f"no tracker called {kind!r}; there is {', '.join(TRACKERS)}")
    try:
        import wandb
    except ImportError as error:
        raise ValueError(
            "sending to wandb needs its package; install it with: "
            "pip install 'dynamic-affective-reasoning[wandb,report]'"
        ) from error
    from evaluation.report.sections import contents_of

    sent = []
    try:
        for run in runs:
            config = run.predictions.header.model_dump(mode="json")
            whole = page_of(sections) if len(runs) == 1 else None
            _send(
                project, run.label, "evaluation", contents_of([run], analyses), config,
                summary_of(run), whole,
            )  # fmt: skip
            sent.append(run.label)
        if len(runs) > 1:
            config = {"runs": [run.label for run in runs]}
            _send(
                project, COMPARISON, "report", contents_of(runs, analyses), config, {},
                page_of(sections),
            )  # fmt: skip
            sent.append(COMPARISON)
    except wandb.errors.Error as error:
        raise ValueError(
            f"wandb: {error}; log in with `wandb login`, or set WANDB_MODE=offline"
        ) from error
    return sent


def _send(
    project: str,
    name: str,
    job_type: str,
    contents: Sequence[Content],
    config: Mapping[str, Any],
    summary: Mapping[str, Value],
    page: str | None,
) -> None:
    import wandb
    from PIL import Image

    logged: dict[str, Any] = {}
    for content in contents:
        for table in content.tables():
            columns, rows = flat_table(table)
            logged[f"tables/{table.id}"] = wandb.Table(columns=[*columns], data=[*rows])
        for plot in content.plots():
            picture = Image.open(io.BytesIO(png_of(plot)))
            logged[f"plots/{plot.id}"] = wandb.Image(picture, caption=plot.caption)
    if page is not None:
        logged["report"] = wandb.Html(page, inject=False)
    with wandb.init(
        project=project,
        name=name,
        job_type=job_type,
        config=dict(config),
        reinit="create_new",
        settings=wandb.Settings(console="off"),
    ) as tracked:
        tracked.log(logged)
        tracked.summary.update(dict(summary))


def summary_of(run: RunResults) -> dict[str, Value]:
    """`strict/emo_acc`, its `_low` and `_high`, and the protocol's counts; judges' means likewise.

    What nothing defines is left out, because a tracker would draw it as 0.
    """
    found: dict[str, Value] = {}
    for row in run.scores:
        key = f"{row.protocol}/{row.metric}"
        found.update({key: row.mean, f"{key}_low": row.low, f"{key}_high": row.high})
        for count in ("num_scored", "num_unparsed", "num_missing"):
            found[f"{row.protocol}/{count}"] = getattr(row, count)
    for label, judge in run.judges.items():
        for score in judge.scores:
            key = f"{label}/{score.dimension}"
            found.update({key: score.mean, f"{key}_low": score.low, f"{key}_high": score.high})
            for count in ("judged", "gated", "unscored", "unparsed", "missing"):
                found[f"{label}/num_{count}"] = getattr(score, f"num_{count}")
    return {key: value for key, value in found.items() if value is not None}


def flat_table(table: NumberTable) -> tuple[list[str], list[list[Value]]]:
    """Column names and rows of single values: an interval becomes three columns, counts one each.

    Example: a column `recall` of intervals gives `recall`, `recall low`, `recall high`.
    """
    names = [name for column in table.columns for name in _names(column)]
    rows = [
        [
            value
            for column, cell in zip(table.columns, row, strict=True)
            for value in _values(column, cell)
        ]
        for row in table.rows
    ]
    return names, rows


def _names(column: Column) -> list[str]:
    if column.kind in ("percent", "points", "score"):
        return [column.name, f"{column.name} low", f"{column.name} high"]
    if column.kind == "counts":
        return [f"{column.name} {part}" for part in column.parts]
    return [column.name]


def _values(column: Column, cell: Cell) -> list[Value]:
    width = len(_names(column))
    if cell is None:
        return [None] * width
    if isinstance(cell, Interval):
        return list(cell)
    if isinstance(cell, tuple):
        return list(cell)
    return [float(cell) if column.kind in ("seconds", "number") else cell]


def page_of(sections: "Sequence[PageSection]") -> str:
    """The sections as a document of their own, with their style."""
    from html import escape

    css = resources.files("evaluation.report").joinpath("sections.css").read_text("utf-8")
    body = "".join(f"<h2>{escape(one.title)}</h2>{one.html}" for one in sections)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Report</title>'
        "<style>:root { color-scheme: light dark; } body { font: 15px/1.5 system-ui, sans-serif; }"
        f"{css}</style><body>{body}</body></html>"
    )
