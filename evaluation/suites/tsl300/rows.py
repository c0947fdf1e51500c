"""Make rows for `predict` from TSL-300's labels and videos: no timeline, the decoded duration.

    python -m evaluation.suites.tsl300 rows --labels TSL300 --video-root videos --out tsl.jsonl
    {"id": "102_Ekman6_surprise_408", "video": "test/102_Ekman6_surprise_408.mp4",
     "video_duration": 151.61, "source": "tsl300", "conversations": [{"from": "human", ...}]}

A video is found anywhere under the root by its name. One that is not there or can't be read is told
and has no row; scoring counts it as missing. The videos last 120 to 1,160 s: under a budget of 30
frames a model sees one picture every 4 to 40 s, far fewer than in the clips it was trained on.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tqdm import tqdm

from affect.prompts import segment_prompt_text
from affect.records import Row, prompt_from_text, read_rows, write_sft_rows
from affect.row import is_stated_duration
from affect.video import DECODE_TIMEOUT_SECONDS, GuardedReader, VideoError
from affect.video_path import VIDEO_SUFFIXES
from evaluation.command_line import SOME_FAILED, make_parser, run_command
from evaluation.suites.tsl300.labels import ANNOTATION_FILES, TslVideo, read_labels

PROG = "suites.tsl300 rows"


def find_videos(root: Path, wanted: Sequence[str]) -> dict[str, Path]:
    """id -> the file of that name and any suffix of a video, anywhere under `root`.

    Raises ValueError where there is no such folder, and where two files have one name.
    """
    if not root.is_dir():
        raise ValueError(f"{root}: there is no such folder; --video-root names that of the videos")
    ids = frozenset(wanted)
    found: dict[str, Path] = {}
    for path in sorted(root.rglob("*")):
        if path.stem in ids and path.suffix.lower() in VIDEO_SUFFIXES and path.is_file():
            if path.stem in found:
                raise ValueError(
                    f"{path}: {found[path.stem]} has the same name; keep one of the two there"
                )
            found[path.stem] = path
    return found


def make_row(root: Path, path: Path, video_id: str, duration_seconds: float) -> Row:
    """The row of one video of that decoded duration."""
    return Row(
        id=video_id,
        video=path.relative_to(root).as_posix(),
        duration_seconds=duration_seconds,
        source="tsl300",
        prompt=prompt_from_text(segment_prompt_text(duration_seconds)),
        timeline=None,
    )


def make_rows(
    root: Path, videos: Sequence[TslVideo], found: Mapping[str, Path], reader: GuardedReader
) -> tuple[list[Row], list[str]]:
    """A row for each video that decodes whole, and in words what is wrong with the others.

    A duration that differs from the stated one by more than .15 s is told too; the row has the
    decoded one.
    """
    rows: list[Row] = []
    faults: list[str] = []
    for video in tqdm(videos, desc="decoding", unit="video", disable=None):
        path = found.get(video.id)
        if path is None:
            faults.append(f"{video.id}: no video of this name under {root}")
            continue
        try:
            seconds = float(reader.probe(path).duration)
        except VideoError as error:
            faults.append(f"{video.id}: {error}")
            continue
        if not is_stated_duration(video.duration_seconds, seconds):
            faults.append(
                f"{video.id}: lasts {seconds:.2f} s, len_duration_dict.json says "
                f"{video.duration_seconds:.2f} s; its row has the former"
            )
        rows.append(make_row(root, path, video.id, seconds))
    return rows, faults


def _require_ours(out: Path, videos: Sequence[TslVideo]) -> None:
    """Rows of fewer or more of these videos may be made anew; nothing else is replaced."""
    if not out.exists():
        return
    try:
        is_ours = {row.id for row in read_rows(out)} <= {video.id for video in videos}
    except ValueError:
        is_ours = False
    if not is_ours:
        raise ValueError(f"{out}: is there already and holds something else; choose another --out")


def _make(options: argparse.Namespace) -> int:
    videos = read_labels(options.labels, options.annotations).subset(options.subset)
    _require_ours(options.out, videos)
    found = find_videos(options.video_root, [video.id for video in videos])
    if not found:
        raise ValueError(
            f"{options.video_root}: holds none of the {len(videos)} videos (the first would be "
            f"{videos[0].id}.mp4)"
        )
    with GuardedReader(options.decode_timeout_seconds) as reader:
        rows, faults = make_rows(options.video_root, videos, found, reader)
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    if not rows:
        raise ValueError(f"{options.video_root}: none of the {len(found)} videos can be read")
    write_sft_rows(options.out, rows)
    sys.stdout.write(f"{options.out}: {len(rows)} rows of {len(videos)} videos\n")
    return SOME_FAILED if len(rows) < len(videos) else 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code: 1 where some videos have no row."""
    parser = make_parser(PROG, "Make rows for predict from TSL-300's labels and videos.")
    parser.add_argument("--labels", type=Path, required=True, help="folder of the label files")
    parser.add_argument(
        "--annotations", choices=ANNOTATION_FILES, default="gt.json", help="file in that folder"
    )
    parser.add_argument("--subset", choices=["test", "train"], default="test", help="of the videos")
    parser.add_argument("--video-root", type=Path, required=True, help="folder of the videos")
    parser.add_argument("--out", type=Path, required=True, help="JSONL to write")
    parser.add_argument(
        "--decode-timeout-seconds",
        type=float,
        default=DECODE_TIMEOUT_SECONDS,
        help="for one video; 0 decodes in this process, without a limit",
    )
    options = parser.parse_args(argv)
    return run_command(PROG, lambda: _make(options))
