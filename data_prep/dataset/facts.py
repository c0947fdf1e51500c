"""The little of a video that the whole data set is decided by: for finding copies and splitting.

    VideoFacts(id="clips/0001.mp4", video="clips/0001.mp4", sha256="9f86d0...",
               fingerprint="a1b2...", duration_seconds=9.5, num_segments=2,
               dominant_emotion="Fear", genre=None, scene=None, provenance="draft")

Example: `facts_of(finished, row_of(finished)).dominant_emotion`. Some hundred bytes each, whatever
the length of the reasons: what is held in memory for every video.
"""

import math
from collections import defaultdict
from dataclasses import dataclass

from affect.records import Row
from affect.timeline import Timeline
from data_prep.dataset.finished import FinishedVideo


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """id: of the row. video: its path below the root. fingerprint: `Looked.perceptual_hash`.
    dominant_emotion: the viewer's for most of the time. genre, scene: None where nobody tagged the
    video."""

    id: str
    video: str
    sha256: str
    fingerprint: str
    duration_seconds: float
    num_segments: int
    dominant_emotion: str
    genre: str | None
    scene: str | None
    provenance: str


def facts_of(finished: FinishedVideo, row: Row) -> VideoFacts:
    """The facts of a video and its row."""
    assert row.timeline is not None
    tagged = finished.tagged
    return VideoFacts(
        id=row.id,
        video=row.video,
        sha256=finished.video.sha256,
        fingerprint=finished.looked.perceptual_hash,
        duration_seconds=row.duration_seconds,
        num_segments=len(row.timeline.segments),
        dominant_emotion=dominant_emotion(row.timeline),
        genre=None if tagged is None else tagged.genre,
        scene=None if tagged is None else tagged.scene,
        provenance=finished.decided.provenance,
    )


def dominant_emotion(timeline: Timeline) -> str:
    """The emotion that lasts longest in all; of two that last equally long, the earlier one."""
    lengths: dict[str, list[float]] = defaultdict(list)
    for segment in timeline.segments:
        lengths[segment.emotion].append(segment.end_seconds - segment.start_seconds)
    # Microseconds: equal lengths in one decimal are not equal in binary.
    return max(lengths, key=lambda emotion: round(math.fsum(lengths[emotion]), 6))
