"""A judging killed at six moments ends as one that never was, and buys no kept reply again.

Real processes, real HTTP: the scripted server writes down what it answered before the answer's last
byte leaves, and each reply says which question it belongs to.
"""

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from affect.llm.scripted.process import ScriptedServer
from affect.run_folder import RunFolder
from evaluation.judge.judgements import judge_scores_path
from tests.evaluation.judge.judged_runs import (
    GOOD,
    judgements_path,
    scores,
    write_config,
    write_run,
)
from tests.evaluation.judge.obedient_judge import NUM_MARK_DIGITS
from tests.paths import ROOT
from tests.processes import wait_until_gone

pytestmark = pytest.mark.slow

ANSWERS = "tests.evaluation.judge.obedient_judge:answer"
LABEL = "judge_hardened.scripted"
NUM_CLIPS, SAMPLES, NUM_KILLS = 6, 3, 6
MOST_IN_FLIGHT = 4
DEADLINE_SECONDS = 120.0


def replies() -> dict[str, list[tuple[float, float, str, str]]]:
    """Two segments per clip, no two of them alike."""
    return {
        str(clip): [
            (0.0, 2.0, "Joy", f"{GOOD} This is clip {clip}."),
            (2.0, 4.0, "Fear", f"{GOOD} It was clip {clip}."),
        ]
        for clip in range(NUM_CLIPS)
    }


class JudgedRun:
    """A run's folder, and the processes that judge it."""

    def __init__(self, folder: Path, server: ScriptedServer) -> None:
        folder.mkdir(exist_ok=True)
        self.run, self.server = write_run(folder, replies()), server
        self.config = write_config(
            self.run, server.base_url, "judge_hardened", {"max_concurrent": 4}, samples=SAMPLES
        )
        self.said = folder / "said.txt"

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "evaluation.judge", "--config", str(self.config)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with open(self.said, "ab") as said:
            return subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=said,
                stderr=said,
            )  # fmt: skip

    def stop_after(self, num_kept: int, seconds: float, number: signal.Signals) -> int:
        """Start, send the signal so long after so many replies are kept; the exit code."""
        process = self.start()
        deadline = time.monotonic() + DEADLINE_SECONDS
        try:
            while len(self.kept()) < num_kept:
                assert process.poll() is None, self.said.read_text()
                assert time.monotonic() < deadline
                time.sleep(0.001)
            time.sleep(seconds)
        finally:
            process.send_signal(number)
            code = process.wait(DEADLINE_SECONDS)
            wait_until_gone(process.pid)
        return code

    def finish(self) -> None:
        assert self.start().wait(DEADLINE_SECONDS) == 0, self.said.read_text()

    def kept(self) -> set[str]:
        """Marks of the replies that are committed in the cache."""
        path = RunFolder(self.run).replies
        if not path.exists():
            return set()
        with closing(sqlite3.connect(path)) as cache:
            try:
                rows = cache.execute("SELECT reply FROM replies").fetchall()
            except sqlite3.OperationalError:  # its table is not made yet
                return set()
        texts = [json.loads(json.loads(text)["text"])["comment"] for (text,) in rows]
        return {match.group(1) for text in texts if (match := re.search(r"question (\w+)", text))}

    def marks(self) -> list[str]:
        return [one.digest[:NUM_MARK_DIGITS] for one in self.server.answered()]

    def written(self) -> list[bytes]:
        path = judgements_path(self.run, LABEL)
        return [path.read_bytes(), judge_scores_path(path).read_bytes()]


def test_kills_change_nothing_and_buy_nothing_twice(tmp_path: Path) -> None:
    with ScriptedServer("openai", ANSWERS, tmp_path / "plain", latency_seconds=0.05) as server:
        plain = JudgedRun(tmp_path / "plain", server)
        plain.finish()
        answered = plain.marks()
    num_questions = NUM_CLIPS * 2 * SAMPLES
    assert len(answered) == len(set(answered)) == num_questions
    assert plain.kept() == set(answered)

    with ScriptedServer("openai", ANSWERS, tmp_path / "killed", latency_seconds=0.05) as server:
        killed = JudgedRun(tmp_path / "killed", server)
        chance = random.Random(0)
        kept_at: list[tuple[int, set[str]]] = []
        for share in range(NUM_KILLS):
            least = num_questions * share // (NUM_KILLS + 1)
            code = killed.stop_after(least, chance.uniform(0.0, 0.05), signal.SIGKILL)
            assert code == -signal.SIGKILL
            kept_at.append((len(killed.marks()), killed.kept()))
            assert not judge_scores_path(judgements_path(killed.run, LABEL)).exists()
        killed.finish()
        marks = killed.marks()
    for num_before, kept in kept_at:
        assert not kept & set(marks[num_before:])
    assert len({len(kept) for _, kept in kept_at}) > NUM_KILLS // 2  # spread over the run
    assert len(marks) - num_questions <= NUM_KILLS * MOST_IN_FLIGHT
    assert killed.kept() == set(marks) == set(answered)
    # The files are the same but for where the rows lie, of which only the predictions tell.
    assert scores(killed.run, LABEL) == scores(plain.run, LABEL)
    assert [one.splitlines()[1:] for one in killed.written()] == [
        one.splitlines()[1:] for one in plain.written()
    ]


def test_ctrl_c_says_what_is_kept(tmp_path: Path) -> None:
    with ScriptedServer("openai", ANSWERS, tmp_path / "run", latency_seconds=0.05) as server:
        run = JudgedRun(tmp_path / "run", server)
        assert run.stop_after(SAMPLES, 0.0, signal.SIGINT) == 130
        said = run.said.read_text()
        assert re.search(r"stopped with \d+ of 12 segments done; the same command goes on", said)
        assert "Traceback" not in said
        kept, num_before = run.kept(), len(run.marks())
        run.finish()
        assert not kept & set(run.marks()[num_before:])
    assert scores(run.run, LABEL)["overall"].num_judged == 2 * NUM_CLIPS
