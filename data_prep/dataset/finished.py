"""One video that a build finished: what export, statistics and reports read of it.

    for finished in finished_videos(folder, config):      # data_prep.build.finished, by id
        finished.video.id, finished.decided.segments
    -> "clips/0001.mp4", (FinalSegment(start_seconds=0.0, end_seconds=4.23, ...), ...)

Rejected and failed videos are no such thing; `data_prep.build.finished.outcomes` names them.
"""

from dataclasses import dataclass
from pathlib import Path

from data_prep.records import Decided, Looked, Tagged, Video


@dataclass(frozen=True, slots=True)
class FinishedVideo:
    """path: of the file. tagged: None where no model was asked (drafts, rendered truth).
    source: `videos.source` of the configuration, for the rows."""

    video: Video
    path: Path
    looked: Looked
    tagged: Tagged | None
    decided: Decided
    source: str
