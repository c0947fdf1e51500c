"""Writes label rows of the rendered world without drawing a clip: what the reward audit ships with.

Example:
    python -m data_prep.rendered.labels --out rewards/rendered_labels.jsonl

The same request gives the same bytes on any machine. The rows name clips that
`python -m data_prep.rendered` would draw for the same seed and split.
"""

import argparse
import sys
from pathlib import Path

from affect.records import write_sft_rows
from data_prep.rendered.plan import SPLITS
from data_prep.rendered.rows import sample_rows

# Enough that a policy's mean is known to about .01, few enough that an audit takes seconds.
NUM_ROWS = 240


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns 0, or 2 for a request that makes no sense."""
    args = _parser().parse_args(argv)
    if args.num < 1:
        sys.stderr.write(f"--num is {args.num}: give at least 1 row\n")
        return 2
    write_sft_rows(args.out, sample_rows(args.num, args.seed, args.split))
    sys.stdout.write(f"{args.out}: {args.num} rows\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m data_prep.rendered.labels",
        description="Writes SFT rows of the rendered world without their clips.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    # No default is shown for a required option.
    parser.add_argument(
        "--out", type=Path, required=True, default=argparse.SUPPRESS, help="file to write"
    )
    parser.add_argument("--num", type=int, default=NUM_ROWS, help="number of rows")
    parser.add_argument("--seed", type=int, default=0, help="another seed is another world")
    parser.add_argument("--split", choices=SPLITS, default="train", help="which clips")
    return parser


if __name__ == "__main__":
    sys.exit(main())
