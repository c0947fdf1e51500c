"""An analysis as tables to read: emotions, confusions, transitions, boundaries, breakdowns.

Example:
    for table in analysis_tables(analyse(truths, clips)):
        Console().print(table)
"""

from collections.abc import Iterator

import numpy as np
from rich.table import Table
from rich.text import Text

from evaluation.analysis.document import Analysis, Share
from evaluation.tables import PAPER_METRICS, UNDEFINED, metric_title, percent

NUM_CONFUSIONS = 10
NUM_TRANSITIONS = 5
"""Shown of those that replies make too often, and of those that they make too seldom."""


def analysis_tables(analysis: Analysis) -> list[Table]:
    """All of them, in the order in which one asks."""
    return [
        emotions_table(analysis),
        confusions_table(analysis),
        transitions_table(analysis),
        boundaries_table(analysis),
        breakdowns_table(analysis),
    ]


def _table(title: str, caption: str, names: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    table = Table(title=title, caption=caption, title_justify="left", caption_justify="left")
    for name in names:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def _percent(share: Share) -> str:
    return percent(share.mean, share.low, share.high)


def emotions_table(analysis: Analysis) -> Table:
    """Emotions that the truth or a reply has, the truth's most frequent first."""
    table = _table(
        f"Emotions, {analysis.protocol}",
        "Percent, 95 % intervals from a bootstrap over clips. Right: paired with the same label at "
        "tIoU .5 or more.",
        ("emotion",),
        ("true", "predicted", "right", "precision", "recall", "F1", "mean tIoU"),
    )
    for row in sorted(analysis.emotions, key=lambda row: (-row.num_truth, row.emotion)):
        if row.num_truth or row.num_predicted:
            counts = (str(row.num_truth), str(row.num_predicted), str(row.num_correct))
            shares = (row.precision, row.recall, row.f1, row.mean_tiou)
            table.add_row(row.emotion, *counts, *map(_percent, shares))
    return table


def confusions_table(analysis: Analysis) -> Table:
    """The most frequent places whose two sides differ."""
    labels, counts = analysis.confusion.labels, analysis.confusion.counts
    wrong = [
        (counts[i][j], labels[i], labels[j], sum(counts[i]))
        for i in range(len(labels))
        for j in range(len(labels))
        if i != j and counts[i][j]
    ]
    wrong.sort(key=lambda entry: (-entry[0], entry[1], entry[2]))
    num_wrong, num_places = sum(entry[0] for entry in wrong), sum(map(sum, counts))
    table = _table(
        f"Largest confusions, {analysis.protocol}",
        f"The two sides of {num_wrong} in {num_places} places differ; "
        f"{len(wrong)} pairs of labels in all. (none): no partner.",
        ("truth", "reply"),
        ("places", "percent of the truth's"),
    )
    for count, truth, reply, total in wrong[:NUM_CONFUSIONS]:
        table.add_row(Text(truth), Text(reply), str(count), f"{100 * count / total:.1f}")
    return table


def transitions_table(analysis: Analysis) -> Table:
    """Changes whose shares differ most: those made too often, then those made too seldom."""
    found = analysis.transitions
    distance = UNDEFINED if found.distance is None else f"{found.distance:.3f}"
    table = _table(
        f"Transitions too frequent and too rare, {analysis.protocol}",
        f"Percent of the {found.num_truth} changes of the truth and the {found.num_predicted} of "
        f"scored replies; distance of the two distributions {distance} (0 equal, 1 disjoint).",
        ("from", "to"),
        ("truth", "replies", "difference in points"),
    )
    if not (found.num_truth and found.num_predicted):
        return table
    truth, predicted = np.array(found.truth), np.array(found.predicted)
    points = 100 * (predicted / found.num_predicted - truth / found.num_truth)
    order = sorted(np.ndindex(points.shape), key=lambda place: (-points[place], place))
    frequent = [place for place in order if points[place] > 0][:NUM_TRANSITIONS]
    rare = [place for place in reversed(order) if points[place] < 0][:NUM_TRANSITIONS]
    for section in (frequent, rare):
        for place in section:
            table.add_row(
                Text(found.labels[place[0]]),
                Text(found.labels[place[1]]),
                f"{100 * truth[place] / found.num_truth:.1f} ({truth[place]})",
                f"{100 * predicted[place] / found.num_predicted:.1f} ({predicted[place]})",
                f"{points[place]:+z.1f}",
            )
        table.add_section()
    return table


def boundaries_table(analysis: Analysis) -> Table:
    """Counts, typical errors, and shares met within some distances."""
    found = analysis.boundaries
    table = _table(
        f"Boundaries between segments, {analysis.protocol}",
        "Paired one to one and in order; errors are predicted minus true. Shares in percent of the "
        "truth's boundaries, a missed one being met nowhere.",
        ("what",),
        ("value",),
    )
    table.add_row(
        "paired / missed / extra",
        f"{found.num_paired} / {found.num_missed} / {found.num_extra}",
    )
    table.add_row("mean absolute error, paired", _seconds(found.mean_absolute_seconds, ""))
    table.add_row("median error, paired (below 0: too early)", _seconds(found.median_seconds, "+"))
    for distance, share in found.within.items():
        table.add_row(f"met within {distance} s", _percent(share))
    return table


def _seconds(value: float | None, sign: str) -> str:
    return UNDEFINED if value is None else f"{value:{sign}.2f} s"


def breakdowns_table(analysis: Analysis) -> Table:
    """Three metrics of every group."""
    table = _table(
        f"Groups of clips, {analysis.protocol}",
        "Percent, 95 % intervals. The file holds every metric.",
        ("by", "group"),
        (
            "clips scored / unparsed / missing",
            *(metric_title(analysis.protocol, metric) for metric in PAPER_METRICS),
        ),
    )
    for cells in _breakdown_rows(analysis):
        if cells is None:
            table.add_section()
        else:
            table.add_row(*cells)
    return table


def _breakdown_rows(analysis: Analysis) -> Iterator[tuple[str | Text, ...] | None]:
    for breakdown in analysis.breakdowns:
        for position, group in enumerate(breakdown.groups):
            yield (
                "" if position else breakdown.by,
                Text(group.name),
                f"{group.num_scored} / {group.num_unparsed} / {group.num_missing}",
                *(_percent(group.metrics[metric]) for metric in PAPER_METRICS),
            )
        yield None
