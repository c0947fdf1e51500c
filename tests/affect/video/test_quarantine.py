"""The list of files that are not tried again: by name, size and time, shared and kill-proof.

quarantine.add("a.mp4", state, "it hung", seconds=1.0, limit_seconds=1.0)
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from affect.video import Quarantine
from tests.paths import ROOT


@pytest.fixture
def video(tmp_path: Path) -> Path:
    path = tmp_path / "a.mp4"
    path.write_bytes(b"12345")
    return path


def add(
    quarantine: Quarantine, video: Path, reason: str, limit_seconds: float | None = 1.0
) -> None:
    quarantine.add(video, video.stat(), reason, seconds=1.0, limit_seconds=limit_seconds)


def reason(quarantine: Quarantine, video: Path, limit_seconds: float = 1.0) -> str | None:
    return quarantine.reason(video, video.stat(), limit_seconds)


def test_a_list_in_memory(video: Path) -> None:
    quarantine = Quarantine()
    assert reason(quarantine, video) is None
    add(quarantine, video, "it hung")
    assert reason(quarantine, video) == "it hung"
    assert reason(Quarantine(), video) is None


def test_the_name_counts_not_how_it_is_written(
    video: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quarantine = Quarantine()
    add(quarantine, video, "it hung")
    monkeypatch.chdir(video.parent)
    assert reason(quarantine, Path("./a.mp4")) == "it hung"
    other = video.with_name("b.mp4")
    other.write_bytes(b"12345")
    assert reason(quarantine, other) is None


@pytest.mark.parametrize("change", ["size", "time"])
def test_a_replaced_file_is_free(video: Path, change: str) -> None:
    quarantine = Quarantine()
    add(quarantine, video, "it hung")
    if change == "size":
        state = video.stat()
        video.write_bytes(b"123456")
        os.utime(video, ns=(state.st_atime_ns, state.st_mtime_ns))
    else:
        os.utime(video, ns=(0, 0))
    assert reason(quarantine, video) is None
    add(quarantine, video, "again")
    assert reason(quarantine, video) == "again"


@pytest.mark.parametrize(
    ("limit_seconds", "now_seconds", "is_refused"),
    [(1.0, 1.0, True), (1.0, 0.5, True), (1.0, 1.1, False), (None, 1e6, True)],
)
def test_more_time_frees_what_ran_out_of_time_only(
    video: Path, limit_seconds: float | None, now_seconds: float, is_refused: bool
) -> None:
    quarantine = Quarantine()
    add(quarantine, video, "why", limit_seconds)
    assert (reason(quarantine, video, now_seconds) is not None) == is_refused


def test_another_process_sees_what_is_added(tmp_path: Path, video: Path) -> None:
    path = tmp_path / "run" / "quarantine.jsonl"
    ours, theirs = Quarantine(path), Quarantine(path)
    assert reason(theirs, video) is None
    add(ours, video, "it hung")
    assert reason(theirs, video) == "it hung"
    path.unlink()
    assert reason(theirs, video) is None


def test_many_processes_add_at_once(tmp_path: Path) -> None:
    code = (
        "import os, sys; from affect.video import Quarantine\n"
        "q = Quarantine(__import__('pathlib').Path(sys.argv[1]))\n"
        "for i in range(20):\n"
        "    q.add(f'/v/{sys.argv[2]}/{i}.mp4', os.stat('.'), 'why', seconds=1, limit_seconds=1)\n"
    )
    path = tmp_path / "quarantine.jsonl"
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(rank)], cwd=ROOT)
        for rank in range(3)
    ]
    assert [process.wait() for process in started] == [0, 0, 0]
    names = {json.loads(line)["path"] for line in path.read_text().splitlines()}
    assert names == {f"/v/{rank}/{i}.mp4" for rank in range(3) for i in range(20)}


def test_a_line_torn_by_a_kill_costs_nothing_else(tmp_path: Path, video: Path) -> None:
    path = tmp_path / "quarantine.jsonl"
    add(Quarantine(path), video, "it hung")
    with path.open("a") as file:
        file.write('{"path": "/v/b.mp4", "rea')
    quarantine = Quarantine(path)
    assert reason(quarantine, video) == "it hung"
    add(quarantine, video, "again")
    assert len(path.read_text().splitlines()) == 2
    assert reason(Quarantine(path), video) == "again"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("nonsense", "not JSON"),
        ('{"path": "/a", "reason": "x"}', "seconds: Field required"),
        (
            '{"path": "/a", "reason": "x", "seconds": -1, "size_bytes": 1, "mtime_ns": 1}',
            "seconds: Input should be greater",
        ),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, video: Path, line: str, fault: str) -> None:
    path = tmp_path / "quarantine.jsonl"
    path.write_text("\n" + line + "\n")
    with pytest.raises(ValueError, match=rf"quarantine\.jsonl:2: {fault}.*; remove the line"):
        reason(Quarantine(path), video)


def test_a_name_that_is_not_unicode(tmp_path: Path) -> None:
    video = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.mp4"))
    video.write_bytes(b"1")
    add(Quarantine(tmp_path / "quarantine.jsonl"), video, "it hung")
    assert reason(Quarantine(tmp_path / "quarantine.jsonl"), video) == "it hung"
