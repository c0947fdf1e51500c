"""Is the folder that is named for the videos the right one?"""

from pathlib import Path

import pytest

from affect.records import read_rows
from evaluation.row_videos import require_videos
from tests.evaluation.files import write_rows

SPANS = [[0, 4, "Joy"], [4, 8, "Fear"]]


def test_one_video_is_enough_and_none_is_a_wrong_folder(tmp_path: Path) -> None:
    rows = read_rows(write_rows(tmp_path / "rows.jsonl", {"a": SPANS, "b": SPANS}))
    root = tmp_path / "root"
    root.mkdir()
    require_videos(root, [], "--video-root")
    with pytest.raises(ValueError, match=r"holds none of the 2 videos .* with --video-root$"):
        require_videos(root, rows, "--video-root")
    path = root / rows[1].video
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    require_videos(root, rows, "--video-root")


def test_videos_behind_a_link_are_told_apart_from_missing_ones(tmp_path: Path) -> None:
    rows = read_rows(write_rows(tmp_path / "rows.jsonl", {"a": SPANS}))
    real = tmp_path / "real.mp4"
    real.write_bytes(b"")
    link = tmp_path / "root" / rows[0].video
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    with pytest.raises(ValueError, match=r"holds none of .* leads out of .*real\.mp4"):
        require_videos(tmp_path / "root", rows, "--video_root")
