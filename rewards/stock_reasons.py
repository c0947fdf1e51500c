"""Reasons written without looking: fluent, of any label and length, each unlike the others.

They are the strongest that a policy without the video can say, because they pass every check of
the hardened preset: they name their label, say something specific, repeat nothing and are no copy.

    >>> stock_reason("Joy", position=0, num_words=13)
    'Here joy takes hold. A figure crosses the open floor with steady steps.'
"""

from collections.abc import Sequence
from functools import cache

_SENTENCES = (
    "A figure crosses the open floor with steady steps while pale light falls through a window.",
    "The camera keeps its distance and lets every gesture unfold at its natural pace.",
    "Behind the table a row of coloured jars catches the sun, and dust floats above them.",
    "Two strangers exchange a glance, one leans closer, and neither breaks the silence.",
    "Water runs along the stones, bright and restless, under a narrow wooden bridge.",
    "Quick cuts carry us from street to rooftop, where wind pulls at a red scarf.",
    "Somebody drops a cup, the pieces scatter, and a dog lifts its ears in the corner.",
    "Warm shades fill the room as an old man turns the pages of an album.",
    "Shadows stretch over the wall, edges sharpen, and the corridor seems longer than it is.",
    "Children run past a fence, their coats flying, towards a field of tall grass.",
    "Hands shape wet clay on a spinning wheel, patient, precise, finger by finger.",
    "Traffic thins out, neon signs flicker, and rain draws lines across the glass.",
    "On stage a dancer bends backwards, arms open, held by one bright lamp.",
    "Smoke climbs from the roof while neighbours gather beside their parked cars.",
    "A cat balances upon a shelf, misjudges its jump and slides among the books.",
    "Far below, waves strike the cliff, white foam bursting against black rock.",
    "The baker folds dough, flour clings to his sleeves, and loaves brown inside the oven.",
    "Her face fills the picture, eyes lowered, lips pressed, breath held for several beats.",
    "A train leaves the platform, windows sliding by, until only rails remain.",
    "Balloons rise over the square and heads tilt upward, one after another.",
    "Deep snow covers the yard, footprints lead to a door which stands ajar.",
    "Machines stamp metal sheets in strict rhythm, sparks jumping at each blow.",
    "Grandmother unwraps a small parcel, ribbon first, paper next, careful with both.",
    "Leaves whirl around an empty bench, then settle, and birds return to the branch.",
)
_STRIDE = 4
NUM_POSITIONS = len(_SENTENCES) // _STRIDE
"""Reasons at so many positions are unlike each other; from there on they come again."""

_ALL_WORDS = tuple(sentence.split() for sentence in _SENTENCES)


@cache
def stock_reason(emotion: str, position: int, num_words: int) -> str:
    """A reason of `num_words` words for `emotion`, for the segment at `position` of a reply."""
    words = ["Here", *emotion.lower().split(), "takes", "hold."]
    first = position * _STRIDE % len(_SENTENCES)
    for sentence in (*_ALL_WORDS[first:], *_ALL_WORDS[:first]):
        words.extend(sentence)
    return " ".join(words[:num_words]).rstrip(",.") + "."


def stock_reasons(emotions: Sequence[str], num_words: int) -> list[str]:
    """A stock reason for each segment of a reply."""
    return [stock_reason(emotion, position, num_words) for position, emotion in enumerate(emotions)]
