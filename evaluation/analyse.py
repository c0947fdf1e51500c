"""Look behind the scores of a file of predictions: emotions, confusions, boundaries, groups.

    python -m evaluation.analyse --predictions runs/demo/grpo/predictions/test.jsonl \\
        --rows data/rendered/test.sft.jsonl

Prints tables of the headline protocol, or of those that --protocol names, and writes
analysis/NAME.json beside the folder predictions/: a list of one analysis per protocol
(`evaluation.analysis.document`).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from affect.run_folder import RunFolder
from evaluation.analysis.analyse import analyse
from evaluation.analysis.document import write_analysis
from evaluation.analysis.tables import analysis_tables
from evaluation.clips import load_clips, read_truths, tell_other_rows
from evaluation.command_line import (
    add_scoring_options,
    make_console,
    make_parser,
    require_other_file,
    run_command,
    write_json,
)
from evaluation.metrics import Bootstrap, choose_protocols
from evaluation.predictions import read_predictions, result_path

PROG = "analyse"
HEADLINE_PROTOCOL = "strict"


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser(
        PROG,
        "Look behind the scores: emotions, confusions, transitions, boundaries, groups of clips. "
        "Tables are those of strict unless --protocol names others; the file holds all or those.",
    )
    parser.add_argument("--predictions", type=Path, required=True, help="what predict wrote")
    parser.add_argument("--rows", type=Path, required=True, help="JSONL of annotated rows")
    parser.add_argument(
        "--out", type=Path, help="file to write (default: analysis/NAME.json beside predictions/)"
    )
    add_scoring_options(parser)
    return parser.parse_args(argv)


def analyse_file(options: argparse.Namespace) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    bootstrap = Bootstrap(options.replicates, options.seed)
    if options.out is not None:
        require_other_file(options.out, options.predictions, options.rows)
    truths = read_truths(options.rows)
    predictions = read_predictions(options.predictions)
    clips = load_clips(truths, predictions)
    documents = [
        analyse(truths, clips, protocol.name, bootstrap)
        for protocol in choose_protocols(options.protocol)
    ]
    out = options.out or result_path(options.predictions, RunFolder.analysis, "analysis")
    write_analysis(out, documents)
    if options.json:
        write_json([document.model_dump(mode="json") for document in documents])
    else:
        console = make_console()
        for document in documents:
            if options.protocol or document.protocol == HEADLINE_PROTOCOL:
                for table in analysis_tables(document):
                    console.print(table)
                    console.print()
    if told := tell_other_rows(predictions, options.rows):
        sys.stderr.write(f"{told}\n")
    sys.stderr.write(f"wrote {out}\n")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    return run_command(PROG, lambda: analyse_file(options))


if __name__ == "__main__":
    raise SystemExit(main())
