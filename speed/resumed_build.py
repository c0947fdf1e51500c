"""What starting a finished build again costs: a real build of drawn clips, and its second start.

    measure_resume(folder, num_videos=2000)
    {"resume_seconds": 2.1, "first_run_seconds": 80.4, "num_videos": 2000}

The second start is a process of its own, from its first instruction to its exit: it lists the
files, looks each video's outcome up, and finds the export to be what it would write again.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from data_prep.rendered.encoding import write_clip

FRAME_RATE, NUM_FRAMES, SIDE_PIXELS = 10, 12, 32


def measure_resume(folder: Path, num_videos: int) -> dict[str, Any]:
    """Wall seconds. Raises RuntimeError where a build fails, AssertionError where the second start
    did anything again."""
    for number in range(num_videos):
        _draw(folder / "videos" / f"{number:05d}.mp4", number)
    config = {
        "out": str(folder / "build"),
        "annotator": "offline",
        "videos": {"root": str(folder / "videos"), "source": "drawn"},
        "export": {"with_videos": False},
    }
    (folder / "build.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    first_seconds, _ = _run(folder / "build.yaml")
    resume_seconds, printed = _run(folder / "build.yaml")
    assert f"{num_videos} videos, {num_videos} came out ({num_videos} known before)" in printed
    return {
        "resume_seconds": round(resume_seconds, 2),
        "first_run_seconds": round(first_seconds, 2),
        "num_videos": num_videos,
    }


def _draw(path: Path, number: int) -> None:
    """A square on a colour of its own, moving, then on another colour: no two clips are equal."""
    chance = np.random.default_rng(number)
    frames = np.empty((NUM_FRAMES, SIDE_PIXELS, SIDE_PIXELS, 3), np.uint8)
    for half in (0, 1):
        begin, end = half * NUM_FRAMES // 2, (half + 1) * NUM_FRAMES // 2
        frames[begin:end] = chance.integers(0, 256, 3)
        colour, step = chance.integers(0, 256, 3), chance.integers(1, 4)
        for frame in range(begin, end):
            left = int(frame * step) % (SIDE_PIXELS - 12)
            frames[frame, left : left + 12, 4:16] = colour
    write_clip(path, frames, FRAME_RATE)


def _run(config: Path) -> tuple[float, str]:
    command = [sys.executable, "-m", "cli.main", "build", "run", "--config", str(config)]
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begun
    if done.returncode:
        raise RuntimeError(f"the build ended with {done.returncode}: {done.stderr[-2000:]}")
    return seconds, done.stdout
