"""Compare files of predictions over the same clips: one table, and paired differences.

    python -m evaluation.compare --rows data/rendered/test.sft.jsonl \\
        --base SFT=runs/demo/sft/predictions/test.jsonl \\
        --other GRPO=runs/demo/grpo/predictions/test.jsonl \\
        --also base=runs/demo/base_model/predictions/test.jsonl

Columns are the files named by --also, --base and --other; then, for each --other, its difference
to --base with a 95 % interval from a paired bootstrap over clips, and in how many of the draws that
difference is above 0. NAME= may be left away.
"""

import argparse
import json
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from affect.atomic import write_text_atomic
from evaluation.clips import load_clips, read_truths, tell_other_rows
from evaluation.command_line import (
    add_metric_options,
    add_scoring_options,
    make_console,
    make_parser,
    named_path,
    require_other_file,
    run_command,
    write_json,
)
from evaluation.metrics import Bootstrap, DifferenceRow, ScoreRow, compare_clips, score_clips
from evaluation.predictions import read_predictions
from evaluation.tables import HEADLINE_METRICS, choose_metrics, score_table

PROG = "compare"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scores by name, in the order of the columns, and the paired differences. notes: sentences on
    files that answer other rows than they are scored with."""

    scores: Mapping[str, Sequence[ScoreRow]]
    differences: Sequence[DifferenceRow]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """`{"scores": {NAME: [row, ...]}, "differences": [row, ...]}`."""
        return {
            "scores": {name: [row.to_dict() for row in rows] for name, rows in self.scores.items()},
            "differences": [row.to_dict() for row in self.differences],
        }


def compare_files(
    rows_path: Path,
    files: Mapping[str, Path],
    pairs: Sequence[tuple[str, str]] = (),
    *,
    protocols: Sequence[str] | None = None,
    bootstrap: Bootstrap | None = None,
) -> Comparison:
    """Score any number of named files of predictions on the same rows.

    pairs: (base, other) names whose difference, other minus base, is wanted.
    Raises ValueError for a name that is not among the files, and what reading the files raises.
    """
    unknown = [name for pair in pairs for name in pair if name not in files]
    if unknown:
        raise ValueError(f"no predictions are called {unknown[0]!r}; there are {', '.join(files)}")
    truths = read_truths(rows_path)
    predictions = {name: read_predictions(path) for name, path in files.items()}
    clips = {name: load_clips(truths, found) for name, found in predictions.items()}
    scores = {name: score_clips(found, protocols, bootstrap) for name, found in clips.items()}
    differences = [
        row
        for base, other in pairs
        for row in compare_clips((base, clips[base]), (other, clips[other]), protocols, bootstrap)
    ]
    notes = filter(None, (tell_other_rows(found, rows_path) for found in predictions.values()))
    return Comparison(scores, differences, tuple(notes))


def print_comparison(
    comparison: Comparison,
    console: Console | None = None,
    *,
    metrics: Collection[str] = HEADLINE_METRICS,
) -> None:
    """Print the table of a comparison, on stdout where no console is given."""
    table = score_table(comparison.scores, comparison.differences, metrics=metrics)
    (console or make_console()).print(table)


def named_file(text: str) -> tuple[str, Path]:
    """`NAME=FILE`, or a FILE that is called after its run and its name, or its name alone."""
    name, path = named_path(text)
    if name is not None:
        return name, path
    if path.parent.name == "predictions":
        return f"{path.resolve().parent.parent.name}/{path.stem}", path
    return path.stem, path


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser(PROG, "Compare files of predictions over the same clips.")
    kind: dict[str, Any] = {"type": named_file, "metavar": "[NAME=]FILE"}
    parser.add_argument("--rows", type=Path, required=True, help="JSONL of annotated rows")
    parser.add_argument("--base", required=True, help="what the others are compared with", **kind)
    parser.add_argument(
        "--other", required=True, nargs="+", action="extend", help="compared with base", **kind
    )
    parser.add_argument(
        "--also",
        nargs="+",
        action="extend",
        default=[],
        help="shown beside them, without a difference",
        **kind,
    )
    parser.add_argument("--out", type=Path, help="file to write the comparison to, as JSON")
    add_scoring_options(parser)
    add_metric_options(parser)
    options = parser.parse_args(argv)
    names = [name for name, _ in (*options.also, options.base, *options.other)]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        parser.error(f"two files are called {twice[0]!r}; give names: NAME=FILE")
    return options


def compare(options: argparse.Namespace) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    base_name, _ = options.base
    metrics = choose_metrics(options.metric, all_metrics=options.all_metrics)
    if options.out is not None:
        read = (path for _, path in (*options.also, options.base, *options.other))
        require_other_file(options.out, options.rows, *read)
    comparison = compare_files(
        options.rows,
        dict([*options.also, options.base, *options.other]),
        [(base_name, name) for name, _ in options.other],
        protocols=options.protocol,
        bootstrap=Bootstrap(options.replicates, options.seed),
    )
    if options.json:
        write_json(comparison.to_dict())
    else:
        print_comparison(comparison, metrics=metrics)
    sys.stderr.writelines(f"{note}\n" for note in comparison.notes)
    if options.out:
        write_text_atomic(options.out, json.dumps(comparison.to_dict(), indent=2) + "\n")
        sys.stderr.write(f"wrote {options.out}\n")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    return run_command(PROG, lambda: compare(options))


if __name__ == "__main__":
    raise SystemExit(main())
