"""Everything that is random about one clip, decided before anything is drawn.

A plan depends on (seed, split, index) and on nothing else: not on the clips before it, not on how
often the command was interrupted. The generator is seeded with a string that names all three, so
no clip of one split repeats in another.

Example:
    >>> plan = plan_clip(seed=0, split="train", index=12)
    >>> plan.id, plan.num_frames == sum(scene.num_frames for scene in plan.scenes)
    ('train/00012', True)
"""

import random
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from affect.timeline import Segment, Timeline
from data_prep.rendered.grammar import SCENES, Color, Scene, emotion_of, scene_weights
from data_prep.rendered.reasons import NUM_WORDINGS, write_reason

Key = TypeVar("Key")

SPLITS = ("train", "dev", "test")

FRAME_RATE = 10  # frames per second: a frame lasts .1 s, the grid on which targets are written
# Changes and ends fall on half seconds: at the 2 frames per second that the demo samples, nothing
# finer can be seen, and a label must not hold what the picture does not.
BEAT_FRAMES = 5
MIN_CLIP_FRAMES, MAX_CLIP_FRAMES = 40, 80
# 4 segments of this length fit the shortest clip, so the duration (which the prompt names) says
# nothing about the number of segments.
MIN_SCENE_FRAMES = 10
SEGMENT_COUNT_WEIGHTS = {1: 15, 2: 35, 3: 35, 4: 15}
SOFT_CHANGE_SHARE = 0.35
DISTRACTOR_SHARE = 0.6


_VIDEO = re.compile(rf"videos/({'|'.join(SPLITS)})/([0-9]{{5,}})\.mp4")


@dataclass(frozen=True, slots=True)
class ScenePlan:
    """One segment: what is drawn, for how long, and what the ground truth says of it."""

    scene: Scene
    emotion: str
    reason: str
    shape: str
    num_frames: int
    soft_start: bool  # cross-faded from the scene before instead of cut
    period_seconds: float
    phase: float  # of the motion, 0 to 1
    heading: int  # -1 or 1
    radius_pixels: float
    tint: Color  # added to both colours, each channel -14 to 14
    motion_seed: int


@dataclass(frozen=True, slots=True)
class Distractor:
    """A small shape that crosses the whole clip and means nothing."""

    shape: str
    color: Color
    start: tuple[float, float]  # x, y as fractions of the picture
    velocity: tuple[float, float]  # fractions of the picture per second


@dataclass(frozen=True, slots=True)
class ClipPlan:
    """One clip: its scenes in order and what lies over all of them."""

    split: str
    index: int
    scenes: tuple[ScenePlan, ...]
    brightness: float
    distractor: Distractor | None
    noise_seed: int

    @property
    def id(self) -> str:
        return clip_id(self.split, self.index)

    @property
    def video(self) -> str:
        """Path of the clip under the world's folder, with forward slashes."""
        return f"videos/{self.id}.mp4"

    @property
    def num_frames(self) -> int:
        return sum(scene.num_frames for scene in self.scenes)

    @property
    def duration_seconds(self) -> float:
        return self.num_frames / FRAME_RATE

    @property
    def first_frames(self) -> tuple[int, ...]:
        """Index of each scene's first frame, and of the frame after the last."""
        firsts = [0]
        for scene in self.scenes:
            firsts.append(firsts[-1] + scene.num_frames)
        return tuple(firsts)

    def timeline(self) -> Timeline:
        """The ground truth, exactly on frame boundaries."""
        firsts = self.first_frames
        segments = tuple(
            Segment(first / FRAME_RATE, end / FRAME_RATE, scene.emotion, scene.reason)
            for scene, first, end in zip(self.scenes, firsts, firsts[1:], strict=False)
        )
        return Timeline(segments, self.duration_seconds)


def plan_clip(seed: int, split: str, index: int) -> ClipPlan:
    """The plan of clip number `index` of a split.

    Raises ValueError for an unknown split or a negative index.
    """
    if split not in SPLITS:
        raise ValueError(f"split {split!r} is not one of {', '.join(SPLITS)}")
    if index < 0:
        raise ValueError(f"clip index {index} is negative; clips are counted from 0")
    rng = random.Random(f"rendered world, seed {seed}, {split}, clip {index}")
    num_frames = BEAT_FRAMES * rng.randint(
        MIN_CLIP_FRAMES // BEAT_FRAMES, MAX_CLIP_FRAMES // BEAT_FRAMES
    )
    num_scenes = _choose(rng, SEGMENT_COUNT_WEIGHTS)
    scenes = _plan_scenes(rng, _scene_lengths(rng, num_frames, num_scenes))
    return ClipPlan(
        split=split,
        index=index,
        scenes=scenes,
        brightness=rng.uniform(0.85, 1.08),
        distractor=_plan_distractor(rng) if rng.random() < DISTRACTOR_SHARE else None,
        noise_seed=rng.getrandbits(32),
    )


def clip_id(split: str, index: int) -> str:
    """`train/00012`: the id of a clip and of its rows."""
    return f"{split}/{index:05d}"


def named_clip(video: str) -> tuple[str, int] | None:
    """Split and index of the clip at a path under the world's folder; None for any other file.

    >>> named_clip("videos/train/00012.mp4")
    ('train', 12)
    """
    match = _VIDEO.fullmatch(video)
    if match is None or f"{int(match[2]):05d}" != match[2]:
        return None
    return match[1], int(match[2])


def _scene_lengths(rng: random.Random, num_frames: int, num_scenes: int) -> list[int]:
    """Splits the clip at uniform beats, each part at least MIN_SCENE_FRAMES."""
    spare_beats = (num_frames - num_scenes * MIN_SCENE_FRAMES) // BEAT_FRAMES
    cuts = sorted(rng.randint(0, spare_beats) for _ in range(num_scenes - 1))
    edges = [0, *cuts, spare_beats]
    return [MIN_SCENE_FRAMES + BEAT_FRAMES * (end - start) for start, end in pairwise(edges)]


def _plan_scenes(rng: random.Random, lengths: list[int]) -> tuple[ScenePlan, ...]:
    scenes: list[ScenePlan] = []
    used_wordings: set[tuple[str, int]] = set()
    scene: Scene | None = None
    emotion: str | None = None
    for position, num_frames in enumerate(lengths):
        scene = SCENES[_choose(rng, scene_weights(scene, emotion))]
        emotion = emotion_of(scene, emotion)
        shape = rng.choice(scene.shapes)
        wording = rng.choice(
            [number for number in range(NUM_WORDINGS) if (emotion, number) not in used_wordings]
        )
        used_wordings.add((emotion, wording))
        scenes.append(
            ScenePlan(
                scene=scene,
                emotion=emotion,
                reason=write_reason(emotion, shape, wording),
                shape=shape,
                num_frames=num_frames,
                soft_start=position > 0 and rng.random() < SOFT_CHANGE_SHARE,
                period_seconds=rng.uniform(0.9, 1.15),
                phase=rng.random(),
                heading=rng.choice((-1, 1)),
                radius_pixels=rng.uniform(11.0, 14.0),
                tint=(rng.randint(-14, 14), rng.randint(-14, 14), rng.randint(-14, 14)),
                motion_seed=rng.getrandbits(32),
            )
        )
    return tuple(scenes)


def _plan_distractor(rng: random.Random) -> Distractor:
    return Distractor(
        shape=rng.choice(("disc", "square", "triangle")),
        color=(rng.randint(0, 255), rng.randint(0, 255), rng.randint(0, 255)),
        start=(rng.random(), rng.random()),
        velocity=(rng.uniform(-0.35, 0.35), rng.uniform(-0.35, 0.35)),
    )


def _choose(rng: random.Random, weights: dict[Key, int]) -> Key:
    return rng.choices(list(weights), weights=list(weights.values()))[0]
