"""Evaluation's two speeds: scoring a whole test split with intervals, and answering in batches.

    python -m speed.evaluation --json
    {"score_seconds": 3.1, "analyse_seconds": 1.9, "batch_ratio": 4.2, ...}

score_seconds: 1,441 predictions under all three protocols with their 95 % intervals, from files to
rows, on one core (`speed.scored_files`). batch_ratio: clips a second in batches over one at a time
(`speed.batched_prediction`). Further keys hold the seconds and counts behind them.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from speed.batched_prediction import compare_batches
from speed.scored_files import NUM_CLIPS, measure_scoring, write_files


def main(argv: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m speed.evaluation",
        description="Scoring a test split with intervals on one core; batched prediction against "
        "one clip at a time.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.add_argument("--quick", action="store_true", help="fewer clips are answered")
    parser.add_argument("--num-clips", type=int, default=NUM_CLIPS, help="to score")
    parser.add_argument("--batch-size", type=int, default=16, help="clips answered at once")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        found = _measure(Path(name), options.num_clips, options.batch_size, options.quick)
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        sys.stdout.writelines(f"{key}: {value}\n" for key, value in found.items())
    return 0


def _measure(folder: Path, num_clips: int, batch_size: int, is_quick: bool) -> dict[str, Any]:
    write_files(folder, num_clips)
    num_answered = batch_size if is_quick else 4 * batch_size
    return {
        **measure_scoring(folder),
        **compare_batches(folder, num_answered, batch_size, num_rounds=1 if is_quick else 3),
    }


if __name__ == "__main__":
    sys.exit(main())
