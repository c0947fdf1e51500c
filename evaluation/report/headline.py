"""The headline: strict scores with intervals, and paired differences to the first run.

headline(runs)      # Content with a forest plot, the numbers, and the differences if there are
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evaluation.metrics import DifferenceRow, ScoreRow, compare_clips
from evaluation.report.contents import (
    Block,
    Cell,
    Column,
    Content,
    Heading,
    Interval,
    NumberTable,
    Paragraph,
    Plot,
    Tips,
)
from evaluation.report.shown import WIDTH_INCHES, Panel, draw_rows, short_labels
from evaluation.run_results import RunResults
from evaluation.tables import metric_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROTOCOL = "strict"
METRICS = ("sc_acc", "miou_segment", "emo_acc", "valid_timeline")
COUNTS = ("scored", "unparsed", "missing")


def headline(runs: Sequence[RunResults]) -> Content:
    """Scores of METRICS under `strict`, every one beside its counts."""
    num_clips = len(runs[0].clips)
    blocks: list[Block] = [
        Paragraph(
            f"Protocol strict, {num_clips} clips: only a valid timeline is read, nothing is "
            "repaired, and clips without one count as 0. Whiskers are "
            f"{100 * runs[0].bootstrap.confidence:g} % intervals from a bootstrap over clips."
        ),
        _forest(runs),
        _table(runs),
    ]
    if len(runs) > 1:
        blocks += _differences(runs)
    return Content("headline", "Headline", tuple(blocks))


def interval_of(row: ScoreRow | DifferenceRow) -> Interval:
    mean = row.mean if isinstance(row, ScoreRow) else row.difference
    return Interval(mean, row.low, row.high)


def counts_of(row: ScoreRow) -> tuple[int, ...]:
    """In the order of COUNTS."""
    return row.num_scored, row.num_unparsed, row.num_missing


def _forest(runs: Sequence[RunResults]) -> Plot:
    labels = [run.label for run in runs]
    rows = [
        "{}\n{} scored, {} unparsed, {} missing".format(
            shown, *counts_of(run.score(PROTOCOL, METRICS[0]))
        )
        for run, shown in zip(runs, short_labels(labels).values(), strict=True)
    ]
    panels = []
    for metric in METRICS:
        scores = [run.score(PROTOCOL, metric) for run in runs]
        values: dict[str, list[Interval | None]] = {}
        notes: dict[str, list[str]] = {}
        for at, (label, score) in enumerate(zip(labels, scores, strict=True)):
            # A row of its own for each run, and a colour.
            values[label] = [interval_of(score) if at == row else None for row in range(len(runs))]
            words = "scored {}, unparsed {}, missing {}".format(*counts_of(score))
            notes[label] = [words] * len(runs)
        panels.append(Panel(f"{metric_title(PROTOCOL, metric)}, %", values, notes=notes))

    def draw(figure: "Figure", tips: Tips) -> None:
        draw_rows(figure, tips, labels=labels, rows=rows, panels=panels, in_rows=True)

    means = "; ".join(
        f"{run.label}: "
        + ", ".join(
            f"{metric_title(PROTOCOL, metric)} {_percent(run.score(PROTOCOL, metric).mean)}"
            for metric in METRICS
        )
        for run in runs
    )
    return Plot(
        "headline",
        "Strict scores in percent. Each panel has its own axis.",
        f"Dots with whiskers, one row per run. {means}.",
        WIDTH_INCHES,
        0.75 + 0.45 * len(runs),
        draw,
    )


def _percent(mean: float | None) -> str:
    return "undefined" if mean is None else f"{100 * mean:.1f} percent"


def _table(runs: Sequence[RunResults]) -> NumberTable:
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        scores = [run.score(PROTOCOL, metric) for metric in METRICS]
        rows.append((run.label, *map(interval_of, scores), *counts_of(scores[0])))
    return NumberTable(
        "headline",
        "Strict scores in percent with intervals, and the clips they stand on.",
        (
            Column("run"),
            *(Column(metric_title(PROTOCOL, metric), "percent") for metric in METRICS),
            *(Column(name, "count") for name in COUNTS),
        ),
        rows,
    )


def _differences(runs: Sequence[RunResults]) -> list[Block]:
    first = runs[0]
    ids = [clip.id for clip in first.clips]
    paired = [run for run in runs[1:] if [clip.id for clip in run.clips] == ids]
    labels = [run.label for run in paired]
    left_out = [run.label for run in runs[1:] if run.label not in labels]
    blocks: list[Block] = [Heading(f"Differences to {first.label}")]
    if left_out:
        blocks.append(
            Paragraph(f"Answers other clips, so nothing can be paired: {', '.join(left_out)}.")
        )
    if not paired:
        return blocks
    found = {
        run.label: {
            row.metric: row
            for row in compare_clips(
                (first.label, first.clips), (run.label, run.clips), [PROTOCOL], first.bootstrap
            )
        }
        for run in paired
    }
    blocks += [
        Paragraph(
            "In points, over the same clips in the same draws. An interval on one side of 0 is a "
            "difference that other clips of this kind would hardly turn around."
        ),
        _difference_plot(runs, found),
        _difference_table(first.label, found),
    ]
    return blocks


def _difference_plot(
    runs: Sequence[RunResults], found: dict[str, dict[str, DifferenceRow]]
) -> Plot:
    places = [at for at, run in enumerate(runs) if run.label in found]
    labels = list(found)
    shown = short_labels([run.label for run in runs])
    panels = [
        Panel(
            metric_title(PROTOCOL, metric),
            {
                label: [
                    interval_of(found[label][metric]) if at == row else None
                    for row in range(len(labels))
                ]
                for at, label in enumerate(labels)
            },
            zero=True,
            notes={label: ["points"] * len(labels) for label in labels},
        )
        for metric in METRICS
    ]

    def draw(figure: "Figure", tips: Tips) -> None:
        rows = [shown[label] for label in labels]
        draw_rows(
            figure, tips, labels=labels, rows=rows, panels=panels, inks=places, in_rows=True
        )  # fmt: skip

    return Plot(
        "differences",
        f"Strict scores minus those of {runs[0].label}, in points.",
        f"Dots with whiskers around a line at 0, one row per run beside {runs[0].label}; the "
        "numbers stand in the table below.",
        WIDTH_INCHES,
        0.75 + 0.45 * len(labels),
        draw,
    )


def _difference_table(first: str, found: dict[str, dict[str, DifferenceRow]]) -> NumberTable:
    return NumberTable(
        "differences",
        f"Strict scores minus those of {first}, in points, with paired intervals.",
        (
            Column("run"),
            *(Column(metric_title(PROTOCOL, metric), "points") for metric in METRICS),
            Column("clips", "count"),
        ),
        [
            (
                label,
                *(interval_of(by_metric[metric]) for metric in METRICS),
                by_metric[METRICS[0]].num_clips,
            )
            for label, by_metric in found.items()
        ],
    )
