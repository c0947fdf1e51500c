"""How far the two judges of a build agree: a line per dimension, and one for their verdicts.

    dar build agreement builds/vce
    dar build agreement builds/vce --json

Counted is every judgement behind the videos that the latest configuration has decided on, exported
or rejected, rewrites included; also while a build runs. Exit code 2 where there is no build.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

from rich.console import Console
from rich.table import Table

from data_prep.agreement import JudgeAgreement, judge_agreement, judged_pairs
from data_prep.build.config import BuildConfig
from data_prep.build.folder import BuildFolder
from data_prep.build.looked_on import look_on
from data_prep.build.schema import JournalError, explain, open_database
from data_prep.coefficients import Coefficient
from data_prep.records import Decided


def main(argv: Sequence[str] | None = None) -> int:
    """`dar build agreement` with these arguments."""
    return look_on("dar build agreement", __doc__, argv, read=_read, as_json=_as_json, show=_show)


def _read(folder: BuildFolder, config: BuildConfig) -> JudgeAgreement:
    return judge_agreement(judged_pairs(decided_records(folder)), config.decide.threshold)


def _as_json(report: JudgeAgreement) -> str:
    return report.model_dump_json(indent=2)


def _show(console: Console, report: JudgeAgreement) -> None:
    console.print(agreement_table(report))
    console.print(verdict_line(report), markup=False)


def decided_records(folder: BuildFolder) -> Iterator[Decided]:
    """What `decide` left for each video that came out of it, by id. Raises JournalError."""
    with closing(open_database(folder.journal, read_only=True)) as connection:
        after = ""
        try:
            # A page per query, so that no long read keeps the writer's log from shrinking.
            while page := connection.execute(_DECIDED, {"after": after}).fetchall():
                yield from (Decided.from_json(record) for _, record in page)
                after = page[-1][0]
        except sqlite3.Error as error:
            raise JournalError(explain(folder.journal, error)) from error


_DECIDED = """
WITH latest AS (SELECT run, base FROM runs ORDER BY run DESC LIMIT 1)
SELECT v.id, r.record
FROM latest
JOIN videos v ON v.listed = latest.run
JOIN outcomes o ON o.video = v.id AND o.base = latest.base AND o.state IN ('done', 'rejected')
JOIN records r ON r.video = v.id AND r.stage = 'decide'
    AND r.input_hash = json_extract(o.input_hashes, '$.decide')
WHERE v.id > :after ORDER BY v.id LIMIT 200
"""


def agreement_table(report: JudgeAgreement) -> Table:
    """A row per dimension; what is undefined shows its reason."""
    judges = " and ".join(report.judges) or "nobody"
    table = Table(title=f"{report.num_judged} segments judged by {judges}")
    for column in ("dimension", "Pearson", "Spearman", "weighted kappa", "same score"):
        table.add_column(column, justify="left" if column == "dimension" else "right")
    for name, one in report.dimensions.items():
        coefficients = map(_shown, (one.pearson, one.spearman, one.weighted_kappa))
        table.add_row(name, *coefficients, _share(one.share_equal))
    return table


def verdict_line(report: JudgeAgreement) -> str:
    """Who let how many pass, and how far that agrees."""
    return (
        f"means of at least {report.threshold:g}: the first judge {report.num_first_passes}, the "
        f"second {report.num_second_passes}, both {report.num_both_pass} "
        f"({_share(report.share_both_pass)}); same verdict on {_share(report.share_same_verdict)}, "
        f"kappa {_shown(report.pass_kappa)}"
    )


def _shown(coefficient: Coefficient) -> str:
    return coefficient.reason or f"{coefficient.value:.3f}"


def _share(share: float | None) -> str:
    return "none" if share is None else f"{share:.1%}"
