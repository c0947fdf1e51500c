"""A row's clip as models on servers are shown it: frames under the shared budget, or the file.

    clips = ShownClips(video_root, FrameBudget(), GuardedReader(120.0))
    clip = clips.video(row)                  # VideoFile: the file, and its frames as JPEG
    clip.frames.frames[0].time_seconds       # 0.0

Which of both is sent is the model section's to say (`media`). The frames are those that the local
model would see at the same budget: same instants, same size, after a round through JPEG.
"""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from affect.llm.chat import Frame, Frames, VideoFile
from affect.records import Row, resolve_video
from affect.row import is_stated_duration
from affect.video import FrameBudget, GuardedReader, VideoError
from affect.video.container import container_mime_type
from affect.video.content_hash import ContentHashes
from affect.video.jpeg import JPEG_QUALITY, jpeg_bytes


@dataclass(frozen=True, slots=True)
class ShownClip:
    """duration_seconds: of the pictures, as decoded."""

    video: VideoFile
    duration_seconds: float


@dataclass(frozen=True)
class ShownClips:
    """Safe to share between threads; nothing is kept of a clip but its content's hash."""

    video_root: Path
    budget: FrameBudget
    reader: GuardedReader
    _hashes: ContentHashes = field(default_factory=ContentHashes, init=False)

    def video(self, row: Row) -> VideoFile:
        """`clip`'s file and frames."""
        return self.clip(row).video

    def clip(self, row: Row) -> ShownClip:
        """Decode the whole clip and take its frames.

        Raises ValueError (VideoError among them) for a path out of the root, a file that can't be
        read, and pictures that last another time than the row says; OSError for a missing file.
        """
        path = resolve_video(self.video_root, row.video)
        sampled = self.reader.sample(path, self.budget)
        if not is_stated_duration(row.duration_seconds, sampled.duration_seconds):
            raise VideoError(
                path,
                f"lasts {sampled.duration_seconds:.2f} s, its row says "
                f"{row.duration_seconds:.2f} s",
            )
        sha256 = self._hashes.get(path)
        video = VideoFile(
            sha256,
            path,
            container_mime_type(path),
            Frames(
                self._frames_sha256(sha256),
                tuple(
                    Frame(time, jpeg_bytes(picture))
                    for time, picture in zip(
                        sampled.times_seconds,
                        sampled.frames[: sampled.num_sampled_frames],
                        strict=True,
                    )
                ),
            ),
        )
        return ShownClip(video, sampled.duration_seconds)

    def _frames_sha256(self, sha256: str) -> str:
        """Names the frames by file, budget and quality, so that a cached reply is theirs."""
        kept = f"{sha256} {self.budget.model_dump_json()} {JPEG_QUALITY}"
        return hashlib.sha256(kept.encode("ascii")).hexdigest()
