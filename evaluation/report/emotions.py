"""Which emotions are found and named: recall and precision of each, and what is taken for what.

emotions(labels, analyses)      # Content: dots per emotion, a heat map per run, the numbers
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from affect.taxonomy import DAR_EMOTIONS
from evaluation.analysis.document import Analysis, EmotionRow, Share
from evaluation.report.confusion import confusion_plot, confusion_table
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
from evaluation.report.shown import WIDTH_INCHES, Panel, draw_rows, rows_height

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def emotions(labels: Sequence[str], analyses: Mapping[str, Analysis]) -> Content:
    """labels: of the runs, in their order."""
    shown = _by_frequency(labels, analyses)
    absent = [name for name in DAR_EMOTIONS if name not in shown]
    blocks: list[Block] = [
        Paragraph(
            "A segment counts as found where its partner has the same label and tIoU of .5 or "
            "more. Recall: of the truth's segments; precision: of the predicted ones. Sorted by "
            "how often the truth has them."
        )
    ]
    if absent:
        blocks.append(Paragraph(f"Neither in the truth nor in any reply: {', '.join(absent)}."))
    if shown:
        blocks.append(_plot(labels, analyses, shown))
    blocks.append(Folded("The numbers per emotion", (_table(labels, analyses, shown),)))
    blocks.append(
        Paragraph(
            "What is taken for what, in percent of the truth's segments of each emotion: on the "
            "diagonal the right label, at the right those that found no partner, in the last line "
            "predicted segments that found none, as far as a clip has more of them than true ones."
        )
    )
    for at, label in enumerate(labels):
        confusion = analyses[label].confusion
        if any(map(any, confusion.counts)):
            inside: tuple[Block, ...] = (
                confusion_plot(f"confusion-{at + 1}", label, confusion),
                Folded("The counts", (confusion_table(f"confusion-{at + 1}", label, confusion),)),
            )
        else:
            inside = (Paragraph("There is nothing to compare."),)
        blocks.append(Folded(f"Confusions of {label}", inside, is_open=at == len(labels) - 1))
    return Content("emotions", "Emotions", tuple(blocks))


def interval_of_share(share: Share) -> Interval:
    return Interval(share.mean, share.low, share.high)


def _rows(analysis: Analysis) -> dict[str, EmotionRow]:
    return {row.emotion: row for row in analysis.emotions}


def _by_frequency(labels: Sequence[str], analyses: Mapping[str, Analysis]) -> list[str]:
    num_truth: dict[str, int] = {}
    num_predicted: dict[str, int] = {}
    for label in labels:
        for row in analyses[label].emotions:
            num_truth[row.emotion] = max(num_truth.get(row.emotion, 0), row.num_truth)
            num_predicted[row.emotion] = num_predicted.get(row.emotion, 0) + row.num_predicted
    there = [name for name in num_truth if num_truth[name] or num_predicted[name]]
    return sorted(there, key=lambda name: (-num_truth[name], name))


def _plot(labels: Sequence[str], analyses: Mapping[str, Analysis], shown: Sequence[str]) -> Plot:
    rows = {label: _rows(analyses[label]) for label in labels}

    def panel(title: str, name: str, of: str, base: str) -> Panel:
        return Panel(
            title,
            {
                label: [interval_of_share(getattr(rows[label][emotion], name)) for emotion in shown]
                for label in labels
            },
            limits=(0, 100),
            notes={
                label: [
                    f"{rows[label][emotion].num_correct} of "
                    f"{getattr(rows[label][emotion], base)} {of}"
                    for emotion in shown
                ]
                for label in labels
            },
        )

    def draw(figure: "Figure", tips: Tips) -> None:
        names = [
            f"{emotion} ({max(rows[label][emotion].num_truth for label in labels):,})"
            for emotion in shown
        ]
        draw_rows(
            figure,
            tips,
            labels=labels,
            rows=names,
            panels=[
                panel("recall, %", "recall", "true", "num_truth"),
                panel("precision, %", "precision", "predicted", "num_predicted"),
            ],
            bars=len(labels) == 1,
        )

    return Plot(
        "emotions",
        "Recall and precision of each emotion with intervals; in brackets the number of the "
        "truth's segments. No dot: nothing to divide by.",
        f"One row for each of {len(shown)} emotions, one mark with whiskers per run, in a panel of "
        "recall and a panel of precision; the numbers stand in the table below.",
        WIDTH_INCHES,
        rows_height(len(shown), len(labels)),
        draw,
    )


def _table(
    labels: Sequence[str], analyses: Mapping[str, Analysis], shown: Sequence[str]
) -> NumberTable:
    shares = ("recall", "precision", "f1", "mean_tiou")
    found = {label: _rows(analyses[label]) for label in labels}
    return NumberTable(
        "emotions",
        "Per emotion under strict: segments of the truth, predicted, and found with the right "
        "label; percent with intervals.",
        (
            Column("emotion"),
            Column("run"),
            Column("true", "count"),
            Column("predicted", "count"),
            Column("correct", "count"),
            *(Column(name, "percent") for name in ("recall", "precision", "F1", "mean tIoU")),
        ),
        [
            (
                emotion,
                label,
                row.num_truth,
                row.num_predicted,
                row.num_correct,
                *(interval_of_share(getattr(row, name)) for name in shares),
            )
            for emotion in shown
            for label in labels
            for row in (found[label][emotion],)
        ],
    )
