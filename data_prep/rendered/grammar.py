"""The visual grammar: which emotion a drawn scene has, given the emotion before it.

A scene is a palette and a motion. Every palette belongs to at least two emotions and two motions
are shared between palettes, so neither a frame's colour nor the motion alone gives the label. Two
scenes mean one thing after one kind of scene and another after all others:

    blue drift   Relief after a threat (Fear, Anger), else Calmness
    warm burst   Satisfaction after a question (Interest, Confusion), else Surprise

Example:
    >>> emotion_of(SCENES["blue drift"], before="Fear")
    'Relief'
    >>> emotion_of(SCENES["blue drift"], before="Joy")
    'Calmness'
"""

from dataclasses import dataclass

Color = tuple[int, int, int]  # red, green, blue, each 0 to 255


@dataclass(frozen=True, slots=True)
class Palette:
    """The two colours of a scene and the words that reasons use for them."""

    name: str
    background: Color
    shape: Color


PALETTES = {
    palette.name: palette
    for palette in (
        Palette("warm", background=(248, 212, 118), shape=(226, 92, 20)),
        Palette("blue", background=(158, 206, 242), shape=(26, 66, 178)),
        Palette("dark", background=(26, 18, 26), shape=(218, 34, 40)),
        Palette("grey", background=(120, 120, 120), shape=(236, 236, 236)),
    )
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A palette and a motion, the shapes it is drawn with, and what it means.

    `emotion` is the meaning unless the emotion before is in `turned_by`; then it is `turned_to`.
    """

    palette: str
    motion: str
    shapes: tuple[str, ...]
    emotion: str
    turned_by: frozenset[str] = frozenset()
    turned_to: str = ""

    @property
    def name(self) -> str:
        return f"{self.palette} {self.motion}"

    @property
    def emotions(self) -> tuple[str, ...]:
        """All that this scene can mean."""
        return (self.emotion, self.turned_to) if self.turned_to else (self.emotion,)


THREATS = frozenset({"Fear", "Anger"})
QUESTIONS = frozenset({"Interest", "Confusion"})

SCENES = {
    scene.name: scene
    for scene in (
        Scene("warm", "bounce", ("disc", "star"), "Joy"),
        Scene("warm", "burst", ("disc", "star"), "Surprise", QUESTIONS, "Satisfaction"),
        Scene("blue", "drift", ("disc", "square"), "Calmness", THREATS, "Relief"),
        Scene("blue", "sink", ("disc", "triangle"), "Sadness"),
        Scene("dark", "grow", ("disc", "triangle"), "Fear"),
        Scene("dark", "shake", ("square", "triangle"), "Anger"),
        Scene("grey", "still", ("disc", "square"), "Boredom"),
        Scene("grey", "shake", ("square", "triangle"), "Confusion"),
        Scene("grey", "grow", ("disc", "square"), "Interest"),
    )
}

EMOTIONS = tuple(sorted({emotion for scene in SCENES.values() for emotion in scene.emotions}))

# How often a scene opens a clip, relative to the others.
OPENING_WEIGHTS = {
    "warm bounce": 3,
    "warm burst": 4,
    "blue drift": 4,
    "blue sink": 2,
    "dark grow": 3,
    "dark shake": 3,
    "grey still": 3,
    "grey shake": 4,
    "grey grow": 4,
}

# What follows an emotion, relative to a weight of 1 for every other scene. A threat tends to end
# in the calm that turns it to Relief, a question in the burst that answers it: the two turned
# meanings need the right scene before them and would otherwise be rare.
FOLLOWING_WEIGHTS = {
    "Joy": {"blue sink": 3, "dark grow": 2, "grey still": 2},
    "Surprise": {"warm bounce": 2, "dark grow": 3, "grey shake": 2},
    "Satisfaction": {"warm bounce": 2, "blue sink": 2, "grey still": 2},
    "Calmness": {"dark grow": 3, "grey grow": 2, "dark shake": 2},
    "Relief": {"warm bounce": 3, "grey still": 2, "grey grow": 2},
    "Sadness": {"dark shake": 3, "grey grow": 2, "warm burst": 2},
    "Fear": {"blue drift": 7},
    "Anger": {"blue drift": 7, "blue sink": 2},
    "Boredom": {"grey grow": 2, "grey shake": 2, "warm burst": 2, "dark shake": 2},
    "Confusion": {"warm burst": 9, "dark shake": 2},
    "Interest": {"warm burst": 9, "dark grow": 2},
}


def emotion_of(scene: Scene, before: str | None) -> str:
    """The emotion of a scene that follows a segment of emotion `before` (None: it opens)."""
    return scene.turned_to if before in scene.turned_by else scene.emotion


def scene_weights(last_scene: Scene | None, before: str | None) -> dict[str, int]:
    """Relative frequency of each scene that may come next, by scene name.

    The scene just shown and every scene that would repeat the emotion `before` are left out, so
    neighbouring segments always differ in picture and in label.
    """
    weights = OPENING_WEIGHTS if before is None else FOLLOWING_WEIGHTS[before]
    return {
        name: weights.get(name, 1)
        for name, scene in SCENES.items()
        if scene is not last_scene and emotion_of(scene, before) != before
    }
