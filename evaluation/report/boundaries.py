"""How well the moments of change are placed.

boundaries(labels, analyses)      # Content: histogram of errors, shares within a tolerance
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evaluation.analysis.document import Analysis, Bin, BoundaryErrors
from evaluation.report import palette
from evaluation.report.contents import (
    Block,
    Cell,
    Column,
    Content,
    Folded,
    NumberTable,
    Paragraph,
    Plot,
    Tips,
)
from evaluation.report.emotions import interval_of_share
from evaluation.report.shown import (
    WIDTH_INCHES,
    add_legend,
    dot_with_whisker,
    num_legend_lines,
    short_labels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def boundaries(labels: Sequence[str], analyses: Mapping[str, Analysis]) -> Content:
    """labels: of the runs, in their order."""
    found = {label: analyses[label].boundaries for label in labels}
    blocks: list[Block] = [
        Paragraph(
            "Boundaries inside a clip, each true one with at most one predicted. Errors are "
            "predicted minus true, in seconds. Missed: true ones without a partner; extra: "
            "predicted ones without."
        ),
        _table(found),
    ]
    if any(one.num_paired + one.num_missed for one in found.values()):
        blocks.append(_within_plot(found))
    if any(one.num_paired for one in found.values()):
        blocks.append(_histogram_plot(found))
        blocks.append(Folded("The counts of the histogram", (_histogram_table(found),)))
    else:
        blocks.append(Paragraph("No boundary has a partner, so there are no errors to draw."))
    return Content("boundaries", "Boundaries", tuple(blocks))


def _tolerances(found: Mapping[str, BoundaryErrors]) -> list[str]:
    return sorted({text for one in found.values() for text in one.within}, key=float)


def _table(found: Mapping[str, BoundaryErrors]) -> NumberTable:
    tolerances = _tolerances(found)
    rows: list[tuple[Cell, ...]] = []
    for label, one in found.items():
        shares = (one.within.get(text) for text in tolerances)
        rows.append(
            (
                label,
                one.num_paired,
                one.num_missed,
                one.num_extra,
                one.mean_absolute_seconds,
                one.median_seconds,
                *(None if share is None else interval_of_share(share) for share in shares),
            )
        )
    return NumberTable(
        "boundaries",
        "Counts; mean absolute and median error in seconds of those that have a partner; percent "
        "of the true boundaries met within so many seconds.",
        (
            Column("run"),
            *(Column(name, "count") for name in ("paired", "missed", "extra")),
            Column("mean |error|,\N{NO-BREAK SPACE}s", "seconds"),
            Column("median error,\N{NO-BREAK SPACE}s", "seconds"),
            *(Column(f"within {text}\N{NO-BREAK SPACE}s", "percent") for text in tolerances),
        ),
        rows,
    )


def _within_plot(found: Mapping[str, BoundaryErrors]) -> Plot:
    labels = list(found)
    tolerances = _tolerances(found)

    def draw(figure: "Figure", tips: Tips) -> None:
        add_legend(figure, labels)
        within, counts = figure.subplots(1, 2, width_ratios=(1.5, 1))
        within.set_title("true boundaries met, %")
        step = 0.6 / max(1, len(labels) - 1)
        for at, label in enumerate(labels):
            offset = 0 if len(labels) == 1 else -0.3 + step * at
            ink = palette.run_ink(at)
            line = []
            for x, text in enumerate(tolerances):
                share = found[label].within.get(text)
                if share is None or share.mean is None:
                    continue
                value = interval_of_share(share)
                line.append((x + offset, 100 * share.mean))
                whisker = (
                    None if value.low is None or value.high is None
                    else (100 * value.low, 100 * value.high)
                )  # fmt: skip
                tip = f"{label}, within {text} s: {100 * share.mean:.1f} % ({share.numerator:g} of "
                dot_with_whisker(
                    within, line[-1], whisker, ink, upright=True,
                    gid=tips.on(f"{tip}{share.denominator:g})"),
                )  # fmt: skip
            within.plot(*zip(*line, strict=True), color=ink.color, linewidth=0.8, alpha=0.4)
        within.set_xticks(range(len(tolerances)), [f"{text} s" for text in tolerances])
        within.set_xlabel("within")
        within.set_ylim(-3, 103)
        within.grid(axis="y")
        within.tick_params(axis="y", labelcolor=palette.DIM.color, labelsize=8)
        _count_bars(counts, tips, found)

    return Plot(
        "within",
        "Share of the true boundaries that each run meets within a tolerance, with intervals; and "
        "how many boundaries were paired, missed and extra.",
        "Left: rising marks with whiskers per tolerance and run. Right: bars of counts per run. "
        "The numbers stand in the table above.",
        WIDTH_INCHES,
        3.1 + (0.3 * num_legend_lines(len(labels)) if len(labels) > 1 else 0),
        draw,
    )


def _count_bars(axes: "Axes", tips: Tips, found: Mapping[str, BoundaryErrors]) -> None:
    kinds = ("paired", "missed", "extra")
    height = 0.8 / len(found)
    for at, (label, one) in enumerate(found.items()):
        counts = (one.num_paired, one.num_missed, one.num_extra)
        for row, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
            y = row - 0.4 + height * (at + 0.5)
            axes.barh(
                y, count, height * 0.86, color=palette.run_ink(at).color, alpha=0.85, linewidth=0,
                gid=tips.on(f"{label}: {count:,} {kind}"),
            )  # fmt: skip
            axes.annotate(
                f"{count:,}", (count, y), (3, 0), textcoords="offset points", va="center_baseline",
                fontsize=7.5,
            )  # fmt: skip
    axes.set_title("boundaries")
    axes.set_yticks(range(len(kinds)), kinds)
    axes.set_ylim(len(kinds) - 0.5, -0.5)
    axes.margins(x=0.14)
    axes.set_xlim(left=0)
    axes.grid(axis="x")
    axes.locator_params(axis="x", nbins=5, integer=True)
    axes.spines[["left", "bottom"]].set_visible(False)


def _bin_text(one: Bin) -> str:
    if one.from_seconds is None:
        return f"below {one.to_seconds:g} s" if one.to_seconds is not None else "all"
    if one.to_seconds is None:
        return f"{one.from_seconds:g} s and more"
    return f"{one.from_seconds:g} to {one.to_seconds:g} s"


def _histogram_plot(found: Mapping[str, BoundaryErrors]) -> Plot:
    labels = list(found)
    shown = short_labels(labels)

    def draw(figure: "Figure", tips: Tips) -> None:
        grid = figure.subplots(len(labels), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for at, (axes, label) in enumerate(zip(grid, labels, strict=True)):
            one = found[label]
            total = max(1, one.num_paired)
            for x, each in enumerate(one.bins):
                share = 100 * each.count / total
                axes.bar(
                    x, share, 0.9, color=palette.run_ink(at).color, linewidth=0,
                    alpha=0.85 if each.from_seconds is not None and each.to_seconds is not None
                    else 0.45,
                    gid=tips.on(f"{label}, {_bin_text(each)}: {each.count:,} ({share:.1f} %)"),
                )  # fmt: skip
            axes.set_title(f"{shown[label]}: {one.num_paired:,} errors", fontweight="normal")
            axes.grid(axis="y")
            axes.tick_params(axis="y", labelcolor=palette.DIM.color, labelsize=8)
            axes.locator_params(axis="y", nbins=3)
            _mark_zero(axes, one.bins)
        _ticks(grid[-1], found[labels[-1]].bins)
        figure.supylabel("% of errors", fontsize=8.5, color=palette.DIM.color)

    return Plot(
        "boundary-errors",
        "Errors of the boundaries that have a partner. The paler outer bars hold all beyond.",
        f"A histogram for each of {len(labels)} runs; the counts stand in the table below.",
        WIDTH_INCHES,
        0.8 + 1.2 * len(labels),
        draw,
    )


def _mark_zero(axes: "Axes", bins: Sequence[Bin]) -> None:
    for x, one in enumerate(bins):
        if one.from_seconds == 0:
            axes.axvline(x - 0.5, color=palette.DIM.color, linewidth=1)
        elif (
            one.from_seconds is not None and one.to_seconds is not None
            and one.from_seconds < 0 < one.to_seconds
        ):  # fmt: skip
            part = -one.from_seconds / (one.to_seconds - one.from_seconds)
            axes.axvline(x - 0.5 + part, color=palette.DIM.color, linewidth=1)


def _ticks(axes: "Axes", bins: Sequence[Bin]) -> None:
    """At the middles of bins where one lies around 0, else at their edges; every few of many."""
    closed = [
        (x, one.from_seconds, one.to_seconds)
        for x, one in enumerate(bins)
        if one.from_seconds is not None and one.to_seconds is not None
    ]
    if any(abs(low + high) < 1e-9 for _, low, high in closed):
        marks = [(float(x), (low + high) / 2) for x, low, high in closed]
    else:
        marks = [(x - 0.5, low) for x, low, _ in closed]
        marks += [(x + 0.5, high) for x, _, high in closed[-1:]]
    every = -(-len(marks) // 13)
    middle = min(range(len(marks)), key=lambda at: abs(marks[at][1]), default=0)
    kept = [mark for at, mark in enumerate(marks) if (at - middle) % every == 0]
    texts = [f"{round(seconds, 2) + 0.0:g}" for _, seconds in kept]
    axes.set_xticks([x for x, _ in kept], texts)
    axes.set_xlabel("predicted minus true, in seconds")


def _histogram_table(found: Mapping[str, BoundaryErrors]) -> NumberTable:
    first = next(iter(found.values()))
    same = all(
        [_bin_text(bin) for bin in one.bins] == [_bin_text(bin) for bin in first.bins]
        for one in found.values()
    )
    assert same, "one code makes all bins"
    return NumberTable(
        "boundary-errors",
        "How many errors lie in each bin.",
        (Column("error"), *(Column(label, "count") for label in found)),
        [
            (_bin_text(each), *(one.bins[at].count for one in found.values()))
            for at, each in enumerate(first.bins)
        ],
    )
