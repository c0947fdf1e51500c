"""Curves of a training log and their running means.

curve = curve_of(run.training, "reward", 1.0)
curve.steps, curve.values      # [5, 10, 15], [0.2, 0.4, 0.3]
smoothed(curve)                # means over the values around each
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SHARE_OF_CURVE = 10


@dataclass(frozen=True, slots=True)
class Curve:
    """Values by step, both in the log's order; a step whose value isn't finite has none."""

    steps: tuple[int, ...]
    values: tuple[float, ...]


def curve_of(lines: Sequence[Mapping[str, Any]], key: str, scale: float) -> Curve:
    """What a log says of one key, times `scale`."""
    known = [
        (int(line["step"]), scale * float(line[key])) for line in lines if line.get(key) is not None
    ]
    return Curve(tuple(step for step, _ in known), tuple(value for _, value in known))


def window_steps(curve: Curve) -> int:
    """How many values a mean is of: a tenth of the curve, made odd, at least 1."""
    return len(curve.values) // _SHARE_OF_CURVE // 2 * 2 + 1


def smoothed(curve: Curve) -> list[float]:
    """Centred means. At the start, which is steep, of as many values behind as before; at the end,
    which is flat and noisy, of the part of the window that there is.

    Example: of 0, 10, 20 ... 290, whose window is 3, they begin 0, 10, 20 and end 280, 285.
    """
    half = window_steps(curve) // 2
    values = curve.values
    means = []
    for at in range(len(values)):
        reach = min(half, at)
        part = values[at - reach : at + reach + 1]
        means.append(sum(part) / len(part))
    return means
