"""What each judge says of the reasons: five dimensions, their average, its own total.

judges(runs)      # Content: a plot and a table per judge; judges are never mixed
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from affect.judge_dimensions import JUDGE_DIMENSIONS, MAX_SCORE, MIN_SCORE, short_name
from evaluation.judge.judgements import JUDGED_COLUMNS, JudgeScoreRow
from evaluation.report import palette
from evaluation.report.contents import (
    Block,
    Column,
    Content,
    Heading,
    Interval,
    NumberTable,
    Paragraph,
    Plot,
    Tips,
)
from evaluation.report.shown import WIDTH_INCHES, Panel, draw_rows, rows_height
from evaluation.run_results import RunResults

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COUNTS = ("judged", "gated", "unscored", "unparsed", "missing")


def judges(runs: Sequence[RunResults]) -> Content | None:
    """None where nobody judged any run."""
    names = sorted({name for run in runs for name in run.judges})
    if not names:
        return None
    blocks: list[Block] = [
        Paragraph(
            "From 0 to 5, with intervals from a bootstrap over clips. Gated segments are worth 0 "
            "without asking; unscored ones got no usable answer, and enter no mean. Judged, "
            "gated and unscored count segments; unparsed and missing count clips. Numbers of "
            "different judges can't be compared."
        )
    ]
    for at, name in enumerate(names):
        found = {
            run.label: {row.dimension: row for row in run.judges[name].scores}
            for run in runs
            if name in run.judges
        }
        without = [run.label for run in runs if name not in run.judges]
        places = [place for place, run in enumerate(runs) if name in run.judges]
        blocks.append(Heading(name))
        if without:
            blocks.append(Paragraph(f"Not judged by it: {', '.join(without)}."))
        blocks.append(_plot(f"judge-{at + 1}", name, found, places))
        blocks.append(_table(f"judge-{at + 1}", name, found))
    return Content("judges", "Judges of the reasons", tuple(blocks))


def _title(dimension: str) -> str:
    words = dimension.replace("_", " ")
    return f"{words} ({short_name(dimension)})" if dimension in JUDGE_DIMENSIONS else words


def _interval(row: JudgeScoreRow | None) -> Interval | None:
    return None if row is None else Interval(row.mean, row.low, row.high)


def _plot(
    plot_id: str,
    judge: str,
    found: Mapping[str, Mapping[str, JudgeScoreRow]],
    places: Sequence[int],
) -> Plot:
    labels = list(found)
    panel = Panel(
        f"score, {MIN_SCORE} to {MAX_SCORE}",
        {label: [_interval(found[label].get(name)) for name in JUDGED_COLUMNS] for label in labels},
        scale=1.0,
        digits=2,
        limits=(MIN_SCORE, MAX_SCORE),
    )

    def draw(figure: "Figure", tips: Tips) -> None:
        rows = [_title(name) for name in JUDGED_COLUMNS]
        draw_rows(figure, tips, labels=labels, rows=rows, panels=[panel], inks=places)
        # Average and overall are of another kind than the five above.
        figure.axes[0].axhline(len(JUDGE_DIMENSIONS) - 0.5, color=palette.DIM.color, linewidth=0.8)

    return Plot(
        plot_id,
        f"{judge}: mean scores with intervals.",
        f"{len(JUDGED_COLUMNS)} rows, a mark with whiskers for each of {len(labels)} runs; the "
        "numbers stand in the table below.",
        WIDTH_INCHES,
        rows_height(len(JUDGED_COLUMNS), len(labels)),
        draw,
    )


def _table(
    table_id: str, judge: str, found: Mapping[str, Mapping[str, JudgeScoreRow]]
) -> NumberTable:
    return NumberTable(
        table_id,
        f"{judge}: means with intervals, segments and clips.",
        (
            Column("dimension"),
            Column("run"),
            Column("mean", "score"),
            *(Column(name, "count") for name in _COUNTS),
        ),
        [
            (
                _title(name),
                label,
                _interval(row),
                *(getattr(row, f"num_{count}") for count in _COUNTS),
            )
            for name in JUDGED_COLUMNS
            for label, rows in found.items()
            if (row := rows.get(name)) is not None
        ],
    )
