"""Emotions' colours: all different, all readable under dark text."""

import itertools
import math
import re

import pytest

from affect.emotion_colors import INK, OTHER, emotion_color, emotion_rgb
from affect.taxonomy import DAR_EMOTIONS

RGB = tuple[float, float, float]


def rgb_of(color: str) -> RGB:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue


def linear(rgb: RGB) -> list[float]:
    """sRGB's values as light, 0 to 1 (IEC 61966-2-1)."""
    shares = [value / 255 for value in rgb]
    return [s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares]


def luminance(color: str) -> float:
    red, green, blue = linear(rgb_of(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def lab(rgb: RGB) -> RGB:
    """CIELAB, in which distances are roughly what eyes see."""
    red, green, blue = linear(rgb)
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


@pytest.mark.parametrize("label", [*DAR_EMOTIONS, "no emotion of ours"])
def test_dark_text_reads_on_every_colour(label: str) -> None:
    color = emotion_color(label)
    assert re.fullmatch("#[0-9a-f]{6}", color)
    assert (luminance(color) + 0.05) / (luminance(INK) + 0.05) >= 7


def test_no_two_emotions_look_alike() -> None:
    """2.3 is the distance that eyes just notice; neighbours are thrice as far apart."""
    for one, other in itertools.combinations([*DAR_EMOTIONS, "none"], 2):
        colors = (lab(rgb_of(emotion_color(one))), lab(rgb_of(emotion_color(other))))
        assert math.dist(*colors) > 7, (one, other)


def test_both_forms_are_one_colour() -> None:
    assert emotion_color("Joy") == "#f9e38b" and emotion_rgb("Joy") == (0xF9, 0xE3, 0x8B)
    assert emotion_color("</script>") == OTHER
    with pytest.raises(KeyError):
        emotion_rgb("</script>")
