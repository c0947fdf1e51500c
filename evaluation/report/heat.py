"""Heat maps of shares between emotions, drawn as one square per cell that is not empty.

    draw_heat(figure, tips, {("Joy", "Fear"): (.25, "3 of 12")}, rows, columns, ("to", "from"))

Darkness is the share's size; with `signed` the colour is its sign. A page in the dark sees light
squares, because emptiness is the page itself.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from evaluation.analysis.document import NOTHING
from evaluation.report import palette
from evaluation.report.contents import Tips

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cells: TypeAlias = dict[tuple[str, str], tuple[float, str]]
"""(row, column) -> share from 0 to 1 (-1 to 1 where signed), and its tip."""

_CELL_INCHES = 0.27
_LABEL_INCHES = 2.0
_SMALLEST_WRITTEN = 0.045
_SMALLEST_SIGNED_WEIGHT = 0.3
_LIGHT_TEXT_FROM = 0.62


def heat_inches(num_rows: int, num_columns: int) -> tuple[float, float]:
    """Width and height of a figure for so many cells."""
    return (
        max(4.0, _LABEL_INCHES + _CELL_INCHES * num_columns),
        max(2.4, _LABEL_INCHES - 0.2 + _CELL_INCHES * num_rows),
    )


def draw_heat(
    figure: "Figure",
    tips: Tips,
    cells: Cells,
    rows: Sequence[tuple[str, str]],
    columns: Sequence[tuple[str, str]],
    titles: tuple[str, str],
    *,
    diagonal: bool = False,
    signed: bool = False,
    full: float = 1.0,
) -> None:
    """rows, columns: (key, label as shown). titles: of the columns and of the rows. full: the
    share that is drawn darkest."""
    from matplotlib.patches import Rectangle

    axes = figure.subplots()
    at_row = {key: at for at, (key, _) in enumerate(rows)}
    at_column = {key: at for at, (key, _) in enumerate(columns)}
    for (row, column), (share, tip) in cells.items():
        x, y = at_column[column], at_row[row]
        ink = palette.HEAT if not signed else palette.MORE if share > 0 else palette.LESS
        weight = min(1.0, abs(share) / full)
        axes.add_patch(
            Rectangle(
                (x - 0.47, y - 0.47),
                0.94,
                0.94,
                facecolor=ink.color,
                alpha=0.06 + 0.94 * weight,
                linewidth=0,
                gid=tips.on(tip),
                clip_on=False,
            )
        )
        if weight >= _SMALLEST_SIGNED_WEIGHT if signed else share >= _SMALLEST_WRITTEN:
            on = palette.ON_HEAT if weight > _LIGHT_TEXT_FROM else palette.TEXT
            text = f"{100 * share:{'+z.1f' if signed else '.0f'}}"
            axes.text(
                x, y, text, ha="center", va="center_baseline", fontsize=6.5, color=on.color
            )  # fmt: skip
    if diagonal:
        for key in (key for key in at_row if key in at_column and key != NOTHING):
            axes.add_patch(
                Rectangle(
                    (at_column[key] - 0.5, at_row[key] - 0.5),
                    1,
                    1,
                    fill=False,
                    edgecolor=palette.DIM.color,
                    linewidth=0.7,
                )
            )
    axes.set_xticks(range(len(columns)), [label for _, label in columns], rotation=90)
    axes.set_yticks(range(len(rows)), [label for _, label in rows])
    axes.tick_params(axis="x", labelcolor=palette.TEXT.color, labelsize=8)
    axes.tick_params(axis="y", labelsize=8)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_aspect("equal")
    for at in range(len(columns) + 1):
        axes.axvline(at - 0.5, color=palette.LINE.color, linewidth=0.4, zorder=0)
    for at in range(len(rows) + 1):
        axes.axhline(at - 0.5, color=palette.LINE.color, linewidth=0.4, zorder=0)
    axes.set_xlabel(titles[0])
    axes.set_ylabel(titles[1])
    axes.spines[["left", "bottom"]].set_visible(False)
