"""A build killed with SIGKILL at twenty moments ends as one that never was, and buys nothing twice.

Real processes, real HTTP: `dar build run` over eight small clips, all models on a scripted server,
which writes down what it answered before the answer's last byte leaves.
"""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from affect.llm.scripted.process import ScriptedServer
from tests.data_prep.build.marked_answers import NUM_DIGITS, mark_of
from tests.data_prep.picture.drawn import pan, write_frames
from tests.paths import ROOT
from tests.processes import wait_until_gone

NUM_CLIPS = 8
NUM_KILLS = 20
ANSWERS = "tests.data_prep.build.marked_answers:answer"
MOST_IN_FLIGHT = 12  # four for each of three models
DEADLINE_SECONDS = 120.0


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    """Clips of two or three scenes, 2.4 to 3.6 s long, and one file that is none."""
    folder = tmp_path / "videos"
    folder.mkdir()
    for number in range(NUM_CLIPS):
        pictures = [
            np.ascontiguousarray(picture[:176:4, ::4])
            for part in range(2 + number % 2)
            for picture in pan(10 * number + part, 30)
        ]
        write_frames(folder / f"{number}.mp4", pictures)
    (folder / "broken.mp4").write_bytes(b"no clip")
    return folder


class Run:
    """One build's folder, and the processes that build into it."""

    def __init__(self, folder: Path, videos: Path, server: ScriptedServer) -> None:
        self.folder, self.server = folder, server
        self.out = folder / "build"
        folder.mkdir(exist_ok=True)
        model = {"base_url": server.base_url, "max_concurrent": 4}
        roles = ("propose", "verify", "describe", "tag", "reason")
        config = {
            "out": str(self.out),
            "videos": {"root": str(videos)},
            "roles": {**dict.fromkeys(roles, "author"), "judges": ["first", "second"]},
            "models": {name: {"model": name, **model} for name in ("author", "first", "second")},
            "engine": {"videos_at_once": 4, "decodes_at_once": 1},
            "export": {"with_videos": False},
        }
        self.config = folder / "build.yaml"
        self.config.write_text(json.dumps(config))

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "cli.main", "build", "run", "--config", str(self.config)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with open(self.folder / "said.txt", "ab") as said:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def kill_when(self, is_time: Callable[[], bool]) -> None:
        process = self.start()
        deadline = time.monotonic() + DEADLINE_SECONDS
        try:
            while not is_time():
                assert process.poll() is None, (self.folder / "said.txt").read_text()
                assert time.monotonic() < deadline
                time.sleep(0.001)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
            wait_until_gone(process.pid)

    def finish(self) -> None:
        """Exit code 1: broken.mp4 failed, as it should."""
        assert self.start().wait(DEADLINE_SECONDS) == 1, (self.folder / "said.txt").read_text()

    def num_answered(self) -> int:
        return self.server.log.read_bytes().count(b"\n") if self.server.log.exists() else 0

    def kept(self) -> set[str]:
        """Marks of the replies that are committed in the cache."""
        path = self.out / "replies.sqlite"
        if not path.exists():
            return set()
        with closing(sqlite3.connect(path)) as cache:
            try:
                rows = cache.execute("SELECT reply FROM replies").fetchall()
            except sqlite3.OperationalError:  # its table is not made yet
                return set()
        return {mark_of(json.loads(text)["text"]) for (text,) in rows}

    def exported(self) -> dict[str, bytes]:
        folder = self.out / "export"
        files = (path for path in sorted(folder.rglob("*")) if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def moments(run: Run, num_answers: int) -> Iterator[Callable[[], bool]]:
    """While the first clip is decoded, a moment after each share of all answers was kept, and in
    the export."""
    yield lambda: any(run.out.glob("frames/*/*"))
    num_shares = NUM_KILLS - 2
    chance = random.Random(0)
    for share in range(num_shares):
        least = 1 + num_answers * share // num_shares
        yield after(chance.uniform(0.0, 0.04), lambda least=least: len(run.kept()) >= least)  # type: ignore[misc]
    yield lambda: any(run.out.glob("export/*"))


def after(seconds: float, is_time: Callable[[], bool]) -> Callable[[], bool]:
    """True so long after `is_time` first was: any moment of writing, asking, answering."""
    since: list[float] = []

    def is_later() -> bool:
        if not since and is_time():
            since.append(time.monotonic())
        return bool(since) and time.monotonic() - since[0] >= seconds

    return is_later


@pytest.mark.slow
def test_twenty_kills_change_nothing(tmp_path: Path, videos: Path) -> None:
    with ScriptedServer("openai", ANSWERS, tmp_path / "plain", latency_seconds=0.02) as server:
        plain = Run(tmp_path / "plain", videos, server)
        plain.finish()
        answered = [one.digest[:NUM_DIGITS] for one in server.answered()]
    # The server is gone from here on.
    assert len(answered) == len(set(answered)) > 5 * NUM_CLIPS
    assert plain.kept() == set(answered)

    with ScriptedServer("openai", ANSWERS, tmp_path / "killed", latency_seconds=0.02) as server:
        killed = Run(tmp_path / "killed", videos, server)
        kept_at: list[tuple[int, set[str]]] = []
        for moment in moments(killed, len(answered)):
            killed.kill_when(moment)
            kept_at.append((killed.num_answered(), killed.kept()))
        killed.finish()
        marks = [one.digest[:NUM_DIGITS] for one in server.answered()]
    assert len(kept_at) == NUM_KILLS
    for num_before, kept in kept_at:
        assert not kept & set(marks[num_before:])
    # They were spread over the run.
    assert len({len(kept) for _, kept in kept_at}) > NUM_KILLS // 2
    assert len(marks) - len(answered) <= NUM_KILLS * MOST_IN_FLIGHT
    assert killed.kept() == set(marks) == set(answered)
    exported = plain.exported()
    assert {"train.sft.jsonl", "train.grpo.jsonl", "split.json"} <= set(exported)
    assert killed.exported() == exported
    # Without the journal all is made again, out of the replies that are there: nobody is asked.
    for path in plain.out.glob("journal.sqlite*"):
        path.unlink()
    plain.finish()
    assert plain.exported() == exported
