"""How far the two judges of a build agree: a line per dimension, and one for their verdicts.

    dar build agreement builds/vce
    dar build agreement builds/vce --json

Counted is every judgement behind the videos that the latest configuration has decided on, exported
or rejected, rewrites included; also while a build runs. Exit code 2 where there is no build.
"""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from affect.coefficients import Coefficient
from data_prep.agreement import JudgeAgreement, judge_agreement, judged_pairs
from data_prep.build.config import BuildConfig
from data_prep.build.finished import decided_records
from data_prep.build.folder import BuildFolder
from data_prep.build.looked_on import look_on


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
