"""Score replies to TSL-300's videos, or a file of detections in its own form.

    python -m evaluation.suites.tsl300 score --run runs/demo/grpo --name tsl --labels TSL300
    python -m evaluation.suites.tsl300 score --predictions detections.json --labels TSL300

Prints a table in percent and writes RUN/tsl300/NAME.json (`evaluation.suites.tsl300.results`), for
a file outside a run FILE.tsl300.json beside it.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from affect.run_folder import RunFolder
from evaluation.command_line import (
    file_name,
    make_console,
    make_parser,
    require_other_file,
    run_command,
    write_json,
)
from evaluation.metrics import Bootstrap
from evaluation.predictions import read_predictions, result_path
from evaluation.suites.tsl300.candidates import Candidates, is_tsl_file, read_tsl_file
from evaluation.suites.tsl300.labels import ANNOTATION_FILES, Subset, TslLabels, read_labels
from evaluation.suites.tsl300.mapping import add_open_option
from evaluation.suites.tsl300.polarity import (
    POLARITY_TABLE,
    OpenPolicy,
    choice_of,
    open_policy,
    polarities,
)
from evaluation.suites.tsl300.protocol import TIE_RULE, score_rows
from evaluation.suites.tsl300.replies import Reading, candidates_of_predictions
from evaluation.suites.tsl300.results import TslCounts, TslReading, TslResults, write_tsl_results
from evaluation.suites.tsl300.table import results_table

PROG = "suites.tsl300 score"


def read_candidates(
    path: Path, rows_path: Path | None, policy: OpenPolicy, reading: Reading, *, merge: bool
) -> tuple[Candidates, TslReading | None]:
    """Of either kind of file, and how it was read.

    rows_path: of the rows that replies answer, if not where the file's header says.
    """
    if is_tsl_file(path):
        return read_tsl_file(path), None
    predictions = read_predictions(path)
    if rows_path is None:
        if predictions.header.rows is None:
            raise ValueError(f"{path}: does not say which rows it answers; give --rows FILE")
        rows_path = Path(predictions.header.rows)
    if not rows_path.is_file():
        raise ValueError(f"{rows_path}: the rows are not there; name their file with --rows FILE")
    found = candidates_of_predictions(
        predictions, rows_path, polarities(policy), reading=reading, merge=merge
    )
    applied = {emotion: choice_of(emotion, policy) for emotion in POLARITY_TABLE}
    return found, TslReading(
        reading=reading, open_emotions=policy.name, polarity=applied, merged=merge
    )


def score_candidates(
    labels: TslLabels,
    subset: Subset,
    found: Candidates,
    reading: TslReading | None,
    bootstrap: Bootstrap,
) -> TslResults:
    """Score what was found; a video that is unparsed or missing counts with nothing found.

    Raises ValueError where the subset has no annotation, and for predictions of other videos.
    """
    videos = labels.subset(subset)
    if not any(video.segments for video in videos):
        raise ValueError(
            f"{labels.path}: the {subset} videos have no annotations there; use "
            "--annotations videosenti_gt.json"
        )
    known = {video.id for video in videos}
    strangers = sorted((set(found.candidates) | found.unparsed) - known)
    if strangers:
        raise ValueError(
            f"{found.path}: {strangers[0]!r} is no {subset} video of {labels.path}; leave it out, "
            "or choose another --subset"
        )
    truth = [segment.polarity for video in videos for segment in video.segments]
    predicted = [one.polarity for of_video in found.candidates.values() for one in of_video]
    counts = TslCounts(
        num_videos=len(videos),
        num_scored=len(found.candidates),
        num_unparsed=len(found.unparsed),
        num_missing=len(videos) - len(found.candidates) - len(found.unparsed),
        num_truth_positive=truth.count("positive"),
        num_truth_negative=truth.count("negative"),
        num_predicted_positive=predicted.count("positive"),
        num_predicted_negative=predicted.count("negative"),
        num_background=found.num_background,
        num_unknown_emotion=found.num_unknown_emotion,
    )
    return TslResults(
        predictions_sha256=found.sha256,
        labels_sha256=labels.sha256,
        subset=subset,
        reading=reading,
        tie_rule=TIE_RULE,
        num_replicates=bootstrap.num_replicates,
        seed=bootstrap.seed,
        counts=counts,
        rows=score_rows(videos, found.candidates, bootstrap),
    )


def _out(options: argparse.Namespace, predictions: Path) -> Path:
    out: Path | None = options.out
    if out is not None:
        return out
    if options.run is not None:
        return RunFolder(options.run).tsl300(options.name)
    return result_path(predictions, RunFolder.tsl300, "tsl300")


def _score(options: argparse.Namespace) -> int:
    predictions = options.predictions or RunFolder(options.run).predictions(options.name)
    if not predictions.is_file():
        raise ValueError(f"{predictions}: there are no such predictions")
    labels = read_labels(options.labels, options.annotations)
    found, reading = read_candidates(
        predictions,
        options.rows,
        open_policy(options.open),
        options.reading,
        merge=not options.keep_neighbours,
    )
    bootstrap = Bootstrap(options.replicates, options.seed)
    results = score_candidates(labels, options.subset, found, reading, bootstrap)
    out = _out(options, predictions)
    require_other_file(out, predictions)
    write_tsl_results(out, results)
    if options.json:
        write_json(results.model_dump(mode="json"))
    else:
        make_console().print(results_table(results))
    sys.stderr.write(f"wrote {out}\n")
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser(PROG, "Score predictions on TSL-300.")
    parser.add_argument(
        "--predictions",
        type=Path,
        help="what predict wrote, or a file in TSL-300's own form (default: the run's)",
    )
    parser.add_argument("--run", type=Path, help="run folder that gets tsl300/NAME.json")
    parser.add_argument(
        "--name", type=file_name, help="of the predictions and of the scores, with --run"
    )
    parser.add_argument("--labels", type=Path, required=True, help="folder of the label files")
    parser.add_argument(
        "--annotations", choices=ANNOTATION_FILES, default="gt.json", help="file in that folder"
    )
    parser.add_argument("--subset", choices=["test", "train"], default="test", help="of the videos")
    parser.add_argument("--rows", type=Path, help="the rows answered, if not where they were")
    add_open_option(parser)
    parser.add_argument(
        "--reading",
        choices=["strict", "lenient"],
        default="strict",
        help="replies that are timelines only, or whatever segments the lenient parse finds",
    )
    parser.add_argument(
        "--keep-neighbours",
        action="store_true",
        help="do not join neighbours of one polarity",
    )
    default = Bootstrap()
    parser.add_argument(
        "--replicates",
        type=int,
        default=default.num_replicates,
        help="bootstrap replicates behind the 95%% intervals",
    )
    parser.add_argument("--seed", type=int, default=default.seed, help="of the bootstrap")
    parser.add_argument("--out", type=Path, help="file to write instead")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    options = parser.parse_args(argv)
    if (options.run is None) != (options.name is None):
        parser.error("--run RUN and --name NAME go together")
    if options.predictions is None and options.run is None:
        parser.error("give --predictions FILE, or --run RUN --name NAME")
    return options


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    return run_command(PROG, lambda: _score(options))
