"""Score a file of predictions under the protocols paper, released and strict.

    python -m evaluation.score --predictions runs/demo/grpo/predictions/test.jsonl \\
        --rows data/rendered/test.sft.jsonl

Prints a table in percent with 95 % intervals and counts (--all-metrics: every metric), and writes
all as fractions to scores/NAME.json beside the folder predictions/: a list of rows
(`evaluation.metrics.summary`).
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from affect.atomic import write_text_atomic
from affect.run_folder import RunFolder
from evaluation.clips import load_clips, read_truths, tell_other_rows
from evaluation.command_line import (
    add_metric_options,
    add_scoring_options,
    make_console,
    make_parser,
    require_other_file,
    run_command,
    write_json,
)
from evaluation.metrics import Bootstrap, ScoreRow, score_clips
from evaluation.predictions import read_predictions, result_path
from evaluation.tables import choose_metrics, score_table

PROG = "score"


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser(PROG, "Score a file of predictions under the three protocols.")
    parser.add_argument("--predictions", type=Path, required=True, help="what predict wrote")
    parser.add_argument("--rows", type=Path, required=True, help="JSONL of annotated rows")
    parser.add_argument(
        "--out", type=Path, help="file to write (default: scores/NAME.json beside predictions/)"
    )
    add_scoring_options(parser)
    add_metric_options(parser)
    return parser.parse_args(argv)


def write_scores(path: Path, rows: Sequence[ScoreRow]) -> None:
    """Write score rows as a JSON list, whole or not at all."""
    text = json.dumps([row.to_dict() for row in rows], indent=2, allow_nan=False)
    write_text_atomic(path, text + "\n")


def score(options: argparse.Namespace) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    bootstrap = Bootstrap(options.replicates, options.seed)
    metrics = choose_metrics(options.metric, all_metrics=options.all_metrics)
    if options.out is not None:
        require_other_file(options.out, options.predictions, options.rows)
    predictions = read_predictions(options.predictions)
    clips = load_clips(read_truths(options.rows), predictions)
    rows = score_clips(clips, options.protocol, bootstrap)
    out = options.out or result_path(options.predictions, RunFolder.scores, "scores")
    write_scores(out, rows)
    if options.json:
        write_json([row.to_dict() for row in rows])
    else:
        make_console().print(score_table({options.predictions.stem: rows}, metrics=metrics))
    if told := tell_other_rows(predictions, options.rows):
        sys.stderr.write(f"{told}\n")
    sys.stderr.write(f"wrote {out}\n")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    return run_command(PROG, lambda: score(options))


if __name__ == "__main__":
    raise SystemExit(main())
