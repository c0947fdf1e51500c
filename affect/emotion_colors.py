"""One colour for each of DAR's 27 emotions, for every timeline, table and plot.

    emotion_color("Joy")          # '#f9e38b': CSS and matplotlib read it alike
    emotion_rgb("Joy")            # (249, 227, 139)

Kindred feelings are neighbours on the colour circle and differ in lightness. All are light, so
that dark text (`INK`) reads on them in both modes; text beside or on them always names the
emotion, since 27 colours are more than anybody tells apart.
"""

import colorsys
from collections.abc import Mapping
from types import MappingProxyType

from affect.taxonomy import DAR_EMOTIONS

INK = "#17171a"
"""The text that stands on every one of the colours; contrast at least 7 (WCAG's AAA)."""

OTHER = "#cfcfd4"
"""For labels outside the 27, and where there is no emotion."""

_HUE_SATURATION_LIGHTNESS: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "Anger": (2, 84, 72),
        "Excitement": (17, 92, 74),
        "Craving": (27, 74, 69),
        "Amusement": (38, 94, 72),
        "Joy": (48, 90, 76),
        "Surprise": (57, 78, 67),
        "Satisfaction": (72, 60, 74),
        "Disgust": (86, 42, 62),
        "Interest": (112, 46, 73),
        "Relief": (140, 52, 80),
        "Calmness": (158, 45, 68),
        "Entrancement": (173, 52, 76),
        "Aesthetic Appreciation": (187, 56, 68),
        "Awe (or Wonder)": (198, 80, 77),
        "Admiration": (209, 74, 70),
        "Nostalgia": (216, 38, 80),
        "Sadness": (223, 62, 74),
        "Boredom": (230, 14, 74),
        "Confusion": (243, 62, 83),
        "Anxiety": (255, 68, 78),
        "Fear": (270, 66, 75),
        "Horror": (288, 42, 71),
        "Awkwardness": (302, 50, 82),
        "Empathic Pain": (318, 52, 74),
        "Romance": (332, 80, 80),
        "Adoration": (342, 88, 87),
        "Sexual Desire": (351, 70, 75),
    }
)

_COLORS: dict[str, tuple[int, int, int]] = {}
for _emotion, (_hue, _saturation, _lightness) in _HUE_SATURATION_LIGHTNESS.items():
    _red, _green, _blue = colorsys.hls_to_rgb(_hue / 360, _lightness / 100, _saturation / 100)
    _COLORS[_emotion] = (round(255 * _red), round(255 * _green), round(255 * _blue))
assert set(_COLORS) == set(DAR_EMOTIONS)


def emotion_color(emotion: str) -> str:
    """`#rrggbb`; `OTHER` for a label outside the 27."""
    rgb = _COLORS.get(emotion)
    return OTHER if rgb is None else "#{:02x}{:02x}{:02x}".format(*rgb)


def emotion_rgb(emotion: str) -> tuple[int, int, int]:
    """Red, green and blue, each 0 to 255. Raises KeyError for a label outside the 27."""
    return _COLORS[emotion]
