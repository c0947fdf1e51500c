"""Which emotion follows which: the changes that the truth has beside those that replies have.

transitions(labels, analyses)      # Content: the most frequent changes, a heat map per run
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from affect.taxonomy import DAR_EMOTIONS
from evaluation.analysis.document import Analysis, Transitions
from evaluation.analysis.labels import OTHER_LABELS
from evaluation.report import palette
from evaluation.report.contents import (
    Block,
    Column,
    Content,
    Folded,
    Interval,
    NumberTable,
    Paragraph,
    Plot,
    Tips,
)
from evaluation.report.heat import Cells, draw_heat, heat_inches
from evaluation.report.shown import (
    WIDTH_INCHES,
    Panel,
    draw_rows,
    rows_height,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NUM_SHOWN = 12
_NUM_LISTED = 60
Change = tuple[str, str]


def transitions(labels: Sequence[str], analyses: Mapping[str, Analysis]) -> Content:
    """labels: of the runs, in their order."""
    found = {label: analyses[label].transitions for label in labels}
    blocks: list[Block] = [
        Paragraph(
            "Shares of all changes from one segment's emotion to the next one's, in clips that "
            "count. The distance is the total variation between truth and replies: 0 where both "
            "change alike, 100 % where they share no change."
        ),
        _summary(found),
    ]
    counts = {label: _counts(one.labels, one.predicted) for label, one in found.items()}
    truth = _counts(found[labels[0]].labels, found[labels[0]].truth)
    if truth:
        blocks.append(_frequent(labels, truth, counts, found))
    else:
        blocks.append(Paragraph("The truth has no change of emotion."))
    blocks.append(Folded("Every change", (_table(labels, truth, counts),)))
    for at, label in enumerate(labels):
        if counts[label] and truth:
            plot = _difference(f"transitions-{at + 1}", label, truth, counts[label])
            blocks.append(Folded(f"Changes of {label} minus those of the truth", (plot,)))
    return Content("transitions", "Changes of emotion", tuple(blocks))


def _counts(labels: Sequence[str], matrix: Sequence[Sequence[int]]) -> dict[Change, int]:
    return {
        (source, target): count
        for source, line in zip(labels, matrix, strict=True)
        for target, count in zip(labels, line, strict=True)
        if count
    }


def _summary(found: Mapping[str, Transitions]) -> NumberTable:
    return NumberTable(
        "transition-distances",
        "How many changes there are, and how far the replies' are from the truth's, in percent.",
        (
            Column("run"),
            Column("true changes", "count"),
            Column("predicted changes", "count"),
            Column("distance", "percent"),
        ),
        [
            (label, one.num_truth, one.num_predicted, Interval(one.distance))
            for label, one in found.items()
        ],
    )


def _share(counts: Mapping[Change, int], change: Change) -> float:
    return counts.get(change, 0) / sum(counts.values())


def _frequent(
    labels: Sequence[str],
    truth: Mapping[Change, int],
    counts: Mapping[str, Mapping[Change, int]],
    found: Mapping[str, Transitions],
) -> Plot:
    shown = sorted(truth, key=lambda change: (-truth[change], change))[:_NUM_SHOWN]
    panel = Panel(
        "share of all changes, %",
        {
            label: [
                Interval(_share(counts[label], change)) if counts[label] else None
                for change in shown
            ]
            for label in labels
        },
        notes={
            label: [
                f"{counts[label].get(change, 0):,} of {found[label].num_predicted:,}; truth "
                f"{truth[change]:,} of {found[label].num_truth:,}"
                for change in shown
            ]
            for label in labels
        },
    )

    def draw(figure: "Figure", tips: Tips) -> None:
        rows = [f"{source} to {target} ({truth[source, target]:,})" for source, target in shown]
        draw_rows(figure, tips, labels=labels, rows=rows, panels=[panel])
        axes = figure.axes[0]
        for row, change in enumerate(shown):
            share = 100 * _share(truth, change)
            axes.barh(
                row, share, 0.72, color=palette.TRUTH.color, 
                gid=tips.on(f"truth, {rows[row]}: {share:.1f} %"),
            )  # fmt: skip
        right = max(
            100 * _share(one, change)
            for one in (truth, *(counts[label] for label in labels if counts[label]))
            for change in shown
        )
        axes.set_xlim(-0.015 * right, right * 1.05)

    return Plot(
        "transitions",
        f"The {len(shown)} most frequent changes of the truth (grey, and how many), and their "
        "share among each run's changes.",
        f"One row per change: a bar for the truth and a mark for each of {len(labels)} runs; the "
        "numbers stand in the table below.",
        WIDTH_INCHES,
        rows_height(len(shown), len(labels)),
        draw,
    )


def _table(
    labels: Sequence[str],
    truth: Mapping[Change, int],
    counts: Mapping[str, Mapping[Change, int]],
) -> NumberTable:
    changes = {*truth, *(change for one in counts.values() for change in one)}
    most = {
        change: max(truth.get(change, 0), *(counts[label].get(change, 0) for label in labels))
        for change in changes
    }
    ordered = sorted(changes, key=lambda change: (-most[change], change))
    left_out = len(ordered) - _NUM_LISTED
    return NumberTable(
        "transitions",
        "How often each change occurs in the truth and in each run"
        + (f"; {left_out:,} rarer ones are left out." if left_out > 0 else "."),
        (
            Column("from"),
            Column("to"),
            Column("truth", "count"),
            *(Column(label, "count") for label in labels),
        ),
        [
            (*change, truth.get(change, 0), *(counts[label].get(change, 0) for label in labels))
            for change in ordered[:_NUM_LISTED]
        ],
    )


def _difference(
    plot_id: str, label: str, truth: Mapping[Change, int], predicted: Mapping[Change, int]
) -> Plot:
    cells: dict[Change, float] = {}
    for sign, counts in ((-1, truth), (1, predicted)):
        total = sum(counts.values())
        for change, count in counts.items():
            key = (_known(change[0]), _known(change[1]))
            cells[key] = cells.get(key, 0.0) + sign * count / total
    rows = [name for name in (*DAR_EMOTIONS, OTHER_LABELS) if any(name == one for one, _ in cells)]
    columns = [
        name for name in (*DAR_EMOTIONS, OTHER_LABELS) if any(name == one for _, one in cells)
    ]
    told: Cells = {
        change: (share, f"{change[0]} to {change[1]}: {100 * share:+z.1f} points")
        for change, share in cells.items()
        if share
    }
    largest = max((abs(share) for share in cells.values()), default=0.0)

    def draw(figure: "Figure", tips: Tips) -> None:
        draw_heat(
            figure, tips, told, [(name, name) for name in rows], [(name, name) for name in columns],
            ("to", "from"), signed=True, full=largest or 1.0,
        )  # fmt: skip

    width, height = heat_inches(len(rows), len(columns))
    return Plot(
        plot_id,
        f"{label}: points of all changes. Orange: more often than the truth; blue: more rarely; "
        f"darkest: {100 * largest:.1f} points.",
        f"Matrix of {len(rows)} by {len(columns)} emotions: how much more often {label} changes "
        "from one to the other than the truth does.",
        width,
        height,
        draw,
    )


def _known(name: str) -> str:
    return name if name in DAR_EMOTIONS else OTHER_LABELS
