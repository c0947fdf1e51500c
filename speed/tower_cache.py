"""What the tower cache saves: decoding, patches and tower against reading features from disk.

    python -m speed.tower_cache --json
    {"rendered": {"patches": 128, "decode_s": 0.0068, "patches_s": 0.0019, "tower_s": 0.0099,
                  "first_look_s": 7.9e-05, "read_s": 0.0013, "write_s": 0.0009, "bytes": 98648,
                  "ratio": 14.7},
     "large": {...}, "bytes_of_3b": {"10 frames of 168x308": 3379200, ...}}

*Rendered* are clips of the drawn world under the demo's budget and for the demo's tower; *large*
has 24 frames of 224 x 224 and a tower of 4 blocks, 256 wide. All are CPU seconds per clip, the
median over clips; a first round is not counted. `ratio` is what a later epoch pays without the
cache (and without frames in memory) over what it pays with it; `first_look_s` is the hash of the
file, once per run. `bytes_of_3b` are the sizes of Qwen2.5-VL-3B's features (1,280 wide, bf16).
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from affect.model.inputs import encode_prompt, segment_messages
from affect.model.policy import install_policy, tower_features
from affect.model.tiny import tiny_model, tiny_processor
from affect.model.tower_cache import StoredClip, TowerCache
from affect.video import FrameBudget, sample_video
from data_prep.rendered.encoding import write_clip
from data_prep.rendered.world import render_world

NUM_CLIPS = 6
DEMO_BUDGET = FrameBudget(fps=4.0, max_frames=32, min_pixels=3136, max_pixels=3136)
LARGE_BUDGET = FrameBudget(max_frames=24, min_pixels=224 * 224, max_pixels=224 * 224)
WIDTH_OF_3B, BYTES_OF_BF16 = 1280, 2

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds per clip of each part, and the size of its file."""

    patches: int
    decode_s: float
    patches_s: float
    tower_s: float
    first_look_s: float
    read_s: float
    write_s: float
    bytes: int
    ratio: float


@dataclass
class _Clock:
    """CPU seconds by part, one value per clip."""

    seconds: dict[str, list[float]] = field(default_factory=dict)

    def time(self, part: str, work: Callable[[], T]) -> T:
        begin = time.process_time()
        result = work()
        self.seconds.setdefault(part, []).append(time.process_time() - begin)
        return result

    def median(self, part: str) -> float:
        return statistics.median(self.seconds[part])


def measure(
    paths: Sequence[Path], budget: FrameBudget, model: Any, processor: Any, folder: Path
) -> Cost:
    """Both ways on all files.

    Raises AssertionError where they do not give the same features.
    """
    size = num_patches = 0
    for round_number in range(2):
        clock = _Clock()
        cache = TowerCache(folder / f"cache_{round_number}", 2**32, "speed")
        for path in paths:
            size, num_patches = _measure_clip(clock, path, budget, model, processor, cache)
    made = sum(clock.median(part) for part in ("decode", "patches", "tower"))
    return Cost(
        patches=num_patches,
        decode_s=_rounded(clock.median("decode")),
        patches_s=_rounded(clock.median("patches")),
        tower_s=_rounded(clock.median("tower")),
        first_look_s=_rounded(clock.median("first look")),
        read_s=_rounded(clock.median("read")),
        write_s=_rounded(clock.median("write")),
        bytes=size,
        ratio=round(made / clock.median("read"), 1),
    )


def _measure_clip(
    clock: _Clock, path: Path, budget: FrameBudget, model: Any, processor: Any, cache: TowerCache
) -> tuple[int, int]:
    """Bytes of the clip's file in the cache, and its patches."""
    messages = segment_messages(10.0)
    key = clock.time("first look", lambda: cache.key(path))
    clip = clock.time("decode", lambda: sample_video(path, budget))
    prompt = clock.time("patches", lambda: encode_prompt(processor, messages, [clip]))
    pixels, grids = prompt.pixel_values_videos, prompt.video_grid_thw
    assert pixels is not None
    features = clock.time("tower", lambda: tower_features(model, pixels, grids))
    num_t, num_h, num_w = grids[0].tolist()
    stored = StoredClip(
        features, (num_t, num_h, num_w), clip.second_per_grid_seconds, clip.duration_seconds
    )
    clock.time("write", lambda: cache.put(path, key, stored))

    def read() -> Any:
        found = cache.get(path)
        assert found is not None
        return encode_prompt(processor, messages, [found])

    again = clock.time("read", read)
    assert again.input_ids.equal(prompt.input_ids)
    assert again.pixel_values_videos.equal(features)
    return (cache.folder / f"{key}.safetensors").stat().st_size, len(features)


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.2g}")


def bytes_of_3b() -> dict[str, int]:
    """Bytes of one clip's features before Qwen2.5-VL-3B's merger, by the frames it shows."""
    shown = {"10 frames of 168x308": (10, 168, 308), "24 frames of 224x224": (24, 224, 224)}
    shown["30 frames of 448x448"] = (30, 448, 448)
    budget = FrameBudget()
    return {
        name: budget.num_grids(frames)
        * (height // budget.patch_size)
        * (width // budget.patch_size)
        * WIDTH_OF_3B
        * BYTES_OF_BF16
        for name, (frames, height, width) in shown.items()
    }


def _large_clips(folder: Path) -> list[Path]:
    """12 s of 320 x 320 pixels of blocks that wander."""
    paths = []
    for number in range(NUM_CLIPS):
        chance = np.random.default_rng(number)
        blocks = chance.integers(0, 256, (40, 40, 3), dtype=np.uint8)
        picture = blocks.repeat(8, axis=0).repeat(8, axis=1)
        frames = np.stack([np.roll(picture, 2 * index, axis=1) for index in range(300)])
        paths.append(folder / f"large_{number}.mp4")
        write_clip(paths[-1], frames, 25)
    return paths


def _costs(folder: Path) -> dict[str, Cost]:
    render_world(folder / "world", {"train": NUM_CLIPS, "dev": 0, "test": 0}, seed=0)
    rendered = sorted((folder / "world").rglob("*.mp4"))
    processor = tiny_processor(["Describe the viewer's emotion in this silent video."] * 4, 512)
    demo = install_policy(tiny_model(processor)).eval()
    wide = install_policy(tiny_model(processor, num_layers=1, tower_size=256, tower_depth=4)).eval()
    return {
        "rendered": measure(rendered, DEMO_BUDGET, demo, processor, folder / "rendered"),
        "large": measure(_large_clips(folder), LARGE_BUDGET, wide, processor, folder / "large"),
    }


def main(argv: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m speed.tower_cache",
        description="Decode and tower against reading a clip's features from disk.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the lines")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        costs = _costs(Path(name))
    if options.json:
        report = {kind: asdict(cost) for kind, cost in costs.items()}
        sys.stdout.write(json.dumps({**report, "bytes_of_3b": bytes_of_3b()}) + "\n")
        return 0
    for kind, cost in costs.items():
        sys.stdout.write(
            f"{kind}: {cost.patches} patches; decode {cost.decode_s} s, patches "
            f"{cost.patches_s} s, tower {cost.tower_s} s; read {cost.read_s} s ({cost.ratio} "
            f"times less), write {cost.write_s} s, hash {cost.first_look_s} s; "
            f"{cost.bytes / 2**20:.2f} MiB\n"
        )
    for shown, size in bytes_of_3b().items():
        sys.stdout.write(f"Qwen2.5-VL-3B, {shown}: {size / 2**20:.1f} MiB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
