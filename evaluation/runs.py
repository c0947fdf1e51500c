"""Several runs to be set side by side: loaded, named apart, and answering the same rows.

runs = load_runs([Path("runs/sft"), Path("runs/grpo")], "test", labels={})
[run.label for run in runs]                       # ['sft', 'grpo']
"""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluation.command_line import file_name
from evaluation.metrics import Bootstrap
from evaluation.run_results import RunResults, load_run


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """RUN..., --name, --rows, --video-root and --label: what `runs_of` reads."""
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folder")
    parser.add_argument(
        "--name",
        type=file_name,
        default="test",
        help="of the predictions: predictions/NAME.jsonl",
    )
    parser.add_argument(
        "--rows", type=Path, help="the rows' file (default: the one that the predictions name)"
    )
    parser.add_argument(
        "--video-root", type=Path, help="where the rows' video paths start (default: as predicted)"
    )
    parser.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="LABEL=RUN",
        help="how a run is called; may be given again (default: from its folder)",
    )


def runs_of(options: argparse.Namespace) -> list[RunResults]:
    """The runs that the options of `add_run_options` name. Raises ValueError as `load_runs`."""
    return load_runs(
        options.runs,
        options.name,
        labels=parse_labels(options.label, options.runs),
        rows=options.rows,
        video_root=options.video_root,
    )


def parse_labels(given: Sequence[str], paths: Sequence[Path]) -> dict[Path, str]:
    """`["SFT=runs/demo/sft"]` as {path: label}.

    Raises ValueError for what has no `=`, and for a run that is not among `paths`.
    """
    labels: dict[Path, str] = {}
    for text in given:
        # A folder's name may hold a "=", and so may a label: the run that is known decides.
        splits = [(text[:at], Path(text[at + 1 :])) for at in range(len(text)) if text[at] == "="]
        known = [(label, path) for label, path in splits if label.strip() and path in paths]
        if not known:
            runs = ", ".join(str(path) for path in paths)
            raise ValueError(f"--label {text}: write LABEL=RUN, with one of the runs: {runs}")
        label, path = known[0]
        labels[path] = label
    return labels


def load_runs(
    paths: Sequence[Path],
    name: str,
    *,
    labels: Mapping[Path, str],
    rows: Path | None = None,
    video_root: Path | None = None,
    bootstrap: Bootstrap | None = None,
) -> list[RunResults]:
    """Read the replies called `name` of every run, in order.

    Raises ValueError for what `load_run` refuses, two runs of one label, and runs that answer
    different rows (other ids, order, clips or annotations).
    """
    runs = [
        load_run(
            path,
            name,
            label=labels.get(path),
            rows=rows,
            video_root=video_root,
            bootstrap=bootstrap,
        )
        for path in paths
    ]
    for label, count in Counter(run.label for run in runs).items():
        if count > 1:
            raise ValueError(f"{count} runs are called {label!r}; tell them apart by --label L=RUN")
    for run in runs[1:]:
        difference = _difference(runs[0], run)
        if difference:
            raise ValueError(
                f"{runs[0].label} and {run.label} answer different rows: {difference}; predict "
                "both on the same rows"
            )
    return runs


def _difference(first: RunResults, other: RunResults) -> str:
    """The first one between two runs' rows, in words; "" where there is none."""
    if len(first.truths) != len(other.truths):
        return (
            f"{first.rows_path} has {len(first.truths)}, {other.rows_path} has {len(other.truths)}"
        )
    for number, (here, there) in enumerate(zip(first.truths, other.truths, strict=True), 1):
        if here.id != there.id:
            return (
                f"row {number} is {here.id!r} in {first.rows_path}, "
                f"{there.id!r} in {other.rows_path}"
            )
        for what, one, two in (
            ("clip", here.row.video, there.row.video),
            ("annotation", here.timeline, there.timeline),
        ):
            if one != two:
                return f"row {here.id!r} has another {what} in {other.rows_path}"
    return ""
