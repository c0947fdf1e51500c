"""Where a draft's segments meet: cuts and fades, and frames at which colour or motion changes much.

    find_boundaries(measures, looked.cuts, 8.0, settings)
    # (Boundary(time_seconds=3.0, kind="cut", strength=4.1), Boundary(5.5, "colour", 1.3))

A change is measured between the mean of a window before a frame and the mean of one after it, as a
multiple of the setting's smallest change that counts. The largest is taken first, and a window
around everything taken is left alone, so that one slow dissolve is one boundary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from data_prep.build.config import DraftSection
from data_prep.draft.measures import Measures
from data_prep.records import Cut


@dataclass(frozen=True, slots=True)
class Boundary:
    """strength: the larger of colour's and motion's change, 1 being the smallest that counts."""

    time_seconds: float
    kind: Literal["cut", "fade", "colour", "motion"]
    strength: float


def find_boundaries(
    measures: Measures, cuts: Sequence[Cut], duration_seconds: float, settings: DraftSection
) -> tuple[Boundary, ...]:
    """Inner boundaries in order, each at least `settings.min_segment_seconds` from its neighbours
    and from both ends, at most `settings.max_segments - 1` (the strongest)."""
    taken: list[Boundary] = []

    def is_free(time_seconds: float, distance_seconds: float) -> bool:
        left_seconds = min(time_seconds, duration_seconds - time_seconds)
        return left_seconds >= settings.min_segment_seconds and all(
            abs(time_seconds - other.time_seconds) >= distance_seconds for other in taken
        )

    for cut in sorted(cuts, key=lambda cut: (cut.time_seconds, cut.kind)):
        if is_free(cut.time_seconds, settings.min_segment_seconds):
            strength, _ = _change(measures, cut.time_seconds, settings)
            taken.append(Boundary(cut.time_seconds, cut.kind, strength))
    apart = max(settings.min_segment_seconds, settings.change_window_seconds)
    for boundary in _changes(measures, settings):
        if is_free(boundary.time_seconds, apart):
            taken.append(boundary)
    strongest = sorted(taken, key=lambda b: (-b.strength, b.time_seconds))
    return tuple(sorted(strongest[: settings.max_segments - 1], key=lambda b: b.time_seconds))


def _changes(measures: Measures, settings: DraftSection) -> list[Boundary]:
    """Frames that differ enough from what was before, the largest change first."""
    found = []
    for time in measures.times_seconds[1:].tolist():
        strength, kind = _change(measures, time, settings)
        if strength >= 1.0:
            found.append(Boundary(time, kind, strength))
    return sorted(found, key=lambda b: (-b.strength, b.time_seconds))


def _change(
    measures: Measures, time_seconds: float, settings: DraftSection
) -> tuple[float, Literal["colour", "motion"]]:
    """How much the window after a moment differs from the one before it, and in what most."""
    window = settings.change_window_seconds
    before = (time_seconds - window, time_seconds)
    after = (time_seconds, time_seconds + window)
    color_change = measures.color(*after) - measures.color(*before)
    color = float(np.abs(color_change).mean()) / settings.min_color_change
    motions = measures.look(*before).motion, measures.look(*after).motion
    if motions[0] is None or motions[1] is None:
        return color, "colour"
    motion = abs(motions[1] - motions[0]) / settings.min_motion_change
    return (color, "colour") if color >= motion else (motion, "motion")
