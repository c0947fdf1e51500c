"""The data builder's three savings: one decode for all, requests overlapped, nothing done twice.

    python -m speed.data_prep --json --quick
    {"picture_cpu_ratio": 2.9, "decode_passes": 1, "overlap_ratio": 13.1, "resume_seconds": 2.1}

picture_cpu_ratio: CPU seconds of a decode per purpose over those of one decode, on a clip of
1280x720 (`speed.picture_pass`). overlap_ratio: requests a second on 16 connections over one at a
time (`speed.overlapped_requests`). resume_seconds: a finished build of 2,000 videos started again
(`speed.resumed_build`). Further keys hold the seconds and counts behind them.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from speed.drawn_clip import describe_drawn_clip, draw_clip
from speed.overlapped_requests import compare_requests
from speed.picture_pass import compare_picture_passes
from speed.resumed_build import measure_resume

NUM_VIDEOS = 2000


def main(argv: list[str] | None = None) -> int:
    """The command; its exit status: 1 where one decode and several find different things."""
    parser = argparse.ArgumentParser(
        prog="python -m speed.data_prep",
        description="The data builder: one decode against several, requests overlapped against one "
        "at a time, a finished build started again.",
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and requests")
    parser.add_argument("--clip", type=Path, help="by default one is drawn at 1280x720")
    parser.add_argument(
        "--num-videos", type=int, default=NUM_VIDEOS, help=f"to resume (default {NUM_VIDEOS})"
    )
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        found = _measure(Path(name), options.clip, options.quick, options.num_videos)
    if options.json:
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        sys.stdout.writelines(f"{key}: {value}\n" for key, value in found.items())
    return 0 if found["results_equal"] else 1


def _measure(folder: Path, clip: Path | None, is_quick: bool, num_videos: int) -> dict[str, Any]:
    shown = str(clip) if clip else describe_drawn_clip()
    picture = compare_picture_passes(
        clip or draw_clip(folder / "drawn.mp4"), num_rounds=2 if is_quick else 5
    )
    requests = compare_requests(folder / "requests", *((40, 320) if is_quick else (100, 1600)))
    return {"clip": shown, **picture, **requests, **measure_resume(folder / "resume", num_videos)}


if __name__ == "__main__":
    sys.exit(main())
