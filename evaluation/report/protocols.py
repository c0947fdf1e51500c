"""All protocols side by side, and what each of them flatters.

protocols(runs)      # Content: one line per metric and run, three columns with counts
"""

from collections.abc import Sequence

from evaluation.metrics import PROTOCOLS
from evaluation.report.contents import (
    Block,
    Cell,
    Column,
    Content,
    Folded,
    NumberTable,
    Paragraph,
)
from evaluation.report.headline import COUNTS, counts_of, interval_of
from evaluation.run_results import RunResults
from evaluation.tables import metric_title

FLATTERS = {
    "paper": "flatters a reply with too many segments: extra ones cost nothing outside SC-Acc, and "
    "one predicted segment may serve several true ones.",
    "released": "flatters a model that often fails, because replies it can't read are left out, "
    "and one that stops early or misspells, because ends and labels are repaired.",
    "strict": "flatters nothing that we know of; a reply with one small fault counts as little "
    "as no reply.",
}


def protocols(runs: Sequence[RunResults]) -> Content:
    """Every metric that any protocol has; one that a protocol lacks has no value there."""
    blocks: list[Block] = [
        Paragraph(
            "The same replies, read and paired in different ways; docs/protocols.md says how. "
            "Numbers of different protocols can't be compared with each other."
        )
    ]
    blocks += [Paragraph(f"{name}: {FLATTERS[name]}") for name in PROTOCOLS if name in FLATTERS]
    blocks.append(Folded("All metrics under all protocols", (_table(runs),)))
    return Content("protocols", "The protocols side by side", tuple(blocks))


def _table(runs: Sequence[RunResults]) -> NumberTable:
    found = {(run.label, row.protocol, row.metric): row for run in runs for row in run.scores}
    metrics = dict.fromkeys(row.metric for run in runs for row in run.scores)
    rows: list[tuple[Cell, ...]] = []
    for metric in metrics:
        for title in dict.fromkeys(metric_title(name, metric) for name in PROTOCOLS):
            named = [name for name in PROTOCOLS if metric_title(name, metric) == title]
            for run in runs:
                scores = {name: found.get((run.label, name, metric)) for name in named}
                if not any(scores.values()):
                    continue
                cells: list[Cell] = [title, run.label]
                for name in PROTOCOLS:
                    score = scores.get(name)
                    cells += [None, None] if score is None else [
                        interval_of(score), counts_of(score)
                    ]  # fmt: skip
                rows.append(tuple(cells))
    columns = [Column("metric"), Column("run")]
    for name in PROTOCOLS:
        columns += [Column(name, "percent"), Column(f"{name} clips", "counts", COUNTS)]
    return NumberTable(
        "protocols",
        "Percent with intervals; beside them clips scored / unparsed / missing.",
        tuple(columns),
        rows,
    )
