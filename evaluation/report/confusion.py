"""A confusion matrix as a heat map and as a table of its cells.

    confusion_plot("confusion-1", "grpo", analysis.confusion)
    confusion_table("confusion-1", "grpo", analysis.confusion).rows[0]   # ('Joy', 'Joy', 12, ...)

Labels outside the 27 share one column of the picture; the table has them all.
"""

from typing import TYPE_CHECKING

from affect.taxonomy import DAR_EMOTIONS
from evaluation.analysis.document import NOTHING, Confusion
from evaluation.analysis.labels import OTHER_LABELS
from evaluation.report.contents import Column, Interval, NumberTable, Plot, Tips
from evaluation.report.heat import Cells, draw_heat, heat_inches

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def confusion_plot(plot_id: str, label: str, confusion: Confusion) -> Plot:
    """Rows: the truth, each normalised to 100 %. Columns: what was predicted in its place."""
    counts = _merged(confusion)
    rows = _kept([row for row, _ in counts])
    columns = _kept([column for _, column in counts])
    cells: Cells = {}
    for row in rows:
        total = sum(count for (name, _), count in counts.items() if name == row)
        for column in columns:
            count = counts.get((row, column), 0)
            if count:
                share = count / total
                cells[row, column] = (
                    share,
                    f"truth {row}, predicted {column}: {count:,} of {total:,} ({share:.0%})",
                )

    def draw(figure: "Figure", tips: Tips) -> None:
        names = {
            row: f"{row} ({sum(n for (name, _), n in counts.items() if name == row):,})"
            for row in rows
        }
        draw_heat(
            figure, tips, cells, [(row, names[row]) for row in rows],
            [(column, column) for column in columns], ("predicted", "truth"), diagonal=True,
        )  # fmt: skip

    width, height = heat_inches(len(rows), len(columns))
    return Plot(
        plot_id,
        f"{label}: in percent of each line; in brackets how many segments the truth has of it.",
        f"Confusion matrix of {label}: {len(rows)} labels of the truth by {len(columns)} predicted "
        "ones; the counts stand in the table below.",
        width,
        height,
        draw,
    )


def _merged(confusion: Confusion) -> dict[tuple[str, str], int]:
    known = {*DAR_EMOTIONS, NOTHING}
    counts: dict[tuple[str, str], int] = {}
    for row, line in zip(confusion.labels, confusion.counts, strict=True):
        for column, count in zip(confusion.labels, line, strict=True):
            if count:
                key = tuple(name if name in known else OTHER_LABELS for name in (row, column))
                counts[key[0], key[1]] = counts.get((key[0], key[1]), 0) + count
    return counts


def _kept(names: list[str]) -> list[str]:
    """In the order of the 27, what else there is last."""
    return [name for name in (*DAR_EMOTIONS, OTHER_LABELS, NOTHING) if name in names]


def confusion_table(table_id: str, label: str, confusion: Confusion) -> NumberTable:
    """One line per cell that is not empty, the most frequent first."""
    lines = []
    for row, line in zip(confusion.labels, confusion.counts, strict=True):
        total = sum(line)
        for column, count in zip(confusion.labels, line, strict=True):
            if count:
                lines.append((row, column, count, total, Interval(count / total)))
    lines.sort(key=lambda one: (-one[2], one[0], one[1]))
    return NumberTable(
        table_id,
        f"{label}: places where the truth says one emotion and the reply another.",
        (
            Column("truth"),
            Column("predicted"),
            Column("places", "count"),
            Column("places of this truth", "count"),
            Column("share", "percent"),
        ),
        lines,
    )
