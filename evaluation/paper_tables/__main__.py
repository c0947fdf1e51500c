"""Tables laid out as in the paper, over a list of runs, as Markdown, LaTeX, JSON and on screen.

    python -m evaluation.paper_tables --config configs/tables/demo.yaml --out tables/demo
    python -m evaluation.paper_tables SFT=runs/demo/sft GRPO=runs/demo/grpo --base SFT

Writes tableN.md, tableN.tex and tableN.json into --out, whole or not at all.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from affect.atomic import write_text_atomic
from affect.config import load_config
from evaluation.command_line import (
    make_console,
    make_parser,
    named_path,
    run_command,
    write_json,
)
from evaluation.paper_tables.config import TABLE_NUMBERS, TablesConfig
from evaluation.paper_tables.document import PaperTable
from evaluation.run_results import default_label

PROG = "paper_tables"

_SETTINGS = (
    "tables", "protocol", "name", "judge", "human", "base", "rows", "replicates", "seed", "out",
)  # fmt: skip


def named_run(text: str) -> dict[str, Any]:
    """`LABEL=RUN`, or a RUN that is called after its folder."""
    label, path = named_path(text)
    return {"label": default_label(path) if label is None else label, "run": [str(path)]}


def read_config(options: argparse.Namespace) -> TablesConfig:
    """The file, with what the command line says laid over it; or only the latter.

    A label that is given several times is one system with several runs.
    """
    given = {name: getattr(options, name) for name in _SETTINGS}
    overrides = {name: value for name, value in given.items() if value is not None}
    for name in ("human", "rows", "out"):
        if name in overrides:
            overrides[name] = str(overrides[name])
    if options.runs:
        if options.config is not None:
            raise ValueError("give runs or --config FILE, not both")
        systems: dict[str, dict[str, Any]] = {}
        for run in options.runs:
            system = systems.setdefault(run["label"], {"label": run["label"], "run": []})
            system["run"] += run["run"]
            if options.tsl is not None:
                system["tsl"] = options.tsl
        overrides["groups"] = [{"systems": list(systems.values())}]
    elif options.config is None:
        raise ValueError("give runs, or --config FILE")
    elif options.tsl is not None:
        raise ValueError("--tsl is for runs on the command line; a configuration names its own")
    return load_config(TablesConfig, options.config, overrides)


def write_table(folder: Path, table: PaperTable) -> list[Path]:
    """tableN.md, .tex and .json in the folder."""
    from evaluation.paper_tables.latex import to_latex
    from evaluation.paper_tables.markdown import to_markdown

    document = json.dumps(table.model_dump(mode="json"), indent=2, allow_nan=False)
    texts = {".md": to_markdown(table), ".tex": to_latex(table), ".json": document + "\n"}
    paths = []
    for suffix, text in texts.items():
        path = folder / f"{table.name}{suffix}"
        write_text_atomic(path, text)
        paths.append(path)
    return paths


def _make(options: argparse.Namespace) -> int:
    config = read_config(options)
    # Only now: a mistake above should show at once.
    from evaluation.paper_tables.build import make_tables
    from evaluation.paper_tables.terminal import to_rich

    tables = make_tables(config)
    if options.json:
        write_json([table.model_dump(mode="json") for table in tables])
    else:
        console = make_console()
        for table in tables:
            console.print(to_rich(table))
    if config.out is not None:
        for table in tables:
            for path in write_table(config.out, table):
                sys.stderr.write(f"wrote {path}\n")
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser(PROG, "Tables laid out as in the paper, over a list of runs.")
    parser.add_argument(
        "runs",
        nargs="*",
        type=named_run,
        metavar="[LABEL=]RUN",
        help="run folders; several under one label differ in their seed and are averaged",
    )
    parser.add_argument("--config", type=Path, help="YAML that names runs, labels and groups")
    parser.add_argument(
        "--tables",
        type=int,
        nargs="+",
        choices=TABLE_NUMBERS,
        help="which of them (default: those that there is something to show in)",
    )
    parser.add_argument(
        "--protocol",
        choices=["strict", "paper", "released"],
        help="of SC-Acc, mIoU and Emo-Acc (default: the configuration's, else strict)",
    )
    parser.add_argument("--name", help="of the predictions (default: the configuration's, or test)")
    parser.add_argument("--judge", help="label of the judge, such as judge_paper.gpt-4o")
    parser.add_argument("--human", type=Path, help="results of a human evaluation, for table 3")
    parser.add_argument("--tsl", help="name of the runs' scores on TSL-300, for table 6")
    parser.add_argument("--base", help="label that the others are compared with")
    parser.add_argument("--rows", type=Path, help="the rows answered, if not where they were")
    parser.add_argument(
        "--replicates", type=int, help="bootstrap draws (default: the configuration's, or 2000)"
    )
    parser.add_argument("--seed", type=int, help="of the bootstrap (default: as above, or 0)")
    parser.add_argument("--out", type=Path, help="folder that gets tableN.md, .tex and .json")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    return run_command(PROG, lambda: _make(options))


if __name__ == "__main__":
    raise SystemExit(main())
