"""Read the experts' filled tables back: means, agreement, and the judges beside them.

    python -m evaluation.human ratings study
    python -m evaluation.human ratings study returned/*.csv --failures zero

Without files the tables in study/ are read. Writes study/results.json and prints the same as
tables. Ratings left open are missing, never 0.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import get_args

from affect.file_hash import sha256_of_file
from affect.sheets.ratings import read_ratings
from evaluation.command_line import make_console, make_parser, run_command, write_json
from evaluation.human.judge_agreement import agree_with_judges
from evaluation.human.questions import FORM
from evaluation.human.results import Failures, HumanResults, write_human_results
from evaluation.human.scores import (
    Ratings,
    agree_experts,
    count_systems,
    item_means,
    score_systems,
)
from evaluation.human.study import StudyKey, StudyRun
from evaluation.human.table import human_tables
from evaluation.metrics import Bootstrap
from evaluation.run_results import JudgeResults, load_run

PROG = "human ratings"
RESULTS_FILE = "results.json"


def load_judges(
    key: StudyKey, moved: Mapping[str, Path], rows: Path | None = None
) -> dict[str, Mapping[str, JudgeResults]]:
    """System -> the judges that have judged its run.

    moved: system -> where its run folder is now. Raises ValueError for a run that is gone or holds
    other replies than those on the sheets.
    """
    return {run.system: _judges_of(key, run, moved.get(run.system), rows) for run in key.runs}


def _judges_of(
    key: StudyKey, run: StudyRun, moved: Path | None, rows: Path | None
) -> Mapping[str, JudgeResults]:
    try:
        found = load_run(moved or Path(run.path), key.name, rows=rows or Path(key.rows))
    except ValueError as error:
        raise ValueError(
            f"{error}; say where {run.system} is with --run {run.system}=RUN, where the rows are "
            "with --rows FILE, or leave the judges out with --no-judges"
        ) from error
    if sha256_of_file(found.predictions.path) != run.predictions_sha256:
        raise ValueError(
            f"{found.predictions.path}: holds other replies than the experts were shown; put those "
            "back, or leave the judges out with --no-judges"
        )
    return found.judges


def study_results(
    key: StudyKey,
    ratings: Ratings,
    judges: Mapping[str, Mapping[str, JudgeResults]],
    failures: Failures = "left_out",
    bootstrap: Bootstrap | None = None,
) -> HumanResults:
    """All numbers of a study. judges: system -> label -> what that judge said; {} for none."""
    bootstrap = bootstrap or Bootstrap()
    return HumanResults(
        name=key.name,
        experts=key.experts,
        num_videos=len(key.videos),
        num_items=len(key.items),
        failures=failures,
        seed=key.seed,
        systems=tuple(count_systems(key)),
        rows=tuple(score_systems(key, ratings, failures, bootstrap)),
        num_missing=ratings.num_missing(),
        expert_agreement=tuple(agree_experts(ratings)),
        judge_agreement=tuple(agree_with_judges(key, item_means(ratings), judges, bootstrap)),
        comments=ratings.comments,
        num_replicates=bootstrap.num_replicates,
        bootstrap_seed=bootstrap.seed,
    )


def _moved(given: Sequence[str], key: StudyKey) -> dict[str, Path]:
    moved = {}
    for text in given:
        # Of a label that holds a "=" too: the longest that is known.
        known = [system for system in key.systems if text.startswith(f"{system}=")]
        if not known:
            raise ValueError(
                f"--run {text}: write SYSTEM=RUN; the study's are {', '.join(key.systems)}"
            )
        system = max(known, key=len)
        moved[system] = Path(text[len(system) + 1 :])
    return moved


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser(PROG, "Read filled sheets back: means, agreement, judges beside experts.")
    parser.add_argument("study", type=Path, metavar="STUDY", help="the folder that holds key.json")
    parser.add_argument("files", type=Path, nargs="*", metavar="CSV", help="default: STUDY's")
    parser.add_argument(
        "--failures",
        choices=get_args(Failures),
        default="left_out",
        help="what a sampled clip with nothing to rate counts: nothing, or 0 per true segment",
    )
    parser.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="SYSTEM=RUN",
        help="where a system's run folder is now; may be given again (default: where it was)",
    )
    parser.add_argument("--rows", type=Path, help="where the rows are now, if moved")
    parser.add_argument("--no-judges", action="store_true", help="do not look for judgements")
    parser.add_argument(
        "--replicates",
        type=int,
        default=Bootstrap().num_replicates,
        help="bootstrap replicates behind the 95%% intervals",
    )
    parser.add_argument("--seed", type=int, default=Bootstrap().seed, help="of the bootstrap")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the tables")
    # Intermixed, so that tables may be named after options too.
    return parser.parse_intermixed_args(argv)


def read_back(options: argparse.Namespace) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    bootstrap = Bootstrap(options.replicates, options.seed)
    key = StudyKey.read(options.study)
    moved = _moved(options.run, key)
    ratings = read_ratings(FORM, key, options.study, options.files)
    judges = {} if options.no_judges else load_judges(key, moved, options.rows)
    results = study_results(key, ratings, judges, options.failures, bootstrap)
    out = options.study / RESULTS_FILE
    write_human_results(out, results)
    if options.json:
        write_json(results.model_dump(mode="json"))
    else:
        console = make_console()
        for table in human_tables(results):
            console.print(table)
        if not results.judge_agreement and not options.no_judges:
            console.print("No judge has judged these runs: nothing stands beside the experts.")
    sys.stderr.write(f"wrote {out}\n")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    return run_command(PROG, lambda: read_back(options))
