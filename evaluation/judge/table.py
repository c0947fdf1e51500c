"""The scores of one judge as a table for the terminal, its counts below.

VG                 CL     ...   Avg                 overall
3.41 [3.20, 3.62]  ...          3.38 [3.19, 3.57]   3.30 [3.08, 3.52]
"""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from affect.judge_dimensions import JUDGE_DIMENSIONS, short_name
from evaluation.judge.judgements import AVERAGE, JudgeScoreRow
from evaluation.tables import points


def column_title(dimension: str) -> str:
    """As the paper's tables are headed; the judge's own total is `overall`."""
    if dimension in JUDGE_DIMENSIONS:
        return short_name(dimension)
    return "Avg" if dimension == AVERAGE else dimension


def counts_text(row: JudgeScoreRow) -> str:
    """What the means stand on, in words."""
    return (
        f"Segments: {row.num_judged} judged, {row.num_gated} gated (worth 0 without a call), "
        f"{row.num_unscored} unscored (in no mean). Clips: {row.num_unparsed} unparsed, "
        f"{row.num_missing} missing"
    )


def judge_table(label: str, rows: Sequence[JudgeScoreRow]) -> Table:
    """rows: of one judge, one or more."""
    table = Table(
        title=Text(label),
        caption=Text(
            f"0 to 5, 95 % intervals from a bootstrap over clips. {counts_text(rows[0])}."
        ),
        caption_justify="left",
        title_justify="left",
    )
    for row in rows:
        table.add_column(column_title(row.dimension), justify="right")
    table.add_row(*(points(row.mean, row.low, row.high) for row in rows))
    return table
