"""The purposes for which a clip is decoded, and what they find once its last frame has passed.

purposes = Purposes.of(settings, wanted)
decode = watch("clip.mp4", purposes.all, settings)
purposes.findings(decode.timing, wanted).cuts        # (Cut(3.0, "cut"), ...)
"""

from dataclasses import dataclass
from typing import Self

from affect.llm.chat import Frame
from affect.video.timing import Timing
from data_prep.build.config import PictureSection
from data_prep.picture.boundaries import Boundaries
from data_prep.picture.fingerprint import fingerprint
from data_prep.picture.flow import Flow
from data_prep.picture.hashes import Hashes
from data_prep.picture.kept import KeptFrames
from data_prep.picture.stillness import Stillness
from data_prep.picture.wanted import WantedFrames
from data_prep.picture.watch import Watcher
from data_prep.records import Cut, Motion


@dataclass(frozen=True)
class Findings:
    """fingerprint: see `data_prep.picture.fingerprint`. frames: those for models, in order."""

    fingerprint: str
    motion: Motion
    cuts: tuple[Cut, ...]
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Purposes:
    hashes: Hashes
    flow: Flow
    stillness: Stillness
    boundaries: Boundaries
    kept: KeptFrames

    @classmethod
    def of(cls, settings: PictureSection, wanted: WantedFrames) -> Self:
        """Fresh ones, that have seen nothing."""
        return cls(
            hashes=Hashes(set(wanted.sampled)),
            flow=Flow(set(wanted.sampled)),
            stillness=Stillness(),
            boundaries=Boundaries(
                cut_threshold=settings.cut_threshold, fade_threshold=settings.fade_threshold
            ),
            kept=KeptFrames(set(wanted.kept), settings.jpeg_quality),
        )

    @property
    def all(self) -> tuple[Watcher, ...]:
        return self.hashes, self.flow, self.stillness, self.boundaries, self.kept

    def findings(self, timing: Timing, wanted: WantedFrames) -> Findings:
        """After the whole clip has passed. wanted: frames that all have seen."""
        sampled = sorted(set(wanted.sampled))
        return Findings(
            fingerprint=fingerprint([self.hashes.of[stamp] for stamp in wanted.sampled]),
            motion=Motion(
                mean_hash_distance=self.hashes.mean_distance(sampled),
                mean_flow_pixels=self.flow.mean_pixels(sampled),
                still_share=self.stillness.share(timing),
            ),
            cuts=self.boundaries.cuts(timing),
            frames=tuple(
                Frame(_seconds(timing, stamp), self.kept.of[stamp]) for stamp in wanted.kept
            ),
        )


def _seconds(timing: Timing, stamp: int) -> float:
    return float((stamp - timing.stamps_ticks[0]) * timing.time_base)
