"""Atomic writing: whole or not at all, nothing left over, readable like any other file."""

import os
from pathlib import Path

import pytest

from affect.atomic import write_text_atomic


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "done.json"
    write_text_atomic(path, "old")
    write_text_atomic(path, "néw\r\n")
    assert path.read_bytes() == "néw\r\n".encode()
    assert [file.name for file in path.parent.iterdir()] == ["done.json"]
    (tmp_path / "plain").write_text("")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_failure_keeps_the_old_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "done.json"
    write_text_atomic(path, "old")

    def full(_handle: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write_text_atomic(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["done.json"]


def test_text_that_is_no_utf8_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_text_atomic(tmp_path / "x", "\ud800")
    assert list(tmp_path.iterdir()) == []
