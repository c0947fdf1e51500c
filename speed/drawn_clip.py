"""A clip at 1280x720 with what costs decoders their time: texture, a pan, things that move, a cut.

draw_clip(Path("/tmp/drawn.mp4"))     # 75 frames at 25 a second, the same on every machine
"""

from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from data_prep.rendered.encoding import write_clip

WIDTH, HEIGHT = 1280, 720
NUM_FRAMES = 75
FRAME_RATE = 25
_CUT_FRAME = 40
_MARGIN = 256
_NUM_DISCS = 12


def describe_drawn_clip() -> str:
    return f"drawn, {WIDTH}x{HEIGHT}, {NUM_FRAMES} frames"


def draw_clip(path: Path) -> Path:
    """Two scenes of drifting texture under moving discs, the second from `_CUT_FRAME` on."""
    random = np.random.default_rng(0)
    frames = np.empty((NUM_FRAMES, HEIGHT, WIDTH, 3), np.uint8)
    for scene in (range(_CUT_FRAME), range(_CUT_FRAME, NUM_FRAMES)):
        ground = _ground(random)
        starts = random.uniform(0, (WIDTH, HEIGHT), (_NUM_DISCS, 2))
        steps = random.uniform(-8, 8, (_NUM_DISCS, 2))
        colours = random.integers(0, 256, (_NUM_DISCS, 3))
        for age, frame in enumerate(scene):
            left, top = 4 * age, age
            picture = ground[top : top + HEIGHT, left : left + WIDTH].copy()
            for start, step, colour in zip(starts, steps, colours, strict=True):
                x, y = (start + age * step).astype(int).tolist()
                cv2.circle(picture, (x, y), 60, colour.tolist(), thickness=-1)
            frames[frame] = picture
    write_clip(path, frames, FRAME_RATE)
    return path


def _ground(random: np.random.Generator) -> NDArray[np.uint8]:
    """Cloudy colours with finer grain, wider than the picture so that it can be panned over."""
    size = WIDTH + _MARGIN, HEIGHT + _MARGIN
    layers = [
        strength * random.uniform(-1, 1, (size[1] // scale, size[0] // scale, 3))
        for scale, strength in ((128, 70), (16, 30), (4, 12))
    ]
    ground = np.full((size[1], size[0], 3), 128.0)
    for layer in layers:
        ground += cv2.resize(layer, size, interpolation=cv2.INTER_CUBIC)
    levels: NDArray[np.uint8] = np.clip(ground, 0, 255).astype(np.uint8)
    return levels
