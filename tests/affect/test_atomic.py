"""Atomic writing: whole or not at all, nothing left over, readable like any other file."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from affect.atomic import write_text_atomic
from tests.paths import ROOT


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


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as raised:
        write_text_atomic(tmp_path / "folder", "x")
    assert raised.value.filename == str(tmp_path / "folder")
    assert raised.value.filename2 is None
    with pytest.raises(FileNotFoundError) as raised_there:
        write_text_atomic(Path("/proc/there/is/none"), "x")
    assert ".tmp" not in str(raised_there.value)


def test_a_pipe_is_written_into_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text_atomic(pipe, "told")
        assert os.read(reader, 10) == b"told"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert [file.name for file in tmp_path.iterdir()] == ["pipe"]


def test_standard_output_is_written_into(tmp_path: Path) -> None:
    """Also where it goes into a file, to which its name is a link that must stay."""
    code = "from pathlib import Path; from affect.atomic import write_text_atomic as write\n"
    code += "write(Path('/proc/self/fd/1'), 'told')"
    with open(tmp_path / "out", "wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True, cwd=ROOT)
    assert (tmp_path / "out").read_bytes() == b"told"
    assert [file.name for file in tmp_path.iterdir()] == ["out"]
