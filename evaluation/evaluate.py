"""One command from a model and an annotation file to scores and a page.

    python -m evaluation.evaluate --model path/to/Qwen2.5-VL-7B-Instruct --budget default \\
        --rows theirs.csv --video-root videos --out runs/theirs
    python -m evaluation.evaluate --predictions theirs.json --system Videmo \\
        --rows my/test.sft.jsonl --out runs/videmo

Each step is a command of its own, and is printed as one could type it: annotations to rows where
the file is no file of rows, `predict` (or `import`, where the replies are there already), `score`,
`analyse`, `judge` where --judge names a configuration, `report`. Started again, it goes on where it
stopped. Options that are not listed here go to `predict`, or to `import` with --predictions.

Exit code: 0, or 1 where rows failed or segments stayed unscored (every table counts them), 2 for a
mistake in the call, 3 where the money for a model on a server is spent.
"""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from affect.config import load_config
from affect.jsonl import scan_jsonl
from affect.run_folder import RunFolder
from affect.without_passwords import without_passwords
from evaluation.command_line import SOME_FAILED, file_name, make_parser, run_command
from evaluation.judge.config import JudgeConfig
from evaluation.predictions import read_predictions

PROG = "evaluate"
STEPS = {
    "import_annotations": "evaluation.import_annotations",
    "import_predictions": "evaluation.import_predictions",
    "predict": "evaluation.predict",
    "score": "evaluation.score",
    "analyse": "evaluation.analyse",
    "judge": "evaluation.judge.__main__",
    "report": "evaluation.report.__main__",
}
"""Command -> the module whose `main` it is, imported when it is its turn."""
ROW_KEYS = ("conversations", "messages")
"""A file of rows has one of these in each of them (`affect.records`)."""


def _options(argv: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    parser = make_parser(
        PROG,
        "From a model (or replies that are there) and an annotation file to scores and a page. "
        "Options that are not listed here go to predict, or to import with --predictions: see "
        "python -m evaluation.predict --help and python -m evaluation.import_predictions --help.",
    )
    parser.add_argument("--rows", type=Path, required=True, help="rows, or annotations to import")
    parser.add_argument(
        "--video-root", type=Path, help="where video paths start (default: the rows file's folder)"
    )
    parser.add_argument(
        "--name",
        type=file_name,
        help="of predictions and scores (default: the rows file's name to its first dot)",
    )
    parser.add_argument(
        "--out", type=Path, help="run folder that gets everything (default: that of --run)"
    )
    parser.add_argument("--run", type=Path, help="run folder whose model is asked")
    parser.add_argument("--predictions", type=Path, help="replies of another system, to import")
    parser.add_argument("--system", help="its name, with --predictions")
    parser.add_argument(
        "--label-map", type=Path, help="YAML of their labels, for annotations that are no rows"
    )
    parser.add_argument(
        "--merge-equal-neighbours",
        action="store_true",
        help="of annotations that are no rows: one segment of two with one emotion",
    )
    parser.add_argument("--judge", type=Path, help="its YAML, such as configs/judge/paper.yaml")
    parser.add_argument(
        "--judge-budget",
        help="frames that the judge is shown: a budget.json, or 'default' (default: its YAML's, "
        "else those of the replies, which imported ones do not say)",
    )
    parser.add_argument("--no-report", action="store_true", help="write no page")
    options, rest = parser.parse_known_args(argv)
    if (options.predictions is None) != (options.system is None):
        parser.error("--predictions FILE and --system NAME go together")
    if options.judge is None and options.judge_budget is not None:
        parser.error("--judge-budget needs --judge FILE")
    if options.predictions is not None and options.run is not None:
        parser.error("--predictions FILE is imported: no model is asked, so --run does not fit")
    if options.out is None and options.run is None:
        parser.error("--out FOLDER is needed, which gets predictions, scores and the page")
    return options, rest


def is_rows_file(path: Path) -> bool:
    """Whether the file holds rows as they are, going by its first line.

    Raises ValueError where there is no such file.
    """
    if not path.is_file():
        raise ValueError(f"{path}: there is no such file")
    if path.suffix != ".jsonl":
        return False
    first = next(iter(scan_jsonl(path)), None)
    # A broken or empty file is for the reader of rows to refuse, by line.
    return first is None or first.row is None or any(key in first.row for key in ROW_KEYS)


def evaluate(options: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run the steps in order; the exit code of the one that ends it, else 0 or 1."""
    judge = _judge_config(options)
    folder = options.out or options.run
    name = options.name or options.rows.name.partition(".")[0]
    rows, video_root = options.rows, options.video_root or options.rows.parent
    is_rows = is_rows_file(rows)
    if not is_rows:
        rows = folder / "rows" / f"{name}.jsonl"
    on_rows = ("--rows", rows, "--video-root", video_root, "--name", name, "--out", folder)
    if options.predictions is not None:
        asked = ("--file", options.predictions, "--system", options.system, *on_rows, *rest)
        _check_options("import_predictions", *asked)
    else:
        which = () if options.run is None else ("--run", options.run)
        asked = (*which, *on_rows, *rest)
        _check_options("predict_options", *asked)
    if not is_rows:
        more = [] if options.label_map is None else ["--label-map", options.label_map]
        more += ["--merge-equal-neighbours"] if options.merge_equal_neighbours else []
        from_file = ("--file", options.rows, "--video-root", video_root, "--out", rows)
        if code := _step("import_annotations", *from_file, *more):
            return code
    predictions = RunFolder(folder).predictions(name)
    if options.predictions is not None:
        failed = _step("import_predictions", *asked)
        if judge is not None and not (options.judge_budget or judge.budget):
            _check_frames_are_known(predictions)
    else:
        failed = _step("predict", *asked)
    if failed not in (0, SOME_FAILED):
        return failed
    of_replies = ("--predictions", predictions, "--rows", rows)
    for command in ("score", "analyse"):
        if code := _step(command, *of_replies):
            return code
    if options.judge is not None:
        judged = ("--run", folder, "--name", name, "--rows", rows, "--video_root", video_root)
        shown = () if options.judge_budget is None else ("--budget", options.judge_budget)
        code = _step("judge", "--config", options.judge, *judged, *shown)
        if code not in (0, SOME_FAILED):
            return code
        failed = failed or code
    if not options.no_report:
        of_run = (folder, "--name", name, "--rows", rows, "--video-root", video_root)
        if code := _step("report", *of_run):
            return code
    return failed


def _check_options(module: str, *arguments: str | Path) -> None:
    """A mistake in them shows now, and not after every annotated clip was decoded."""
    read_options = import_module(f"evaluation.{module}").read_options
    read_options([str(argument) for argument in arguments])


def _judge_config(options: argparse.Namespace) -> JudgeConfig | None:
    """A mistake in it shows now, and not after hours of predicting."""
    if options.judge is None:
        return None
    if not options.judge.is_file():
        raise ValueError(f"--judge {options.judge}: there is no such file")
    config = load_config(JudgeConfig, options.judge)
    key = config.model.api_key_env
    if key and not os.environ.get(key, "").strip():
        raise ValueError(
            f"--judge {options.judge}: its key is read from the environment variable {key}, which "
            "is not set"
        )
    return config


def _check_frames_are_known(predictions: Path) -> None:
    if predictions.is_file() and read_predictions(predictions).header.budget is None:
        raise ValueError(
            f"{predictions}: does not say which frames its model was shown; name what the judge "
            "is to be shown: --judge-budget FILE (a budget.json), or --judge-budget default for "
            "2 fps and 4 to 30 frames"
        )


def _step(command: str, *arguments: str | Path) -> int:
    """One command, told before it is run."""
    argv = [str(argument) for argument in arguments]
    told = without_passwords(shlex.join(argv))
    sys.stderr.write(f"\n== python -m evaluation.{command} {told}\n")
    sys.stderr.flush()
    code: int = import_module(STEPS[command]).main(argv)
    return code


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options, rest = _options(argv)
    return run_command(PROG, lambda: evaluate(options, rest))


if __name__ == "__main__":
    raise SystemExit(main())
