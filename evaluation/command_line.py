"""What the commands of this folder share: how a mistake ends, and options that several take.

A user's mistake (a wrong file, field or option) is one line on stderr and exit code 2; an
interrupted command says so and ends with 130, as a shell would.

Example: `raise SystemExit(run_command("score", lambda: score(options)))`
"""

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from rich.console import Console

from evaluation.metrics import PROTOCOLS, Bootstrap

INTERRUPTED = 130
USER_MISTAKE = 2

# A table that is piped into a file or a log has no terminal to measure.
WIDTH_WITHOUT_TERMINAL = 160


def run_command(prog: str, action: Callable[[], int]) -> int:
    """The exit code of `action`, with ValueError and OSError told in one line."""
    try:
        return action()
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{prog}: {error}\n")
        return USER_MISTAKE
    except KeyboardInterrupt:
        sys.stderr.write(f"{prog}: interrupted\n")
        return INTERRUPTED


class _Help(argparse.ArgumentDefaultsHelpFormatter):
    """Shows defaults that are values; an option left away says in words what happens then."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        # `is`, because 0 == False and a default of 0 is to be shown.
        if action.default is None or action.default is False or action.default == []:
            return action.help
        return super()._get_help_string(action)


def make_parser(prog: str, description: str) -> argparse.ArgumentParser:
    """A parser whose --help shows every default and whose options are written out in full."""
    return argparse.ArgumentParser(
        prog=f"python -m evaluation.{prog}",
        description=description,
        formatter_class=_Help,
        allow_abbrev=False,
    )


def add_scoring_options(parser: argparse.ArgumentParser) -> None:
    """--protocol, --replicates, --seed and --json."""
    parser.add_argument(
        "--protocol",
        action="append",
        choices=list(PROTOCOLS),
        help="a protocol to score under; may be given again (default: all)",
    )
    parser.add_argument(
        "--replicates",
        type=int,
        default=Bootstrap().num_replicates,
        help="bootstrap replicates behind the 95%% intervals",
    )
    parser.add_argument("--seed", type=int, default=Bootstrap().seed, help="of the bootstrap")
    parser.add_argument(
        "--json", action="store_true", help="print JSON (fractions) instead of the table"
    )


def add_metric_options(parser: argparse.ArgumentParser) -> None:
    """--metric and --all-metrics: which metrics the table shows; `choose_metrics` reads them."""
    parser.add_argument(
        "--metric",
        action="append",
        metavar="NAME",
        help="a metric the table shows; may be given again (default: the headline ones)",
    )
    parser.add_argument(
        "--all-metrics",
        action="store_true",
        help="show every metric; JSON and files always hold them all",
    )


def write_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def make_console() -> Console:
    """A console that keeps tables whole when stdout is not a terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH_WITHOUT_TERMINAL)
