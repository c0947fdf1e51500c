"""Printed tables of a human evaluation: systems as in the paper's table 3, experts, judges.

for table in human_tables(results):
    console.print(table)
"""

from collections.abc import Iterator

from rich.markup import escape
from rich.table import Table

from affect.coefficients import Coefficient
from affect.judge_dimensions import JUDGE_DIMENSIONS
from evaluation.human.results import (
    RATED_COLUMNS,
    Correlation,
    HumanResults,
    JudgeAgreementRow,
    system_rows,
)
from evaluation.judge.table import column_title
from evaluation.tables import UNDEFINED, points


def human_tables(results: HumanResults) -> Iterator[Table]:
    """One after the other; every mean stands beside its counts."""
    yield _systems(results)
    yield _experts(results)
    if results.judge_agreement:
        yield _judges(results)


def _systems(results: HumanResults) -> Table:
    failed = {
        "left_out": "clips with nothing to rate are left out",
        "zero": "clips with nothing to rate count 0 for each true segment",
    }[results.failures]
    table = Table(
        title=f"Ratings of {len(results.experts)} experts on {results.num_videos} videos, 0 to 5",
        caption=f"Means of all ratings, 95 % intervals over videos; {failed}",
    )
    table.add_column("system")
    for name in RATED_COLUMNS:
        table.add_column(column_title(name))
    for name in ("segments", "ratings", "open", "counted as 0", "unparsed", "missing"):
        table.add_column(name, justify="right")
    for system in results.systems:
        rows = system_rows(results, system.system)
        of_dimensions = [row for row in rows if row.dimension in JUDGE_DIMENSIONS]
        table.add_row(
            escape(system.system),
            *(escape(points(row.mean, row.low, row.high)) for row in rows),
            str(system.num_segments),
            str(sum(row.num_ratings for row in of_dimensions)),
            str(sum(row.num_missing for row in of_dimensions)),
            str(sum(row.num_zeros for row in of_dimensions)),
            str(system.num_unparsed),
            str(system.num_missing),
        )
    return table


def _experts(results: HumanResults) -> Table:
    table = Table(title="How far the experts agree")
    for name in ("dimension", "alpha (ordinal)", "segments", "mean kappa of pairs", "pairs"):
        table.add_column(name)
    for row in results.expert_agreement:
        undefined = f" ({row.num_undefined_pairs} undefined)" if row.num_undefined_pairs else ""
        table.add_row(
            row.dimension,
            _coefficient(row.alpha),
            str(row.alpha.num),
            UNDEFINED if row.mean_kappa is None else f"{row.mean_kappa:.3f}",
            f"{row.num_pairs}{undefined}",
        )
    return table


def _coefficient(found: Coefficient) -> str:
    return found.reason or f"{found.value:.3f}"


def _judges(results: HumanResults) -> Table:
    table = Table(
        title="Experts beside judges",
        caption="Pairs: segments that an expert rated and the judge scored, within a system as "
        f"distances from its mean; or systems, of which there are {len(results.systems)}: few, "
        "however high the value. Other segments: gated, unscored, not judged / not rated",
    )
    for name in ("judge", "level", "dimension", "Pearson", "Spearman", "pairs", "other segments"):
        table.add_column(name)
    for row in results.judge_agreement:
        table.add_row(
            escape(row.judge),
            row.level.replace("_", " "),
            column_title(row.dimension),
            _correlation(row.pearson),
            _correlation(row.spearman),
            str(row.pearson.num),
            _others(row),
        )
    return table


def _correlation(found: Correlation) -> str:
    if found.value is None:
        return found.reason or UNDEFINED
    within = "" if found.low is None else f" [{found.low:.3f}, {found.high:.3f}]"
    return f"{found.value:.3f}{escape(within)}"


def _others(row: JudgeAgreementRow) -> str:
    return f"{row.num_gated}, {row.num_unscored}, {row.num_not_judged} / {row.num_not_rated}"
