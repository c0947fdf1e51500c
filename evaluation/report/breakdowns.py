"""Scores of some of the clips: by duration, number of segments, genre and scene.

breakdowns(labels, analyses)      # Content: small multiples with intervals, and the numbers
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evaluation.analysis.document import Analysis, Breakdown, Group
from evaluation.report.contents import (
    Block,
    Cell,
    Column,
    Content,
    Folded,
    Heading,
    Interval,
    NumberTable,
    Paragraph,
    Plot,
    Tips,
)
from evaluation.report.emotions import interval_of_share
from evaluation.report.headline import COUNTS
from evaluation.report.shown import WIDTH_INCHES, Panel, draw_rows, rows_height, short
from evaluation.tables import PAPER_METRICS, metric_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "duration": "By duration of the clip",
    "num_segments": "By number of the truth's segments",
    "genre": "By genre",
    "scene": "By scene",
}
_NUM_DRAWN = 24


def breakdowns(labels: Sequence[str], analyses: Mapping[str, Analysis]) -> Content:
    """labels: of the runs, in their order."""
    ways = dict.fromkeys(one.by for label in labels for one in analyses[label].breakdowns)
    blocks: list[Block] = []
    for by in ways:
        found = {
            label: one for label in labels for one in analyses[label].breakdowns if one.by == by
        }
        names = _names(found)
        blocks.append(Heading(TITLES.get(by, f"By {by}")))
        if not names or all(name.startswith("(") for name in names):
            blocks.append(Paragraph(f"The rows name no {by.replace('_', ' ')} for any clip."))
            continue
        drawn = names[:_NUM_DRAWN]
        if len(drawn) < len(names):
            blocks.append(
                Paragraph(f"{len(names) - len(drawn)} smaller groups stand in the table alone.")
            )
        blocks.append(_plot(by, found, drawn))
        blocks.append(Folded("The numbers", (_table(by, found, names),)))
    first = Paragraph(
        "Strict scores of the clips of each group, with intervals; beside its name the number of "
        "clips. Small groups have wide whiskers, or none that can be trusted."
    )
    return Content("breakdowns", "Breakdowns", (first, *blocks))


def _names(found: Mapping[str, Breakdown]) -> list[str]:
    """In the order of the analysis where that is one of size or time, else the largest first."""
    num_clips = _num_clips(found)
    names = [name for name in num_clips if num_clips[name]]
    if next(iter(found.values())).by in ("duration", "num_segments"):
        return names
    return sorted(names, key=lambda name: (name.startswith("("), -num_clips[name], name))


def _num_clips(found: Mapping[str, Breakdown]) -> dict[str, int]:
    num_clips: dict[str, int] = {}
    for one in found.values():
        for group in one.groups:
            num_clips[group.name] = max(num_clips.get(group.name, 0), group.num_clips)
    return num_clips


def _groups(found: Mapping[str, Breakdown]) -> dict[str, dict[str, Group]]:
    return {label: {group.name: group for group in one.groups} for label, one in found.items()}


def _interval(group: Group | None, metric: str) -> Interval | None:
    share = None if group is None else group.metrics.get(metric)
    return None if share is None else interval_of_share(share)


def _plot(by: str, found: Mapping[str, Breakdown], names: Sequence[str]) -> Plot:
    groups, num_clips = _groups(found), _num_clips(found)
    labels = list(found)
    panels = [
        Panel(
            f"{metric_title('strict', metric)}, %",
            {
                label: [_interval(groups[label].get(name), metric) for name in names]
                for label in labels
            },
            limits=(0, 100),
            notes={label: [_note(groups[label].get(name)) for name in names] for label in labels},
        )
        for metric in PAPER_METRICS
    ]

    def draw(figure: "Figure", tips: Tips) -> None:
        rows = [f"{short(name)} (n = {num_clips[name]:,})" for name in names]
        draw_rows(figure, tips, labels=labels, rows=rows, panels=panels)

    return Plot(
        f"by-{by.replace('_', '-')}",
        f"{TITLES.get(by, by)}: strict scores with intervals, and the number of clips.",
        f"{len(names)} groups as rows, a panel for each of {len(PAPER_METRICS)} metrics, a mark "
        "with whiskers per run; the numbers stand in the table below.",
        WIDTH_INCHES,
        rows_height(len(names), len(labels)),
        draw,
    )


def _note(group: Group | None) -> str:
    if group is None:
        return ""
    return f"scored {group.num_scored}, unparsed {group.num_unparsed}, missing {group.num_missing}"


def _table(by: str, found: Mapping[str, Breakdown], names: Sequence[str]) -> NumberTable:
    groups = _groups(found)
    rows: list[tuple[Cell, ...]] = []
    for name in names:
        for label, of_run in groups.items():
            group = of_run.get(name)
            if group is None:
                continue
            rows.append(
                (
                    name,
                    label,
                    *(_interval(group, metric) for metric in PAPER_METRICS),
                    group.num_scored,
                    group.num_unparsed,
                    group.num_missing,
                )
            )
    return NumberTable(
        f"by-{by.replace('_', '-')}",
        f"{TITLES.get(by, by)}: percent with intervals, and clips.",
        (
            Column(by.replace("_", " ")),
            Column("run"),
            *(Column(metric_title("strict", metric), "percent") for metric in PAPER_METRICS),
            *(Column(name, "count") for name in COUNTS),
        ),
        rows,
    )
