"""How rows name their clips: POSIX paths under a root folder, and how such a name becomes a file.

    >>> check_video_path("./clips/0001.mp4")
    'clips/0001.mp4'

Names are Unicode-normalised (NFC), so that one clip has one id on every file system; a disk that
stores the decomposed form is searched for it.
"""

import os
import unicodedata
from pathlib import Path, PurePosixPath

VIDEO_SUFFIXES = frozenset(
    (
        ".3gp", ".avi", ".flv", ".gif", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".ts",
        ".webm", ".wmv",
    )
)  # fmt: skip
"""Endings by which a name is a clip's, lower case; of "clip.v2" nothing is an ending."""


def check_video_path(video: object) -> str:
    """Return the path in the form that rows hold: relative, `/` between folders, NFC.

    Raises ValueError, beginning with `video:`, for anything that is no such path.
    """
    if not isinstance(video, str):
        raise ValueError(f"video: a path under the video folder is needed, not {video!r}")
    if not video.strip() or any(c < " " or "\ud800" <= c <= "\udfff" for c in video):
        raise ValueError(f"video: {video!r} is no path")
    if "\\" in video:
        raise ValueError(f"video: {video!r} holds a backslash; separate folders by '/'")
    if "://" in video:
        raise ValueError(f"video: {video!r} is an address; download the clip and name the file")
    path = PurePosixPath(unicodedata.normalize("NFC", video))
    if ".." in path.parts:
        raise ValueError(f"video: {video!r} climbs out of its folder by '..'")
    if path.is_absolute() or str(path)[1:2] == ":":
        raise ValueError(f"video: {video!r} is absolute; write it relative to the video folder")
    if not path.name:
        raise ValueError(f"video: {video!r} names a folder, not a clip")
    return str(path)


def resolve_video(root: Path, video: str) -> Path:
    """Return the absolute path of a row's clip under `root`, all links followed.

    The file itself need not exist. Raises ValueError for a path that `check_video_path` refuses
    and for one that leaves the root through a link.
    """
    name = check_video_path(video)
    try:
        folder = Path(root).resolve()
        path = _as_stored(folder, PurePosixPath(name)).resolve()
    except (OSError, RuntimeError) as error:  # pathlib raises RuntimeError for a loop of links
        raise ValueError(f"video: {video!r} cannot be looked up under {root}: {error}") from error
    if not path.is_relative_to(folder):
        raise ValueError(
            f"video: {video!r} leads out of {folder} to {path}; "
            "give the folder where the clips really are as the root"
        )
    return path


def _as_stored(folder: Path, name: PurePosixPath) -> Path:
    path = folder
    for part in name.parts:
        exact = path / part
        if not part.isascii() and not os.path.lexists(exact) and path.is_dir():
            stored = sorted(
                entry for entry in os.listdir(path) if unicodedata.normalize("NFC", entry) == part
            )
            exact = path / (stored[0] if stored else part)
        path = exact
    return path
