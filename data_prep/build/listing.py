"""The files to build from: everything under the root that the patterns name.

    for file in find_files(config.videos, skip=folder.path):
        file.id, file.path, file.size
    -> "clips/café.mp4" (composed, NFC), as it is spelled on the disk, 48213

Hidden files and folders and the build's own folder are left out. Nothing else is: what is no video
comes out of the build as failed, with its reason.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from affect.video_path import check_video_path
from data_prep.build.config import VideosSection
from data_prep.build.journal import FileState


def find_files(videos: VideosSection, skip: Path) -> Iterator[FileState]:
    """Files in no order; one that several patterns name comes up as often.

    Raises ValueError for a root that is no folder or has none, a pattern that leaves it, a link
    that leads out of it, and a name that cannot be an id.
    """
    check_root(videos)
    root, own, is_any = videos.root.resolve(), skip.resolve(), False
    for pattern in videos.include:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts or not pattern:
            raise ValueError(f"videos.include: {pattern!r} must be a pattern below videos.root")
        for path in root.glob(pattern):
            inside = path.relative_to(root)
            if any(part.startswith(".") for part in inside.parts) or path.is_relative_to(own):
                continue
            state = _state_of(path, root)
            if state is None:
                continue
            try:
                video_id = check_video_path(inside.as_posix())
            except ValueError as error:
                raise ValueError(f"videos.root: {root}: {error}; rename the file") from error
            is_any = True
            yield FileState(video_id, inside.as_posix(), state.st_size, state.st_mtime_ns)
    if not is_any:
        raise ValueError(
            f"videos.root: {videos.root} has no file that videos.include names "
            f"({', '.join(videos.include)}); name the folder with the videos, or other patterns"
        )


def check_root(videos: VideosSection) -> None:
    """Raises ValueError for a root that is no folder."""
    if not videos.root.is_dir():
        raise ValueError(f"videos.root: {videos.root} is no folder; name the one with the videos")


def _state_of(path: Path, root: Path) -> os.stat_result | None:
    """None for what is no file. A link without a target is a file that cannot be read."""
    real = path.resolve()
    if not real.is_relative_to(root):
        raise ValueError(
            f"videos.root: {path} is a link out of the folder, to {real}; give the folder where "
            "the videos really are as the root"
        )
    try:
        state = os.stat(path)
    except OSError:
        state = os.lstat(path)
    return None if stat.S_ISDIR(state.st_mode) else state
