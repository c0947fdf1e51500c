"""A command that looks at a build without touching it: `dar build VERB OUT [--json]`.

    return look_on("dar build status", __doc__, argv, read=read, show=show)

Exit code 2 where there is no build, or one that can't be read.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from rich.console import Console

from affect.config import load_config
from data_prep.build.config import BuildConfig
from data_prep.build.folder import BuildFolder

WIDTH_WITHOUT_TERMINAL = 160

T = TypeVar("T")


def look_on(
    prog: str,
    doc: str | None,
    argv: Sequence[str] | None,
    *,
    read: Callable[[BuildFolder, BuildConfig], T],
    as_json: Callable[[T], str],
    show: Callable[[Console, T], None],
) -> int:
    """read: may raise ValueError. as_json: without a newline at its end."""
    parser = argparse.ArgumentParser(prog=prog, description=(doc or "").partition("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="folder of the build")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args(argv)
    folder = BuildFolder(options.out)
    if not folder.config.is_file():
        sys.stderr.write(f"{prog}: {folder.path}: no build lies there (no config.yaml)\n")
        return 2
    try:
        found = read(folder, load_config(BuildConfig, folder.config))
    except ValueError as error:
        sys.stderr.write(f"{prog}: {error}\n")
        return 2
    if options.json:
        sys.stdout.write(as_json(found) + "\n")
    else:
        show(Console(width=None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL), found)
    return 0
