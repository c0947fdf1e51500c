"""Which frames a clip is judged and shown by, told from its time stamps.

    wanted = WantedFrames.of(timing, PictureSection())
    wanted.sampled      # 16 stamps for hash and flow; a short clip's come several times
    wanted.kept         # stamps of the frames for models

A decode hands frames out before the last stamp is known, so the packets' stamps, which cost no
decoding, forecast them. Where the forecast was wrong (hidden frames), a second pass fetches the
right ones: the result depends on the decoded stamps alone.
"""

from dataclasses import dataclass
from typing import Self

from affect.video.timing import Timing
from data_prep.build.config import PictureSection
from data_prep.picture.fingerprint import NUM_FINGERPRINT_FRAMES
from data_prep.picture.kept import kept_frames


@dataclass(frozen=True)
class WantedFrames:
    """Stamps in ticks, ascending. sampled: those of the fingerprint, repeats included."""

    sampled: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()

    @classmethod
    def of(cls, timing: Timing | None, settings: PictureSection) -> Self:
        """None, for stamps that nobody knows yet, wants nothing."""
        if timing is None:
            return cls()
        sampled = timing.nearest_frames(NUM_FINGERPRINT_FRAMES)
        kept = kept_frames(timing, fps=settings.frames_fps, max_frames=settings.max_frames)
        stamps = timing.stamps_ticks
        return cls(
            tuple(stamps[frame] for frame in sampled), tuple(stamps[frame] for frame in kept)
        )

    def covers(self, other: "WantedFrames") -> bool:
        """Whether nothing of the other is missing here."""
        return set(self.sampled) >= set(other.sampled) and set(self.kept) >= set(other.kept)
