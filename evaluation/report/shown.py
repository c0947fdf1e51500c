"""Parts that several sections draw with: dots with whiskers per run, legends, short labels.

    draw_rows(figure, tips, labels=["A", "B"], rows=["Joy (12)"], panels=[
        Panel("recall, %", {"A": [Interval(.6, .4, .8)], "B": [Interval(.7, .5, .9)]})])

Every run keeps its colour and marker throughout the report. Values of a panel are drawn as given,
times `scale`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from affect.printable import printable
from evaluation.report import palette
from evaluation.report.contents import Interval, Tips

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_INCHES = 10.0
_MAX_LABEL = 30
_CHARACTER_INCHES = 0.085
_LEGEND_MARK_INCHES = 0.55


@dataclass(frozen=True, slots=True)
class Panel:
    """title: with the unit, or with `notes` that have it. values: by run's label, one per row, None
    where there is none. scale: 100 for percent. limits: of the axis, after scaling; None fits what
    is drawn. zero: whether a line marks 0. notes: by run's label, more words for a row's tip."""

    title: str
    values: Mapping[str, Sequence[Interval | None]]
    scale: float = 100.0
    limits: tuple[float, float] | None = None
    zero: bool = False
    notes: Mapping[str, Sequence[str]] | None = None
    digits: int = 1


def short(text: str, most: int = _MAX_LABEL) -> str:
    """On one line, the middle left out where it is long; the tables have it whole."""
    text = " ".join(printable(text).split())
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[-(most - 1 - head) :]}"


def short_labels(labels: Sequence[str]) -> dict[str, str]:
    """`short` of each, numbered where two would read alike."""
    shown = {label: short(label) for label in labels}
    alike = [text for text in shown.values() if list(shown.values()).count(text) > 1]
    return {
        label: f"{position}: {text}" if text in alike else text
        for position, (label, text) in enumerate(shown.items(), 1)
    }


def rows_height(num_rows: int, num_labels: int) -> float:
    """Inches of a plot of rows: whiskers of all runs have room beside each other."""
    legend = 0.3 * num_legend_lines(num_labels) if num_labels > 1 else 0.0
    return 0.62 + num_rows * (0.15 + 0.105 * num_labels) + legend


def num_legend_lines(num_labels: int) -> int:
    """At most, with labels as long as `short` leaves them."""
    per_line = int(WIDTH_INCHES // (_LEGEND_MARK_INCHES + _MAX_LABEL * _CHARACTER_INCHES))
    return -(-num_labels // per_line)


def add_legend(
    figure: "Figure",
    labels: Sequence[str],
    inks: Sequence[int] | None = None,
    *,
    lines: bool = False,
) -> None:
    """One entry per run above the panels, in as many lines as they need; none for one run.

    inks: as in `draw_rows`. lines: instead of markers.
    """
    from matplotlib.lines import Line2D

    if len(labels) < 2:
        return
    shown = short_labels(labels)
    longest = max(len(text) for text in shown.values())
    width = figure.get_figwidth()
    columns = int(width // (_LEGEND_MARK_INCHES + longest * _CHARACTER_INCHES))
    marks = [
        Line2D(
            [], [],
            color=ink.color,
            marker=None if lines else ink.marker,
            linestyle="-" if lines else "none",
            linewidth=2,
            markersize=ink.marker_points,
        )
        for ink in map(palette.run_ink, range(len(labels)) if inks is None else inks)
    ]  # fmt: skip
    ncols = max(1, min(columns, len(labels)))
    # matplotlib fills column by column; one reads line by line.
    order = [at for column in range(ncols) for at in range(column, len(labels), ncols)]
    figure.legend(
        [marks[at] for at in order],
        [list(shown.values())[at] for at in order],
        loc="outside upper left",
        ncols=ncols,
        handletextpad=0.4,
        columnspacing=1.4,
        borderaxespad=0.2,
    )


def draw_rows(
    figure: "Figure",
    tips: Tips,
    *,
    labels: Sequence[str],
    rows: Sequence[str],
    panels: Sequence[Panel],
    inks: Sequence[int] | None = None,
    in_rows: bool = False,
    bars: bool = False,
) -> None:
    """Panels beside each other that share their rows; per row a dot with whiskers for each run.

    inks: which run's colour each label has, where labels are not all the runs in order.
    in_rows: every row is one run, named by it: no legend, and the values are written out.
    bars: from 0 to each dot.
    """
    places = list(inks if inks is not None else range(len(labels)))
    if not in_rows:
        add_legend(figure, labels, places)
    grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, panel in zip(grid, panels, strict=True):
        band_rows(axes, len(rows))
        axes.set_title(panel.title)
        axes.grid(axis="x")
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.spines[["left", "bottom"]].set_visible(False)
        if panel.zero:
            axes.axvline(0, color=palette.DIM.color, linewidth=1)
        for at, label in enumerate(labels):
            if bars:
                _bars(axes, panel, label, palette.run_ink(places[at]).color)
            offset = 0.0 if in_rows else _offset(at, len(labels))
            _run_dots(axes, tips, panel, label, rows, offset, places[at], written=in_rows)
        fit(axes, panel)


def _bars(axes: "Axes", panel: Panel, label: str, color: str) -> None:
    known = [
        (row, panel.scale * value.mean)
        for row, value in enumerate(panel.values[label])
        if value is not None and value.mean is not None
    ]
    axes.barh([row for row, _ in known], [mean for _, mean in known], 0.62, color=color, alpha=0.22)


def _offset(at: int, num: int) -> float:
    """Of a run's dots from the middle of the row; a row is 1 high."""
    return 0.8 / num * (at - (num - 1) / 2)


def _run_dots(
    axes: "Axes",
    tips: Tips,
    panel: Panel,
    label: str,
    rows: Sequence[str],
    offset: float,
    ink_place: int,
    *,
    written: bool,
) -> None:
    ink = palette.run_ink(ink_place)
    for row, value in enumerate(panel.values[label]):
        if value is None or value.mean is None:
            continue
        notes = panel.notes[label][row] if panel.notes else ""
        where = label if written else f"{label}, {rows[row]}"
        tip = f"{where}: {interval_text(value, panel)} ({panel.title})"
        dot_with_whisker(
            axes,
            (panel.scale * value.mean, row + offset),
            None if value.low is None or value.high is None
            else (panel.scale * value.low, panel.scale * value.high),
            ink,
            gid=tips.on(f"{tip} {notes}".strip()),
        )  # fmt: skip
        if written:
            text = interval_text(Interval(value.mean), panel)
            at = (panel.scale * value.mean, row + offset - 0.17)
            axes.text(*at, text, ha="center", va="bottom", fontsize=8)


def dot_with_whisker(
    axes: "Axes",
    at: tuple[float, float],
    whisker: tuple[float, float] | None,
    ink: palette.RunInk,
    *,
    gid: str,
    upright: bool = False,
) -> None:
    """A marker at (x, y), with a whisker along x, or along y where it is `upright`."""
    x, y = at
    if whisker is not None:
        along: dict[str, Any] = {"color": ink.color, "linewidth": 1.6, "solid_capstyle": "round"}
        ends = ([x, x], list(whisker)) if upright else (list(whisker), [y, y])
        axes.plot(*ends, **along)
    axes.plot(
        [x], [y], ink.marker, color=ink.color, markersize=ink.marker_points, markeredgewidth=0,
        gid=gid, clip_on=False, zorder=3,
    )  # fmt: skip


def interval_text(value: Interval, panel: Panel) -> str:
    """`61.0 [55.2, 66.8]`, scaled and with its sign where the panel marks 0."""
    assert value.mean is not None
    form = f"{'+' if panel.zero else ''}.{panel.digits}f"
    text = format(panel.scale * value.mean, form)
    if value.low is None or value.high is None:
        return text
    return f"{text} [{panel.scale * value.low:{form}}, {panel.scale * value.high:{form}}]"


def fit(axes: "Axes", panel: Panel) -> None:
    """The panel's limits, or those of all its whiskers with a little air."""
    if panel.limits is not None:
        low, high = panel.limits
        air = (high - low) * 0.03
        axes.set_xlim(low - air, high + air)
        return
    ends = [
        panel.scale * end
        for values in panel.values.values()
        for value in values
        if value is not None
        for end in value
        if end is not None
    ]
    if panel.zero:
        ends.append(0.0)
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    air = max(0.08 * (high - low), 0.01 * panel.scale)
    axes.set_xlim(low - air, high + air)
    axes.locator_params(axis="x", nbins=5)


def band_rows(axes: "Axes", num_rows: int) -> None:
    """Every other row is shaded, so that the eye keeps to it across panels."""
    for row in range(0, num_rows, 2):
        axes.axhspan(row - 0.5, row + 0.5, color=palette.BAND.color, linewidth=0, zorder=0)
