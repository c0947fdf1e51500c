"""Write the sheets of a human evaluation: pages and tables for experts, and the key.

    python -m evaluation.human sheets runs/base runs/sft runs/grpo --name test --out study \\
        --videos 100 --experts 5 --seed 0

study/ then holds expert_1.html and expert_1.csv to expert_5, which go to the experts together with
the videos, and key.json, which does not: it says which system each item is from.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from affect.file_hash import sha256_of_file
from affect.sheets.items import expert_names
from affect.sheets.write import check_unwritten, link_to, write_sheets
from affect.video_path import resolve_video
from evaluation.command_line import make_parser, run_command
from evaluation.human.questions import FORM
from evaluation.human.study import (
    NUM_EXPERTS,
    NUM_VIDEOS,
    StudyKey,
    StudyRun,
    expert_lines,
    sample_videos,
    study_items,
)
from evaluation.run_results import RunResults
from evaluation.runs import add_run_options, runs_of

PROG = "human sheets"
VIDEOS_FOLDER = "clips"
"""Of the study, with --copy-videos."""


def write_study(
    out_dir: Path,
    runs: Sequence[RunResults],
    num_videos: int = NUM_VIDEOS,
    num_experts: int = NUM_EXPERTS,
    seed: int = 0,
    copy_videos: bool = False,
) -> StudyKey:
    """Write a study of runs over the same rows; equal inputs give equal files.

    copy_videos: put the sampled clips into the folder too, so that it can be sent as it is.
    Raises ValueError for a folder that holds sheets already, more videos than there are, a clip
    that is not there, and replies that leave nothing to rate.
    """
    experts = expert_names(num_experts)
    check_unwritten(out_dir, FORM)
    first = runs[0]
    videos = sample_videos([clip.id for clip in first.clips], num_videos, seed)
    answers, items = study_items(runs, videos, seed)
    if not items:
        raise ValueError(f"none of the {len(answers)} replies holds a segment: nothing to rate")
    sampled = {truth.id: truth for truth in first.truths if truth.id in set(videos)}
    key = StudyKey(
        experts=experts,
        seed=seed,
        items=items,
        name=first.name,
        rows=first.rows_path.as_posix(),
        video_root=first.video_root.as_posix(),
        runs=tuple(
            StudyRun(
                system=run.label,
                path=run.folder.path.as_posix(),
                predictions_sha256=sha256_of_file(run.predictions.path),
            )
            for run in runs
        ),
        durations_seconds={video: sampled[video].timeline.duration_seconds for video in videos},
        answers=answers,
    )
    links = {}
    for truth in sampled.values():
        video = truth.row.video
        try:
            links[video] = link_to(out_dir, first.video_root, video)
            if copy_videos:
                _copy(first.video_root, out_dir / VIDEOS_FOLDER, video)
                links[video] = link_to(out_dir, out_dir / VIDEOS_FOLDER, video)
        except ValueError as error:
            raise ValueError(f"row {truth.id!r}: {error}") from error
    write_sheets(out_dir, FORM, key, expert_lines(key), links)
    return key


def _copy(video_root: Path, folder: Path, video: str) -> None:
    target = folder / video
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(resolve_video(video_root, video), target)


def describe(key: StudyKey) -> str:
    """What each expert has before him, and what there is nothing to rate of: one line each."""
    num_ratings = len(key.items) * len(FORM.questions)
    lines = [
        f"{len(key.items)} segments of {len(key.videos)} videos by {len(key.runs)} systems: "
        f"{num_ratings} ratings for each of {len(key.experts)} experts"
    ]
    for system in key.systems:
        answers = [answer for answer in key.answers if answer.system == system]
        counts = {
            status: sum(answer.status == status for answer in answers)
            for status in ("rated", "unparsed", "missing")
        }
        most = max(answer.num_segments for answer in answers)
        lines.append(
            f"{system}: {sum(answer.num_segments for answer in answers)} segments of "
            f"{counts['rated']} videos, at most {most} of one; nothing to rate in "
            f"{counts['unparsed']} unparsed and {counts['missing']} missing replies"
        )
    return "\n".join(lines)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser(PROG, "Write pages and tables on which experts rate several runs, blind.")
    add_run_options(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder for the study")
    parser.add_argument("--videos", type=int, default=NUM_VIDEOS, help="sampled at random")
    parser.add_argument("--experts", type=int, default=NUM_EXPERTS, help="each rates everything")
    parser.add_argument("--seed", type=int, default=0, help="of sample and orders")
    parser.add_argument(
        "--copy-videos",
        action="store_true",
        help="copy the sampled videos into the study, so that the folder can be sent",
    )
    return parser.parse_args(argv)


def sheets(options: argparse.Namespace) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    key = write_study(
        options.out,
        runs_of(options),
        options.videos,
        options.experts,
        options.seed,
        options.copy_videos,
    )
    sys.stdout.write(describe(key) + "\n")
    sys.stderr.write(
        f"wrote {options.out}: send each expert one page and the videos; keep key.json back\n"
    )
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    return run_command(PROG, lambda: sheets(options))
