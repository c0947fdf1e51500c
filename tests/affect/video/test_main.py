"""`python -m affect.video FILE...` prints one line per file and fails if one is refused.

clip.mp4    10 frames    0.400 s    64x48    h264
"""

import os
from pathlib import Path

import pytest

from affect.video.__main__ import main
from tests.affect.video.clips import write_clip


def test_one_line_per_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, one = write_clip(tmp_path / "good.mp4", 10), write_clip(tmp_path / "one.mp4", 1)
    assert main([str(good), str(one)]) == 0
    assert capsys.readouterr().out == (
        f"{good}\t10 frames\t0.400 s\t64x48\th264\n{one}\t1 frame\t0.040 s\t64x48\th264\n"
    )


def test_a_refused_file_fails_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad.mp4"
    bad.touch()
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.mp4")
    good = write_clip(tmp_path / "good.mp4", 10)
    assert main([str(bad), odd, str(good)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{bad}\trefused: cannot be opened: ")
    assert lines[1].endswith("\\udcff.mp4\trefused: cannot be read: No such file or directory")
    assert lines[2].startswith(f"{good}\t10 frames")


def test_no_files_is_a_usage_error() -> None:
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2


def test_a_file_that_takes_too_long_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long, good = write_clip(tmp_path / "long.mp4", 400, size=(320, 240)), tmp_path / "gone.mp4"
    assert main([str(long), str(good), "--decode-timeout-seconds", "0.005"]) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"{long}\trefused: decoding took longer than 0.005 s and was ended"
    assert second.startswith(f"{good}\trefused: cannot be read")
    assert main([str(long), "--decode-timeout-seconds", "0"]) == 0
    with pytest.raises(SystemExit) as stopped:
        main([str(long), "--decode-timeout-seconds", "-1"])
    assert stopped.value.code == 2
