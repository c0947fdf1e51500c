"""Draws a plan: uint8 frames of 56 x 56 pixels, the size a 28-pixel vision grid takes unresized.

Motions are fast and large against the half second between two sampled frames: a bounce crosses half
the picture, a shake lands somewhere else in every frame, a growing shape goes from a dot to most of
the picture in about two seconds. A soft change blends the two scenes over .3 s whose middle is the
boundary. Over everything lie one brightness per clip with a flicker, one distractor in some clips,
and pixel noise.

Example:
    >>> from data_prep.rendered.plan import plan_clip
    >>> draw_frames(plan_clip(seed=0, split="train", index=12)).shape
    (55, 56, 56, 3)
"""

import math

import numpy as np
from numpy.typing import NDArray

from data_prep.rendered.grammar import PALETTES
from data_prep.rendered.plan import FRAME_RATE, ClipPlan, Distractor, ScenePlan

SIDE_PIXELS = 56
CROSS_FADE_SECONDS = 0.3
PIXEL_NOISE = 7.0  # standard deviation, of 255
FLICKER = 0.02  # standard deviation of a frame's brightness, as a factor
DISTRACTOR_RADIUS_PIXELS = 4.0

Floats = NDArray[np.float64]

# Pixel centres; y grows downwards.
_Y, _X = np.mgrid[0:SIDE_PIXELS, 0:SIDE_PIXELS] + 0.5


def draw_frames(plan: ClipPlan) -> NDArray[np.uint8]:
    """All frames of a clip: (num_frames, 56, 56, 3), red green blue."""
    noise = np.random.default_rng(plan.noise_seed)
    frames = np.empty((plan.num_frames, SIDE_PIXELS, SIDE_PIXELS, 3), dtype=np.uint8)
    firsts = plan.first_frames
    position = 0
    for frame_index in range(plan.num_frames):
        if frame_index == firsts[position + 1]:
            position += 1
        picture = _scenes_at(plan, position, frame_index)
        if plan.distractor is not None:
            _draw_distractor(picture, plan.distractor, frame_index / FRAME_RATE)
        picture *= plan.brightness * (1.0 + FLICKER * noise.standard_normal())
        picture += PIXEL_NOISE * noise.standard_normal(picture.shape)
        frames[frame_index] = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    return frames


def _scenes_at(plan: ClipPlan, position: int, frame_index: int) -> Floats:
    """The scene on screen, blended with its neighbour while a soft change lasts."""
    firsts = plan.first_frames
    picture = draw_scene(plan.scenes[position], frame_index - firsts[position])
    for other, boundary in ((position - 1, position), (position + 1, position + 1)):
        if not 0 <= other < len(plan.scenes) or not plan.scenes[boundary].soft_start:
            continue
        # A frame stands for the middle of its tenth of a second, so the blend is symmetric about
        # the boundary: 0, 1/3, 2/3, 1 of the new scene.
        past_boundary_seconds = (frame_index + 0.5 - firsts[boundary]) / FRAME_RATE
        share_of_new = float(np.clip(0.5 + past_boundary_seconds / CROSS_FADE_SECONDS, 0.0, 1.0))
        share_of_other = 1.0 - share_of_new if other < position else share_of_new
        if share_of_other > 0.0:
            neighbour = draw_scene(plan.scenes[other], frame_index - firsts[other])
            picture = (1.0 - share_of_other) * picture + share_of_other * neighbour
    return picture


def draw_scene(scene: ScenePlan, frame_in_scene: int) -> Floats:
    """One clean frame of a scene, (56, 56, 3), 0 to 255 and somewhat beyond.

    `frame_in_scene` may lie a little outside the scene: a cross-fade shows it early or late.
    """
    palette = PALETTES[scene.scene.palette]
    x, y, radius, strength = place_shape(scene, frame_in_scene)
    tint = np.array(scene.tint, dtype=np.float64)
    background = np.array(palette.background, dtype=np.float64) + tint
    color = np.array(palette.shape, dtype=np.float64) + tint
    coverage = strength * _coverage(scene.shape, x, y, radius)
    return background + coverage[..., None] * (color - background)


def place_shape(scene: ScenePlan, frame_in_scene: int) -> tuple[float, float, float, float]:
    """Where the motion puts the shape: centre x and y, radius (pixels), strength (0 to 1)."""
    elapsed = frame_in_scene / FRAME_RATE / scene.period_seconds
    turn = elapsed + scene.phase
    middle, radius = SIDE_PIXELS / 2, scene.radius_pixels
    match scene.scene.motion:
        case "bounce":
            height = abs(math.sin(math.pi * turn))  # 0 on the ground, 1 at the top
            return middle + 6 * scene.heading, SIDE_PIXELS - radius - 30 * height, radius, 1.0
        case "burst":
            return middle, middle, 5.0 if turn % 1.0 < 0.5 else 2.1 * radius, 1.0
        case "drift":
            # To one side and back, five periods a round: about 14 pixels per second.
            sweep = 4 * abs((turn / 5) % 1.0 - 0.5) - 1  # -1 to 1 to -1
            return middle + 17 * scene.heading * sweep, middle - 5, radius, 1.0
        case "sink":
            fallen = max(elapsed, 0.0) / 1.6 % 1.0
            return middle, 8 + 44 * fallen, radius * (1 - 0.5 * fallen), 1 - 0.5 * fallen
        case "grow":
            # From a dot to most of the picture in two periods, then again: slow enough that four
            # frames a second, or two, see it grow instead of flicker.
            return middle, middle, 4 + 24 * (max(elapsed, 0.0) / 2 % 1.0), 1.0
        case "shake":
            jump = np.random.default_rng((scene.motion_seed, frame_in_scene + 10))
            dx, dy = jump.uniform(-17, 17, size=2)
            return middle + dx, middle + dy, radius, 1.0
        case "still":
            return middle, middle, radius, 1.0
    raise AssertionError(f"no drawing for motion {scene.scene.motion!r}")


def _draw_distractor(picture: Floats, distractor: Distractor, seconds: float) -> None:
    """Draws the small shape over `picture` in place; it comes in again where it leaves."""
    x, y = (
        ((start + speed * seconds) % 1.0) * SIDE_PIXELS
        for start, speed in zip(distractor.start, distractor.velocity, strict=True)
    )
    coverage = _coverage(distractor.shape, x, y, DISTRACTOR_RADIUS_PIXELS)[..., None]
    picture += coverage * (np.array(distractor.color, dtype=np.float64) - picture)


def _coverage(shape: str, x: float, y: float, radius: float) -> Floats:
    """How much of each pixel a shape covers, 0 to 1, with an edge one pixel soft."""
    dx, dy = _X - x, _Y - y
    match shape:
        case "disc":
            beyond = np.hypot(dx, dy) - radius
        case "square":
            beyond = np.maximum(np.abs(dx), np.abs(dy)) - 0.9 * radius
        case "triangle":
            sides = (0.866 * np.abs(dx) - 0.5 * dy) - 0.6 * radius
            beyond = np.maximum(sides, dy - 0.8 * radius)
        case "star":
            # 1 on the five points, 0 between them, falling in a straight line in the angle.
            points = np.abs((np.arctan2(dx, -dy) * 5 / math.pi) % 2.0 - 1.0)
            beyond = np.hypot(dx, dy) - 1.25 * radius * (0.45 + 0.55 * points**2)
        case _:
            raise AssertionError(f"no drawing for shape {shape!r}")
    result: Floats = np.clip(0.5 - beyond, 0.0, 1.0)
    return result
