"""Whether a stretch of a clip is long enough to be a segment, exactly and as it will be written.

    >>> is_long_enough(0.45, 0.85)      # .4 s, but 0.5 to 0.8 in the one decimal of targets
    False

Times are written with one decimal (`affect.timeline`), which can shorten a span by almost .1 s; so
both are asked here, and no later stage meets a segment that its rounding made too short.
"""

from collections.abc import Sequence
from itertools import pairwise

from affect.timeline import BOUNDARY_TOLERANCE_SECONDS
from data_prep.records import MIN_SEGMENT_SECONDS, Cut

FLOAT_NOISE_SECONDS = 1e-6
"""2.3 - 1.9 is not .4 in binary; differences below a microsecond are no differences."""


def is_long_enough(start_seconds: float, end_seconds: float) -> bool:
    """At least `MIN_SEGMENT_SECONDS`, both as given and with both ends in one decimal."""
    exact = end_seconds - start_seconds
    written = round(end_seconds, 1) - round(start_seconds, 1)
    return min(exact, written) >= MIN_SEGMENT_SECONDS - FLOAT_NOISE_SECONDS


def are_long_enough(times_seconds: Sequence[float]) -> bool:
    """Whether all spans between neighbouring times are."""
    return all(is_long_enough(start, end) for start, end in pairwise(times_seconds))


def cut_at(cuts: Sequence[Cut], time_seconds: float) -> Cut | None:
    """The visual boundary that a time in one decimal can mean: the nearest within half a decimal,
    the earlier of two, or None."""
    near = [
        cut
        for cut in cuts
        if abs(cut.time_seconds - time_seconds) <= BOUNDARY_TOLERANCE_SECONDS + FLOAT_NOISE_SECONDS
    ]
    return min(
        near,
        key=lambda cut: (abs(cut.time_seconds - time_seconds), cut.time_seconds),
        default=None,
    )
