"""Print the table of the 27 emotions and their polarity, on the terminal or as Markdown.

python -m evaluation.suites.tsl300 mapping --open both --markdown
| Joy | positive | gladness |
"""

import argparse
import sys
from collections.abc import Sequence

from rich.table import Table

from affect.taxonomy import DAR_EMOTIONS
from evaluation.command_line import make_console, make_parser, run_command
from evaluation.suites.tsl300.polarity import (
    POLARITY_TABLE,
    OpenPolicy,
    choice_of,
    open_policy,
)

PROG = "suites.tsl300 mapping"


def add_open_option(parser: argparse.ArgumentParser) -> None:
    """--open, as `mapping` and `score` take it."""
    parser.add_argument(
        "--open",
        default="background",
        metavar="POLICY",
        help="what emotions that are neither positive nor negative count as: background, positive, "
        "negative, both, or a YAML file that says it for each",
    )


def mapping_lines(policy: OpenPolicy) -> list[tuple[str, str, str]]:
    """(emotion, what it counts as, why) for the 27; an open one says so."""
    lines = []
    for emotion in DAR_EMOTIONS:
        side, why = POLARITY_TABLE[emotion]
        counts_as = choice_of(emotion, policy)
        lines.append((emotion, f"open: {counts_as}" if side == "open" else counts_as, why))
    return lines


def mapping_markdown(policy: OpenPolicy) -> str:
    """The table as it stands in the documentation."""
    lines = ["| emotion | counts as | because |", "| --- | --- | --- |"]
    lines += [f"| {' | '.join(line)} |" for line in mapping_lines(policy)]
    return "\n".join(lines) + "\n"


def _print(options: argparse.Namespace) -> int:
    policy = open_policy(options.open)
    if options.markdown:
        sys.stdout.write(mapping_markdown(policy))
        return 0
    table = Table(caption=f"Open emotions: {policy.name}.", caption_justify="left")
    for head in ("emotion", "counts as", "because"):
        table.add_column(head)
    for line in mapping_lines(policy):
        table.add_row(*line)
    make_console().print(table)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = make_parser(PROG, "Print which emotions are positive, negative or open.")
    add_open_option(parser)
    parser.add_argument("--markdown", action="store_true", help="as a Markdown table")
    options = parser.parse_args(argv)
    return run_command(PROG, lambda: _print(options))
