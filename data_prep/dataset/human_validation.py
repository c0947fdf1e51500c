"""Human validation (paper, appendix B): sheets for experts, and their ratings read back.

    dar build sheets --out sheets --video-root videos --test test.sft.jsonl --train train.sft.jsonl
    dar build ratings sheets

The first makes for each expert a page (`expert_1.html`) and a table (`expert_1.csv`) with the same
items in an order of his own, and `key.json`, which stays with whoever evaluates. Experts see clip,
segments, emotion and reason, and nothing of what the judges said. The second takes the filled
tables, by default those beside the key, and writes `agreement.json`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from affect.atomic import write_text_atomic
from affect.coefficients import Coefficient
from affect.records import read_rows
from affect.sheets.ratings import read_ratings
from data_prep.dataset.expert_agreement import ExpertAgreement, expert_agreement
from data_prep.dataset.sheet_items import FORM, ValidationKey
from data_prep.dataset.write_sheets import NUM_EXPERTS, TRAIN_SHARE, write_validation

PROGS = {"write": "dar build sheets", "read": "dar build ratings"}
"""The actions as `dar build` calls them."""

AGREEMENT_FILE = "agreement.json"
USER_MISTAKE, INTERRUPTED = 2, 130
WIDTH_WITHOUT_TERMINAL = 160


def agreement_table(report: ExpertAgreement) -> Table:
    """One line per question; what is undefined shows its reason."""
    table = Table(title=f"Human validation by {len(report.experts)} experts")
    for column in ("question", "ratings", "missing", "mean", "accepted", "kappas of pairs"):
        table.add_column(column)
    table.add_column("Fleiss")
    table.add_column("alpha (ordinal)")
    for name, question in report.questions.items():
        share = question.share_accepted
        table.add_row(
            name,
            str(question.num_ratings),
            str(question.num_missing),
            "-" if question.mean is None else f"{question.mean:.2f}",
            "-" if share is None else f"{share:.1%}",
            ", ".join(map(_shown, question.pair_kappas.values())) or "-",
            _shown(question.fleiss),
            _shown(question.alpha),
        )
    return table


def _shown(coefficient: Coefficient) -> str:
    return coefficient.reason or f"{coefficient.value:.3f}"


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Sheets for experts, and their ratings read back (paper, appendix B).",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(dest="action", required=True)
    write = actions.add_parser(
        "write", prog=PROGS["write"], help="write pages and tables to be rated"
    )
    write.add_argument("--out", type=Path, required=True, help="folder for the sheets")
    write.add_argument("--test", type=Path, required=True, help="rows; all of them are rated")
    write.add_argument("--train", type=Path, help="rows; a random share of them is rated")
    write.add_argument("--video-root", type=Path, required=True, help="where video paths start")
    write.add_argument("--experts", type=int, default=NUM_EXPERTS, help="default: %(default)s")
    write.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    write.add_argument(
        "--train-share", type=float, default=TRAIN_SHARE, help="of videos; default: %(default)s"
    )
    read = actions.add_parser(
        "read", prog=PROGS["read"], help="read the tables back and compute the agreement"
    )
    read.add_argument("sheets", type=Path, metavar="SHEETS", help="the folder that holds key.json")
    read.add_argument("files", type=Path, nargs="*", metavar="CSV", help="default: those in SHEETS")
    read.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser.parse_args(argv)


def _write(options: argparse.Namespace) -> None:
    rows = {"test": read_rows(options.test)}
    if options.train is not None:
        rows["train"] = read_rows(options.train)
    key = write_validation(
        options.out, rows, options.video_root, options.experts, options.seed, options.train_share
    )
    num_videos = len({item.row_id for item in key.items})
    sys.stdout.write(
        f"{len(key.items)} segments of {num_videos} videos for {len(key.experts)} experts: "
        f"{options.out}\n"
    )


def _read(options: argparse.Namespace) -> None:
    key = ValidationKey.read(options.sheets)
    report = expert_agreement(read_ratings(FORM, key, options.sheets, options.files))
    text = report.model_dump_json(indent=2) + "\n"
    write_text_atomic(options.sheets / AGREEMENT_FILE, text)
    if options.json:
        sys.stdout.write(text)
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_WITHOUT_TERMINAL)
    console.print(agreement_table(report))


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    try:
        _write(options) if options.action == "write" else _read(options)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{PROGS[options.action]}: {error}\n")
        return USER_MISTAKE
    except KeyboardInterrupt:
        sys.stderr.write(f"{PROGS[options.action]}: interrupted\n")
        return INTERRUPTED
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
