"""The columns of table 6: temporal sentiment localisation on TSL-300.

The paper's columns are mAP at tIoU .1, .2, .3 and their AVG, recall and F2. What the published
script calls recall and F2 are means over a ranked list, so both kinds stand here under their names.

Example: `sentiment(systems).cells["SFT"][3].mean      # mAP averaged over the five thresholds`
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.paper_tables.document import Cell, Column, Count
from evaluation.paper_tables.spread import mean_of_runs
from evaluation.paper_tables.systems import System
from evaluation.suites.tsl300.results import TslResults
from evaluation.suites.tsl300.table import reading_text

# Key in the table, metric and tIoU (None: AVG) of the results, head of the column.
_COLUMNS: tuple[tuple[str, str, float | None, str], ...] = (
    ("map_0.1", "map", 0.1, "mAP@.1"),
    ("map_0.2", "map", 0.2, "mAP@.2"),
    ("map_0.3", "map", 0.3, "mAP@.3"),
    ("map_avg", "map", None, "mAP@AVG"),
    ("mean_running_recall", "mean_running_recall", None, "Recall (published kind)"),
    ("published_f2", "published_f2", None, "F2 (published kind)"),
    ("recall", "recall", None, "Recall (ordinary)"),
    ("f2", "f2", None, "F2 (ordinary)"),
)
COLUMNS = tuple(Column(key=key, title=title, unit="percent") for key, _, _, title in _COLUMNS)


@dataclass(frozen=True, slots=True)
class Sentiment:
    """cells and counts by label. how: how replies were read, in words."""

    cells: dict[str, tuple[Cell, ...]]
    counts: dict[str, Count | None]
    how: str


def sentiment(systems: Sequence[System]) -> Sentiment:
    """Raises ValueError where no system has scores, and where two were scored in different ways."""
    scored = [(one.label, result) for one in systems for result in one.tsl]
    if not scored:
        raise ValueError(
            "table 6 needs scores on TSL-300: name them per system (tsl: NAME), after python -m "
            "evaluation.suites.tsl300 score"
        )
    for label, result in scored:
        _check_alike(scored[0], (label, result))
    cells: dict[str, tuple[Cell, ...]] = {}
    counts: dict[str, Count | None] = {}
    for one in systems:
        if not one.tsl:
            cells[one.label] = (Cell(why="not scored on TSL-300"),) * len(COLUMNS)
            counts[one.label] = None
            continue
        cells[one.label] = tuple(
            mean_of_runs(
                [
                    (row.mean, row.low, row.high)
                    for row in (result.row(metric, tiou) for result in one.tsl)
                ],
                "one of the two polarities has no annotation",
            )
            for _, metric, tiou, _ in _COLUMNS
        )
        counts[one.label] = Count(
            of="videos",
            parts={
                "scored": sum(result.counts.num_scored for result in one.tsl),
                "unparsed": sum(result.counts.num_unparsed for result in one.tsl),
                "missing": sum(result.counts.num_missing for result in one.tsl),
            },
        )
    return Sentiment(cells, counts, _how([result for _, result in scored]))


def _check_alike(one: tuple[str, TslResults], other: tuple[str, TslResults]) -> None:
    (first, a), (second, b) = one, other
    if (a.labels_sha256, a.subset) != (b.labels_sha256, b.subset):
        raise ValueError(
            f"{first} and {second} were scored with different annotations of TSL-300; score both "
            "with the same"
        )
    # A file in TSL-300's own form has no reading, and may stand beside replies.
    if a.reading is not None and b.reading is not None and a.reading != b.reading:
        raise ValueError(
            f"{first} and {second} were scored under different readings of TSL-300 (parse, open "
            "emotions, joined neighbours); score both alike"
        )


def _how(results: Sequence[TslResults]) -> str:
    read = [result for result in results if result.reading is not None]
    if not read:
        return reading_text(results[0])
    own = (
        " Systems in TSL-300's own form have their own scores." if len(read) < len(results) else ""
    )
    return f"{reading_text(read[0])}{own} Ties: {results[0].tie_rule}."
