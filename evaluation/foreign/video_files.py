"""The clip that somebody's annotation names: a path under the video folder, with or without ending.

    find_video(Path("videos"), "real/bikes")      # FoundVideo("real/bikes.mp4", .../real/bikes.mp4)

A whole path is taken too where it lies under the folder.
"""

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from affect.records import resolve_video
from affect.video_path import VIDEO_SUFFIXES, check_video_path


@dataclass(frozen=True, slots=True)
class FoundVideo:
    """video: as rows name it. path: of the file, which need not exist."""

    video: str
    path: Path


def find_video(video_root: Path, named: str) -> FoundVideo:
    """The clip under the root that is meant.

    Raises ValueError, beginning with `video:`, for a path that leaves the root, and for a name
    without ending that several files have.
    """
    if named.startswith("/"):
        root = os.path.abspath(video_root)
        if not Path(os.path.normpath(named)).is_relative_to(root):
            raise ValueError(
                f"video: {named!r} is not under {video_root}; name its folder with --video-root"
            )
        named = os.path.relpath(os.path.normpath(named), root)
    video = check_video_path(named)
    path = resolve_video(video_root, video)
    if path.exists() or PurePosixPath(video).suffix.lower() in VIDEO_SUFFIXES:
        return FoundVideo(video, path)
    stem = PurePosixPath(video).name
    found = sorted(
        file.name
        for file in (path.parent.iterdir() if path.parent.is_dir() else ())
        if file.stem == stem and file.suffix.lower() in VIDEO_SUFFIXES
    )
    if len(found) > 1:
        raise ValueError(f"video: {named!r} is {' or '.join(found)}; name it with its ending")
    if found:
        video = str(PurePosixPath(video).with_name(found[0]))
        path = resolve_video(video_root, video)
    return FoundVideo(video, path)
