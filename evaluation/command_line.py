"""What the commands of this folder share: how a mistake ends, and options that several take.

A user's mistake (a wrong file, field or option, a package that is not there) is one line on stderr
and exit code 2; an interrupted command says so and ends with 130, as a shell would.

Example: `raise SystemExit(run_command("score", lambda: score(options)))`
"""

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from affect.run_folder import plain_name
from evaluation.metrics import PROTOCOLS, Bootstrap

SOME_FAILED = 1
"""Rows failed or segments stayed unscored; what came is kept, and the tables count the rest."""
USER_MISTAKE = 2
MONEY_SPENT = 3
"""A limit on what is paid is reached."""
INTERRUPTED = 130

# A table that is piped into a file or a log has no terminal to measure.
WIDTH_WITHOUT_TERMINAL = 160
WIDEST_TABLE = 1000


_EXTRAS = {
    "httpx": "servers",
    "matplotlib": "report",
    "openai": "servers",
    "google": "servers",
    "PIL": "servers",
    "peft": "publish",
    "torch": "eval",
    "torchvision": "eval",
    "transformers": "eval",
    "wandb": "wandb",
}
"""Package -> the extra of pyproject.toml that installs it."""


def run_command(prog: str, action: Callable[[], int]) -> int:
    """The exit code of `action`; a mistake and a package that is not installed are one line."""
    try:
        return action()
    except OSError as error:
        sys.stderr.write(f"{prog}: {tell_os_error(error)}\n")
        return USER_MISTAKE
    except ValueError as error:
        sys.stderr.write(f"{prog}: {error}\n")
        return USER_MISTAKE
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        sys.stderr.write(
            f"{prog}: needs the package {package}; install it with: "
            f"pip install 'dynamic-affective-reasoning[{_EXTRAS[package]}]'\n"
        )
        return USER_MISTAKE
    except KeyboardInterrupt:
        sys.stderr.write(f"{prog}: interrupted\n")
        return INTERRUPTED


def tell_os_error(error: OSError) -> str:
    """`FILE: what is wrong`, where the error names a file and a kind that users can put right."""
    # After a rename that failed it is the second name that was wanted.
    name = error.filename if error.filename2 is None else error.filename2
    if name is None:
        return error.strerror or str(error)
    kinds = {
        FileNotFoundError: "there is no such file or folder",
        IsADirectoryError: "is a folder; a file is needed",
        NotADirectoryError: "a file lies where a folder is needed",
        FileExistsError: "a file lies where a folder is needed",
        PermissionError: "may not be read, or written, by you",
    }
    # A descriptor's name is a number.
    told = os.fsdecode(name) if isinstance(name, bytes) else name
    return f"{told}: {kinds.get(type(error), error.strerror)}"


def require_other_file(out: Path, *inputs: Path) -> None:
    """Raises ValueError where `out`, about to be replaced, is one of the files that are read."""
    for path in inputs:
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"--out {out}: is a file that is read here; name another")


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


def file_name(text: str) -> str:
    """`type=` of options that name files inside a run folder, such as --name."""
    try:
        return plain_name(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def named_path(text: str) -> tuple[str | None, Path]:
    """`NAME=PATH`, or a PATH alone, which may hold a `=` where it is there."""
    name, equals, rest = text.partition("=")
    if equals and name and rest and not Path(text).exists():
        return name, Path(rest)
    return None, Path(text)


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


class _WholeWords(Console):
    """Never cuts a word or number of a table short: what does not fit goes beyond the edge."""

    def print(self, *objects: Any, **settings: Any) -> None:
        width = self.width
        widest = self.options.update(width=WIDEST_TABLE)
        for table in (one for one in objects if isinstance(one, Table)):
            for column in table.columns:
                cells = (column.header, *column.cells)
                column.min_width = max(Measurement.get(self, widest, it).minimum for it in cells)
            self.width = max(self.width, Measurement.get(self, widest, table).minimum)
            settings = {"crop": False, **settings}
        try:
            super().print(*objects, **settings)
        finally:
            self.width = width


def make_console() -> Console:
    """A console that keeps tables whole, on a narrow terminal and where stdout is none."""
    console = _WholeWords()
    return console if console.is_terminal else _WholeWords(width=WIDTH_WITHOUT_TERMINAL)
