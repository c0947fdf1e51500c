"""The judge's six columns: the five dimensions and their mean, of one named judge.

    columns = judged(systems, "judge_paper.gpt-4o")
    columns.cells["SFT"][-1].mean        # Avg, 0 to 5

Only judgements under that very label enter, and only if all were asked alike: same judge, model,
prompt, samples and frames. Another judge's stay out, and a note says that they are there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from affect.judge_dimensions import JUDGE_DIMENSIONS
from evaluation.judge.judgements import AVERAGE, JudgeHeader, JudgeScoreRow
from evaluation.judge.table import column_title
from evaluation.paper_tables.document import Cell, Column, Count
from evaluation.paper_tables.spread import mean_of_runs
from evaluation.paper_tables.systems import System
from evaluation.run_results import JudgeResults

DIMENSIONS = (*JUDGE_DIMENSIONS, AVERAGE)
SCORE_COLUMNS = tuple(
    Column(key=name, title=column_title(name), unit="points") for name in DIMENSIONS
)

_OF_THE_RUN = frozenset({"predictions_sha256", "rows_sha256"})
"""Of a judgement's header: what may differ between two systems."""


@dataclass(frozen=True, slots=True)
class Judged:
    """judge: the label, None where nobody judged. cells and counts by the system's label."""

    judge: str | None
    cells: dict[str, tuple[Cell, ...]]
    counts: dict[str, Count | None]


def judged(systems: Sequence[System], judge: str | None) -> Judged:
    """The scores that one judge gave.

    judge: None takes the only one that any system has. Raises ValueError where that is not clear,
    where nobody was judged by the named one, and where it was asked in different ways.
    """
    found = sorted({label for one in systems for run in one.runs for label in run.judges})
    if judge is None:
        if len(found) > 1:
            raise ValueError(
                f"there are judgements by {', '.join(found)}; name one with --judge, because "
                "judges are not mixed in one column"
            )
        judge = found[0] if found else None
    elif judge not in found:
        known = f"there are {', '.join(found)}" if found else "no run has been judged yet"
        raise ValueError(f"no system has judgements by {judge!r}; {known}")
    cells: dict[str, tuple[Cell, ...]] = {}
    counts: dict[str, Count | None] = {}
    first: tuple[str, JudgeHeader] | None = None
    for one in systems:
        of_runs = [run.judges.get(judge or "") for run in one.runs]
        results = [result for result in of_runs if result is not None]
        if judge is None or len(results) < len(of_runs):
            why = _why_none(one, judge, bool(results))
            cells[one.label] = (Cell(why=why),) * len(DIMENSIONS)
            counts[one.label] = None
            continue
        for result in results:
            header = result.judgements.header
            first = first or (one.label, header)
            _check_alike(judge, first, (one.label, header))
        cells[one.label] = tuple(_cell(results, name) for name in DIMENSIONS)
        counts[one.label] = _count(results)
    return Judged(judge, cells, counts)


def _why_none(system: System, judge: str | None, some: bool) -> str:
    if judge is None:
        return "nobody judged its reasons"
    if some:
        return f"not all of its runs were judged by {judge}"
    others = sorted({label for run in system.runs for label in run.judges})
    there = f"; {', '.join(others)} did, and judges are not mixed" if others else ""
    return f"not judged by {judge}{there}"


def _check_alike(judge: str, one: tuple[str, JudgeHeader], other: tuple[str, JudgeHeader]) -> None:
    for field in JudgeHeader.model_fields:
        if field in _OF_THE_RUN:
            continue
        if getattr(one[1], field) != getattr(other[1], field):
            raise ValueError(
                f"{judge} was asked with another {field} about {other[0]} than about {one[0]}; "
                "judge both alike"
            )


def _row(result: JudgeResults, dimension: str) -> JudgeScoreRow:
    for row in result.scores:
        if row.dimension == dimension:
            return row
    raise ValueError(f"{result.judgements.path}: its scores lack {dimension!r}; judge again")


def _cell(results: Sequence[JudgeResults], dimension: str) -> Cell:
    rows = [_row(result, dimension) for result in results]
    return mean_of_runs([(row.mean, row.low, row.high) for row in rows], "the judge scored nothing")


def _count(results: Sequence[JudgeResults]) -> Count:
    rows = [_row(result, AVERAGE) for result in results]
    return Count(
        of="judged segments",
        parts={
            "judged": sum(row.num_judged for row in rows),
            "gated": sum(row.num_gated for row in rows),
            "unscored": sum(row.num_unscored for row in rows),
            "unparsed clips": sum(row.num_unparsed for row in rows),
            "missing clips": sum(row.num_missing for row in rows),
        },
    )
