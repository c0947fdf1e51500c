"""Time from presentation time stamps, exact, in ticks of the stream's time base.

Three frames at ticks 0, 100, 400 of 1/100 s: the last frame is held as long as the one before it,
so the picture lasts 4 + 3 = 7 s, and the frame nearest to 2.4 s is the second.

Example:
    timing = Timing.from_stamps([0, 100, 400], Fraction(1, 100))
    timing.duration, timing.nearest_frames(3)       # Fraction(7), [0, 1, 2]
"""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Timing:
    """When each frame is shown.

    stamps_ticks: presentation stamps in ascending order, as the file has them (the first need not
        be 0); at least one.
    time_base: seconds per tick.
    duration: seconds of picture, from the first stamp to the end of the last frame.
    """

    stamps_ticks: tuple[int, ...]
    time_base: Fraction
    duration: Fraction

    @classmethod
    def from_stamps(
        cls,
        stamps_ticks: Iterable[int],
        time_base: Fraction,
        only_frame_seconds: Fraction | None = None,
    ) -> "Timing":
        """Sort the stamps and measure the picture.

        The last frame counts as long as the last gap between two different stamps: containers
        state a last length of their own, but in variable-rate files it is often the nominal
        frame's, or a tenth of it. A single frame has no gap; its own stated length
        `only_frame_seconds` is taken.

        Raises ValueError when no length can be told: no frames, all stamps equal, or a single
        frame without a stated length.
        """
        ordered = tuple(sorted(stamps_ticks))
        if not ordered:
            raise ValueError("no frames")
        before_last = bisect_left(ordered, ordered[-1])
        if before_last:
            span_ticks = 2 * ordered[-1] - ordered[before_last - 1] - ordered[0]
            return cls(ordered, time_base, span_ticks * time_base)
        if len(ordered) > 1:
            raise ValueError(f"all {len(ordered)} frames carry the same time stamp {ordered[0]}")
        if only_frame_seconds is None or only_frame_seconds <= 0:
            raise ValueError("a single frame, and neither a length nor a frame rate stated for it")
        return cls(ordered, time_base, only_frame_seconds)

    @property
    def num_frames(self) -> int:
        return len(self.stamps_ticks)

    def seconds(self, frame: int) -> float:
        """When frame number `frame` is shown, in seconds after the first frame."""
        return float((self.stamps_ticks[frame] - self.stamps_ticks[0]) * self.time_base)

    def nearest_frames(self, num_instants: int) -> list[int]:
        """For each of `num_instants` instants, even from the first to the last stamp, the frame
        shown nearest to it; of two equally near the earlier. One instant is the first stamp.

        Ascending; a frame comes twice where frames lie further apart than instants.
        """
        assert num_instants >= 1
        stamps = self.stamps_ticks
        first, span = stamps[0], stamps[-1] - stamps[0]
        steps = max(num_instants - 1, 1)
        chosen = []
        for i in range(num_instants):
            # Whole numbers throughout: every time below is in ticks / steps after the first stamp.
            instant = i * span
            after = bisect_left(stamps, instant, key=lambda ticks: (ticks - first) * steps)
            if after and instant - (stamps[after - 1] - first) * steps <= (
                (stamps[after] - first) * steps - instant
            ):
                # Equal stamps stand for one picture: the first of them.
                after = bisect_left(stamps, stamps[after - 1])
            chosen.append(after)
        return chosen
