"""How far the two judges of a build agree: a line per dimension, and one for their verdicts.

    dar build agreement builds/vce
    dar build agreement builds/vce --json

Counted is every judgement behind the videos that the latest configuration has decided on, exported
or rejected, rewrites included; also while a build runs. Exit code 2 where there is no build.
"""

import argparse
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.table import Table

from affect.config import load_config
from data_prep.agreement import JudgeAgreement, judge_agreement, judged_pairs
from data_prep.build.config import BuildConfig
from data_prep.build.folder import BuildFolder
from data_prep.build.schema import JournalError, explain, open_database
from data_prep.coefficients import Coefficient
from data_prep.records import Decided

PROG = "dar build agreement"
WIDTH_WITHOUT_TERMINAL = 160


def main(argv: Sequence[str] | None = None) -> int:
    """`dar build agreement` with these arguments."""
    parser = argparse.ArgumentParser(prog=PROG, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="folder of the build")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args(argv)
    folder = BuildFolder(options.out)
    if not folder.config.is_file():
        sys.stderr.write(f"{PROG}: {folder.path}: no build lies there (no config.yaml)\n")
        return 2
    try:
        config = load_config(BuildConfig, folder.config)
        report = judge_agreement(judged_pairs(decided_records(folder)), config.decide.threshold)
    except ValueError as error:
        sys.stderr.write(f"{PROG}: {error}\n")
        return 2
    if options.json:
        sys.stdout.write(report.model_dump_json(indent=2) + "\n")
    else:
        console = Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL)
        console.print(agreement_table(report))
        console.print(verdict_line(report), markup=False)
    return 0


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
