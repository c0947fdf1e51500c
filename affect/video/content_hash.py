"""SHA-256 of a video file's content, read once per state of the file.

Example:
    hashes = ContentHashes()
    hashes.get("clip.mp4")      # '9f86d0...', read from the disk
    hashes.get("clip.mp4")      # the same, from memory while size and modification time stay
"""

import os

from affect.file_hash import sha256_of_file
from affect.video.open import VideoError, VideoPath, require_file


class ContentHashes:
    """Hashes by path, size and modification time. `num_reads` counts the files really read."""

    def __init__(self) -> None:
        self.num_reads = 0
        self._known: dict[tuple[str, int, int], str] = {}

    def get(self, path: VideoPath) -> str:
        """64 hex digits.

        Raises:
            VideoError: no such file, or it can't be read.
        """
        state = require_file(path)
        key = (os.path.abspath(path), state.st_size, state.st_mtime_ns)
        if key not in self._known:
            self.num_reads += 1
            try:
                self._known[key] = sha256_of_file(path)
            except OSError as error:
                raise VideoError(path, f"it can't be read: {error.strerror}") from error
        return self._known[key]
