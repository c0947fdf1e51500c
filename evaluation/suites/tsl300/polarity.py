"""Which of DAR's 27 emotions are positive, which negative, and what becomes of the open ones.

    polarities(open_policy("background"))["Joy"]          # frozenset({'positive'})
    polarities(open_policy("both"))["Surprise"]           # frozenset({'positive', 'negative'})

TSL-300 marks stretches as positive or negative and leaves the rest unlabelled; neither it nor the
paper says what the 27 map to. The table below is this project's. An emotion is *open* where the
feeling itself does not decide: one is surprised by a gift and by a blow. Open ones are by default
background, because to enter them as either would be to guess, and the guess would be scored as if
the model had said it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from affect.config.strict_yaml import read_yaml_mapping
from affect.taxonomy import DAR_EMOTIONS, canonical_dar_emotion
from evaluation.suites.tsl300.labels import Polarity

Side = Literal["positive", "negative", "open"]
OpenChoice = Literal["background", "positive", "negative", "both"]
OPEN_CHOICES: tuple[OpenChoice, ...] = get_args(OpenChoice)

POLARITY_TABLE: Mapping[str, tuple[Side, str]] = MappingProxyType(
    {
        "Admiration": ("positive", "warm regard for what somebody is or does"),
        "Adoration": ("positive", "tenderness for what is loved"),
        "Aesthetic Appreciation": ("positive", "pleasure in beauty"),
        "Amusement": ("positive", "pleasure in what is funny"),
        "Anger": ("negative", "displeasure at a wrong"),
        "Anxiety": ("negative", "expects harm"),
        "Awe (or Wonder)": ("positive", "elevation before what is vast"),
        "Awkwardness": ("open", "cringing, often enjoyed as comedy"),
        "Boredom": ("open", "lack of feeling rather than a bad one; near to background"),
        "Calmness": ("positive", "ease; low in arousal, pleasant"),
        "Confusion": ("open", "not understanding, pleasant or not"),
        "Craving": ("positive", "appetite for what looks good"),
        "Disgust": ("negative", "revulsion"),
        "Empathic Pain": ("negative", "suffers with somebody"),
        "Entrancement": ("open", "absorbed, by beauty as by dread"),
        "Excitement": ("positive", "pleasant arousal"),
        "Fear": ("negative", "threat"),
        "Horror": ("negative", "dread and revulsion"),
        "Interest": ("open", "attention, to good as to bad"),
        "Joy": ("positive", "gladness"),
        "Nostalgia": ("open", "bittersweet by definition"),
        "Relief": ("positive", "harm has passed"),
        "Romance": ("positive", "warmth of love"),
        "Sadness": ("negative", "loss"),
        "Satisfaction": ("positive", "a want is met"),
        "Sexual Desire": ("positive", "attraction"),
        "Surprise": ("open", "the unexpected, good or bad"),
    }
)
"""Emotion -> its side and why, in the order of the 27."""

OPEN_EMOTIONS = tuple(name for name in DAR_EMOTIONS if POLARITY_TABLE[name][0] == "open")


@dataclass(frozen=True, slots=True)
class OpenPolicy:
    """What each open emotion is taken for. name: for headers and captions."""

    name: str
    choices: Mapping[str, OpenChoice]


def open_policy(text: str = "background") -> OpenPolicy:
    """One of OPEN_CHOICES for all open emotions, or the path of a YAML file that says it for each.

    The file is a mapping of open emotions to choices; those it leaves out are background.
    Raises ValueError naming file, line and field for anything else.
    """
    for choice in OPEN_CHOICES:
        if text == choice:
            return OpenPolicy(choice, dict.fromkeys(OPEN_EMOTIONS, choice))
    path = Path(text)
    if not path.is_file():
        raise ValueError(
            f"--open {text!r} is neither one of {', '.join(OPEN_CHOICES)} nor a YAML file"
        )
    stored, lines = read_yaml_mapping(path)
    choices: dict[str, OpenChoice] = dict.fromkeys(OPEN_EMOTIONS, "background")
    for name, value in stored.items():
        where = f"{path}:{lines.get((name,), 1)}: {name}"
        emotion = canonical_dar_emotion(name)
        if emotion not in choices:
            raise ValueError(
                f"{where}: is not open; the table decides it, or it is none of the 27. "
                f"Open are {', '.join(OPEN_EMOTIONS)}"
            )
        choices[emotion] = _choice(value, where)
    return OpenPolicy(path.name, choices)


def _choice(value: Any, where: str) -> OpenChoice:
    for choice in OPEN_CHOICES:
        if value == choice:
            return choice
    raise ValueError(f"{where}: one of {', '.join(OPEN_CHOICES)} is needed, not {value!r}")


def choice_of(emotion: str, policy: OpenPolicy) -> OpenChoice:
    """What one of the 27 is taken for; KeyError for any other label."""
    side, _ = POLARITY_TABLE[emotion]
    return policy.choices[emotion] if side == "open" else side


def polarities(policy: OpenPolicy) -> dict[str, frozenset[Polarity]]:
    """Emotion -> the polarities that its segments are entered under; empty is background."""
    sets: dict[OpenChoice, frozenset[Polarity]] = {
        "background": frozenset(),
        "positive": frozenset({"positive"}),
        "negative": frozenset({"negative"}),
        "both": frozenset({"positive", "negative"}),
    }
    return {emotion: sets[choice_of(emotion, policy)] for emotion in DAR_EMOTIONS}
