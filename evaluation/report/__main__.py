"""One HTML page about a run, or about several beside each other: scores, plots, every clip.

    python -m evaluation.report runs/demo/grpo
    python -m evaluation.report runs/demo/sft runs/demo/grpo --name test --out report.html
    python -m evaluation.report runs/a runs/b --label SFT=runs/a --label GRPO=runs/b --embed-mb 20

The page needs no server and nothing beside it but the clips, which it plays from where they are;
--embed-mb puts the smallest of them into the page. Runs must have answered the same rows.
--track wandb --project NAME sends the same tables and plots to wandb, too.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from affect.atomic import write_text_atomic
from evaluation.analysis.analyse import analyse
from evaluation.clips import tell_other_rows
from evaluation.command_line import make_parser, require_other_file, run_command
from evaluation.report.clip_video import choose_embedded, describe_clips, find_clips
from evaluation.report.examples import examples_of
from evaluation.report.page import render_page
from evaluation.report.sections import PageSection, sections_of
from evaluation.report.tracker import TRACKERS, send_to_tracker
from evaluation.run_results import RunResults
from evaluation.runs import add_run_options, runs_of

PROG = "report"
BYTES_PER_MB = 1_000_000


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser(PROG, "Write one self-contained HTML page about runs on the same rows.")
    add_run_options(parser)
    parser.add_argument(
        "--embed-mb",
        type=float,
        default=0.0,
        metavar="N",
        help="put the smallest clips into the page, so many MB of files in all",
    )
    parser.add_argument(
        "--out", type=Path, help="(default: RUN/report.html; report.html for several runs)"
    )
    parser.add_argument("--title", help="of the page (default: the runs' labels and --name)")
    parser.add_argument(
        "--track", choices=TRACKERS, help="send tables and plots to this tracker, too"
    )
    parser.add_argument("--project", help="of the tracker, with --track")
    options = parser.parse_args(argv)
    if (options.track is None) != (options.project is None):
        parser.error("--track wandb and --project NAME go together")
    if not 0 <= options.embed_mb < float("inf"):
        parser.error(f"--embed-mb {options.embed_mb}: megabytes from 0 up are needed")
    return options


def write_report(options: argparse.Namespace) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    out: Path = options.out or (
        options.runs[0] / "report.html" if len(options.runs) == 1 else Path("report.html")
    )
    if out.is_dir():
        raise ValueError(f"--out {out}: is a folder; name the file to write")
    if options.video_root is not None and not options.video_root.is_dir():
        raise ValueError(f"--video-root {options.video_root}: there is no such folder")
    runs = runs_of(options)
    for run in runs:
        require_other_file(out, run.predictions.path, run.rows_path)
        if told := tell_other_rows(run.predictions, run.rows_path):
            sys.stderr.write(f"{told}\n")
    title = options.title or f"{', '.join(run.label for run in runs)} on {options.name}"
    analyses = {
        run.label: analyse(run.truths, run.clips, "strict", run.bootstrap)
        for run in tqdm(runs, desc="analyse", unit="run", disable=None)
    }
    sections = sections_of(runs, analyses)
    where = write_page(runs, sections, out, title, round(options.embed_mb * BYTES_PER_MB))
    sys.stderr.write(f"wrote {out}: {where}\n")
    if options.track is not None:
        sent = send_to_tracker(options.track, options.project, runs, analyses, sections)
        sys.stderr.write(f"sent to {options.track}: {', '.join(sent)}\n")
    return 0


def write_page(
    runs: Sequence[RunResults],
    sections: Sequence[PageSection],
    out: Path,
    title: str,
    embed_bytes: int = 0,
) -> str:
    """Write the page about `runs` to `out`; returns a sentence on where its clips are."""
    videos = find_clips(runs[0].truths, runs[0].video_root, out)
    embedded = choose_embedded(videos, embed_bytes)
    clips = describe_clips(videos, embedded)
    page = render_page(
        title,
        sections,
        examples_of(runs, videos, embedded),
        embedded,
        notes=[*_left_out(runs), clips],
    )
    write_text_atomic(out, page)
    return clips


def _left_out(runs: Sequence[RunResults]) -> list[str]:
    """What the page can't show, run by run."""
    notes = []
    untrained = [run.label for run in runs if not run.training]
    unjudged = [run.label for run in runs if not run.judges]
    if untrained:
        notes.append(f"No training curves for {', '.join(untrained)}: no metrics.jsonl in the run.")
    if unjudged:
        notes.append(f"No judge's scores for {', '.join(unjudged)}: no finished judgements.")
    if changed := [run.label for run in runs if tell_other_rows(run.predictions, run.rows_path)]:
        notes.append(f"The rows are not those that were answered by {', '.join(changed)}.")
    return notes


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    return run_command(PROG, lambda: write_report(options))


if __name__ == "__main__":
    raise SystemExit(main())
