"""What it costs to decode in a worker process: clips a second with and without the guard.

    python -m speed.decode_guard --json
    {"small": {"plain_per_s": 210.4, "guarded_per_s": 201.3, "added_ms": 0.2}, "large": {...}}

*Small* clips are 8 s of 56 x 56 pixels as in the rendered world, *large* ones 5 s of 640 x 360
under the default budget. Both ways decode the same files, in turn. Each figure is wall time of the
fastest round, which what else the machine does disturbs least; the worker was started before.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from affect.video import FrameBudget, GuardedReader, SampledVideo, sample_video
from data_prep.rendered.encoding import write_clip

NUM_CLIPS = 3
SMALL_BUDGET = FrameBudget(fps=4.0, max_frames=32, min_pixels=3136, max_pixels=3136)

Sample = Callable[[Path, FrameBudget], SampledVideo]


@dataclass(frozen=True, slots=True)
class Cost:
    """Clips per second without and with the guard, and the milliseconds that it adds to a clip."""

    plain_per_s: float
    guarded_per_s: float
    added_ms: float


def measure(paths: Sequence[Path], budget: FrameBudget, num_rounds: int) -> Cost:
    """Decode all files both ways, `num_rounds` times each.

    Raises AssertionError where the two ways do not give the same frames.
    """
    with GuardedReader(60.0) as reader:
        for path in paths:
            guarded, plain = reader.sample(path, budget), sample_video(path, budget)
            assert np.array_equal(guarded.frames, plain.frames), path
        plain_seconds, guarded_seconds = [], []
        for _ in range(num_rounds):
            plain_seconds.append(_seconds(sample_video, paths, budget))
            guarded_seconds.append(_seconds(reader.sample, paths, budget))
    plain_clip = min(plain_seconds) / len(paths)
    guarded_clip = min(guarded_seconds) / len(paths)
    return Cost(
        plain_per_s=round(1 / plain_clip, 1),
        guarded_per_s=round(1 / guarded_clip, 1),
        added_ms=round(1000 * (guarded_clip - plain_clip), 2),
    )


def _seconds(sample: Sample, paths: Sequence[Path], budget: FrameBudget) -> float:
    begin = time.perf_counter()
    for path in paths:
        sample(path, budget)
    return time.perf_counter() - begin


def draw(folder: Path, num_frames: int, height: int, width: int, frame_rate: int) -> list[Path]:
    """Clips of blocks that wander, a little differently in each."""
    paths = []
    for number in range(NUM_CLIPS):
        chance = np.random.default_rng(number)
        blocks = chance.integers(0, 256, (height // 4, width // 4, 3), dtype=np.uint8)
        picture = blocks.repeat(4, axis=0).repeat(4, axis=1)
        frames = np.stack([np.roll(picture, 2 * index, axis=1) for index in range(num_frames)])
        path = folder / f"{width}x{height}_{number}.mp4"
        write_clip(path, frames, frame_rate)
        paths.append(path)
    return paths


def main(argv: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m speed.decode_guard",
        description="Clips decoded per second, in this process and in a guarded worker.",
    )
    parser.add_argument("--rounds", type=int, default=15, help="of each way (default: 15)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the lines")
    options = parser.parse_args(argv)
    if options.rounds < 1:
        parser.error(f"--rounds must be 1 or more, not {options.rounds}")
    with tempfile.TemporaryDirectory() as name:
        small = draw(Path(name), num_frames=80, height=56, width=56, frame_rate=10)
        large = draw(Path(name), num_frames=125, height=360, width=640, frame_rate=25)
        costs = {
            "small": measure(small, SMALL_BUDGET, options.rounds),
            "large": measure(large, FrameBudget(), options.rounds),
        }
    if options.json:
        costs_json = {kind: asdict(cost) for kind, cost in costs.items()}
        sys.stdout.write(json.dumps(costs_json) + "\n")
        return 0
    for kind, cost in costs.items():
        sys.stdout.write(
            f"{kind}: {cost.plain_per_s} clips/s in this process, {cost.guarded_per_s} guarded: "
            f"{cost.added_ms} ms more a clip\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
