"""A file's hash: of its content, read once until the file changes."""

import hashlib
import os
from pathlib import Path

import pytest

from affect.video import VideoError
from affect.video.content_hash import ContentHashes


def test_reads_a_file_once_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"one")
    hashes = ContentHashes()
    assert hashes.get(path) == hashlib.sha256(b"one").hexdigest()
    assert hashes.get(path) == hashes.get(str(path)) and hashes.num_reads == 1
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    assert hashes.get(path) == hashlib.sha256(b"two").hexdigest()
    assert hashes.num_reads == 2


def test_equal_content_has_equal_hashes_under_any_name(tmp_path: Path) -> None:
    for name in ("a.mp4", "b.avi"):
        (tmp_path / name).write_bytes(b"same")
    hashes = ContentHashes()
    assert hashes.get(tmp_path / "a.mp4") == hashes.get(tmp_path / "b.avi")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"none\.mp4"):
        ContentHashes().get(tmp_path / "none.mp4")
