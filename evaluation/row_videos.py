"""Whether the folder that is named for the videos of some rows is the right one.

require_videos(Path("videos"), rows, "--video-root")
"""

from collections.abc import Sequence
from pathlib import Path

from affect.records import Row, resolve_video


def require_videos(video_root: Path, rows: Sequence[Row], option: str) -> None:
    """Raises ValueError where not one of these rows' videos is there: a wrong folder.

    One that is missing among others is that row's own failure. option: that names the folder.
    """
    if not rows:
        return
    outside = ""
    for row in rows:
        try:
            if resolve_video(video_root, row.video).is_file():
                return
        except ValueError as error:
            # A linked folder, most likely: without this word the videos seem to be there.
            outside = outside or f"; {error}"
    raise ValueError(
        f"{video_root}: holds none of the {len(rows)} videos (the first would be "
        f"{rows[0].video}); name their folder with {option}{outside}"
    )
