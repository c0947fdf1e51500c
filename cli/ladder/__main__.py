"""Gather the runs of `launch/ladder.sh` into one page and one file of figures.

    python -m cli.ladder --runs runs/ladder --rows data/rendered/test.sft.jsonl --out docs/results

RUNS/seedN/{base,sft,grpo}/predictions/NAME.jsonl are the rungs, RUNS/seedN/grpo_without_TERM/ the
ablations. Writes OUT.json and OUT.md. Only finished predictions are read; a rung that is missing
for a seed is an error, an ablation that is missing is left out and named.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from affect.atomic import write_text_atomic
from affect.run_folder import RunFolder
from cli.ladder.measures import Measures, measure
from cli.ladder.page import results_page
from cli.ladder.results import RUNGS, ladder_results
from evaluation.clips import Truth, read_truths
from evaluation.command_line import run_command
from evaluation.metrics import Bootstrap
from evaluation.predictions import read_predictions
from rewards.constants import TERMS

COMMAND = "bash launch/ladder.sh"


def find_seeds(runs: Path) -> dict[int, Path]:
    """Seed -> its folder; ValueError where there is none."""
    if not runs.is_dir():
        raise ValueError(f"{runs}: no such folder; run `{COMMAND}` first")
    folders = {
        int(match[1]): path
        for path in runs.iterdir()
        if path.is_dir() and (match := re.fullmatch(r"seed(\d+)", path.name))
    }
    if not folders:
        raise ValueError(f"{runs}: there is no folder seedN in it; run `{COMMAND}` first")
    return dict(sorted(folders.items()))


def gather(
    runs: Path, truths: Sequence[Truth], name: str
) -> tuple[dict[str, dict[int, Measures]], dict[str, dict[int, Measures]], list[str]]:
    """Rungs and ablations by seed, and the names of ablations that are not there.

    Raises ValueError for a rung without predictions, and what `measure` raises.
    """
    rungs: dict[str, dict[int, Measures]] = {rung: {} for rung in RUNGS}
    ablations: dict[str, dict[int, Measures]] = {}
    absent: list[str] = []
    for seed, folder in find_seeds(runs).items():
        for rung in RUNGS:
            path = RunFolder(folder / rung).predictions(name)
            if not path.is_file():
                raise ValueError(f"{path}: not there; `{COMMAND}` goes on where it stopped")
            rungs[rung][seed] = measure(truths, read_predictions(path))
        for term in TERMS:
            path = RunFolder(folder / f"grpo_without_{term}").predictions(name)
            if path.is_file():
                runs_of_term = ablations.setdefault(term, {})
                runs_of_term[seed] = measure(truths, read_predictions(path))
            else:
                absent.append(f"seed {seed} without {term}")
    ordered = {term: ablations[term] for term in TERMS if term in ablations}
    return rungs, ordered, absent


def ladder(options: argparse.Namespace) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    rungs, ablations, absent = gather(options.runs, read_truths(options.rows), options.name)
    if absent:
        sys.stderr.write(f"ladder: not run, and left out: {', '.join(absent)}\n")
    bootstrap = Bootstrap(options.replicates, options.bootstrap_seed)
    results = ladder_results(rungs, ablations, bootstrap)
    for suffix, text in (
        (".json", json.dumps(results, indent=2, allow_nan=False) + "\n"),
        (".md", results_page(results, COMMAND)),
    ):
        path = options.out.with_name(options.out.name + suffix)
        write_text_atomic(path, text)
        sys.stderr.write(f"wrote {path}\n")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m cli.ladder",
        description="Gather the runs of launch/ladder.sh into one page and one file of figures.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--runs", type=Path, default=Path("runs/ladder"), help="folder of seedN/")
    parser.add_argument("--rows", type=Path, required=True, help="JSONL of the rows answered")
    parser.add_argument("--name", default="test", help="of the files in predictions/")
    parser.add_argument(
        "--out", type=Path, default=Path("docs/results"), help="path of both files, no suffix"
    )
    default = Bootstrap()
    parser.add_argument(
        "--replicates", type=int, default=default.num_replicates, help="bootstrap draws"
    )
    parser.add_argument("--bootstrap-seed", type=int, default=default.seed, help="of the draws")
    options = parser.parse_args(argv)
    return run_command("ladder", lambda: ladder(options))


if __name__ == "__main__":
    raise SystemExit(main())
