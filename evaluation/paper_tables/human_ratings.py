"""The columns of table 3: what experts rated, from the results of a human evaluation.

Example: `human_ratings(["SFT"], read_human_results(path)).cells["SFT"][0].mean     # 0 to 5`
"""

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.human.results import HumanResults, system_rows
from evaluation.paper_tables.document import Cell, Count
from evaluation.paper_tables.judged import DIMENSIONS


@dataclass(frozen=True, slots=True)
class HumanRatings:
    """cells and counts by the system's label."""

    cells: dict[str, tuple[Cell, ...]]
    counts: dict[str, Count | None]


def human_ratings(labels: Sequence[str], results: HumanResults) -> HumanRatings:
    """Of systems under the labels that the study has them under.

    Raises ValueError where the study has none of them.
    """
    rated = [one.system for one in results.systems]
    if not set(rated) & set(labels):
        raise ValueError(
            f"the human evaluation {results.name!r} rated {', '.join(rated)}, none of which is "
            f"a label here ({', '.join(labels)})"
        )
    cells: dict[str, tuple[Cell, ...]] = {}
    counts: dict[str, Count | None] = {}
    for label in labels:
        rows = {row.dimension: row for row in system_rows(results, label)}
        cells[label] = tuple(
            Cell(why="not rated by experts")
            if (row := rows.get(name)) is None or row.mean is None
            else Cell(mean=row.mean, low=row.low, high=row.high)
            for name in DIMENSIONS
        )
        counts[label] = _count(results, label)
    return HumanRatings(cells, counts)


def _count(results: HumanResults, label: str) -> Count | None:
    system = next((one for one in results.systems if one.system == label), None)
    if system is None:
        return None
    rows = [row for row in system_rows(results, label) if row.dimension in DIMENSIONS[:-1]]
    return Count(
        of="ratings",
        parts={
            "given": sum(row.num_ratings for row in rows),
            "left open": sum(row.num_missing for row in rows),
            "counted as 0": sum(row.num_zeros for row in rows),
            "videos": system.num_videos,
            "unparsed videos": system.num_unparsed,
            "missing videos": system.num_missing,
        },
    )
