"""Several runs to be set side by side: loaded, named apart, and answering the same rows.

runs = load_runs([Path("runs/sft"), Path("runs/grpo")], "test", labels={})
[run.label for run in runs]                       # ['sft', 'grpo']
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluation.metrics import Bootstrap
from evaluation.run_results import RunResults, load_run


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
