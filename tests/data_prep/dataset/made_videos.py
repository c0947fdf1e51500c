"""Finished videos made by hand, for the export to work on.

Example: `finished("a.mp4", 9.0, [(0.0, 4.0, "Joy"), (4.0, 9.0, "Fear")], genre="Animals")`
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from data_prep.dataset.finished import FinishedVideo
from data_prep.records import Decided, FinalSegment, Looked, Motion, Tagged, Video

Span = tuple[float, float, str] | tuple[float, float, str, str]


def fingerprint_of(text: str) -> str:
    """A fingerprint that nothing else is near to: 1,024 bits by chance."""
    return "".join(hashlib.sha256(f"{text} {n}".encode()).hexdigest() for n in range(4))


def segments(*spans: Span) -> tuple[FinalSegment, ...]:
    return tuple(
        FinalSegment(
            start_seconds=span[0],
            end_seconds=span[1],
            emotion=span[2],
            reason=span[3] if len(span) == 4 else f"Something moves the viewer to {span[2]}.",
        )
        for span in spans
    )


def finished(
    video_id: str,
    duration_seconds: float,
    spans: Sequence[Span],
    *,
    root: Path = Path("videos"),
    provenance: Any = "verified",
    genre: str | None = None,
    scene: str = "outdoor",
    sha256: str | None = None,
    fingerprint: str | None = None,
    mime_type: str = "video/mp4",
) -> FinishedVideo:
    """Its file is not made. sha256 and fingerprint follow from the id."""
    return FinishedVideo(
        video=Video(id=video_id, sha256=sha256 or hashlib.sha256(video_id.encode()).hexdigest()),
        path=root / video_id,
        looked=Looked(
            num_frames=round(duration_seconds * 10),
            duration_seconds=duration_seconds,
            width=64,
            height=48,
            codec="h264",
            mime_type=mime_type,
            perceptual_hash=fingerprint or fingerprint_of(video_id),
            motion=Motion(mean_hash_distance=9.0, mean_flow_pixels=1.0, still_share=0.0),
            cuts=(),
            frame_times_seconds=(0.0,),
            num_decode_passes=1,
        ),
        tagged=None if genre is None else Tagged(genre=genre, scene=scene, author="tagger"),
        decided=Decided(provenance=provenance, segments=segments(*spans)),
        source="vce",
    )
