"""Where a page finds its clips: files beside it, by relative path, or inside it.

    found = find_clips(run.truths, run.video_root, page=Path("runs/demo/report.html"))
    found[0].url, found[0].problem          # ('../../data/videos/a%20%231.mp4', '')
    choose_embedded(found, limit_bytes=20_000_000)      # {3: ..., 7: ...}: the smallest files

Links to folders are not followed in the address: it is right for whoever opens the page by the path
under which it was written.
"""

import base64
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from affect.printable import printable
from affect.relative_url import relative_url
from affect.video.container import container_mime_type
from affect.video_path import resolve_video
from evaluation.clips import Truth


@dataclass(frozen=True, slots=True)
class ClipVideo:
    """url: relative to the page's folder; "" where there is no such file, and `problem` says why.
    num_bytes: the file's size."""

    path: Path
    url: str
    num_bytes: int
    problem: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddedVideo:
    """A clip's bytes as they stand in the page."""

    mime_type: str
    base64_text: str


def find_clips(truths: Sequence[Truth], video_root: Path, page: Path) -> list[ClipVideo]:
    """One per truth, in order; nothing is decoded."""
    return [_find(truth.row.video, video_root, page) for truth in truths]


def _find(video: str, video_root: Path, page: Path) -> ClipVideo:
    try:
        real = resolve_video(video_root, video)
        num_bytes = real.stat().st_size if real.is_file() else None
    except (ValueError, OSError) as error:
        return ClipVideo(video_root / video, "", 0, printable(str(error)))
    if num_bytes is None:
        return ClipVideo(real, "", 0, printable(f"There is no file {video} in the video folder."))
    named = Path(os.path.abspath(video_root)) / video
    # A disk may hold the decomposed form of a name; then only the real one is there.
    return ClipVideo(real, relative_url(named if named.is_file() else real, page.parent), num_bytes)


def choose_embedded(videos: Sequence[ClipVideo], limit_bytes: int) -> dict[int, EmbeddedVideo]:
    """By place in `videos`: the smallest files, as many as the limit holds together.

    limit_bytes: of the files; in the page they take a third more. Of equal sizes the earlier one
    comes first. A file that is no video is passed over: the page then says that it can't be played.
    """
    chosen: dict[int, EmbeddedVideo] = {}
    left = limit_bytes
    for index in sorted(range(len(videos)), key=lambda at: (videos[at].num_bytes, at)):
        video = videos[index]
        if not video.url:
            continue
        if video.num_bytes > left:
            break
        try:
            mime_type = container_mime_type(video.path)
        except (ValueError, OSError):
            continue
        chosen[index] = EmbeddedVideo(
            mime_type, base64.b64encode(video.path.read_bytes()).decode("ascii")
        )
        left -= video.num_bytes
    return chosen


def describe_clips(videos: Sequence[ClipVideo], embedded: Mapping[int, EmbeddedVideo]) -> str:
    """One sentence on where the clips are, for the page's foot and the command's last line."""
    num_missing = sum(not video.url for video in videos)
    num_linked = len(videos) - num_missing - len(embedded)
    counts = (
        (num_linked, "played from files, by paths relative to the page"),
        (len(embedded), "inside the page"),
        (num_missing, "without a file"),
    )
    parts = [f"{count:,} {words}" for count, words in counts if count]
    if num_missing == len(videos):
        parts.append("--video-root names their folder")
    return f"Clips: {'; '.join(parts)}."
