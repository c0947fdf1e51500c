"""What `dar build status` counts, by hand, for builds that run, ended and were killed."""

import asyncio
import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from affect.config import save_config
from affect.llm.call import Call
from affect.llm.chat import BudgetSpentError, ModelFailure, Question
from affect.llm.scripted_models import ScriptedModels
from data_prep.build.journal import FileState, Journal
from data_prep.build.lock import held
from data_prep.build.outcome import Outcome
from data_prep.build.print_status import main, status_line
from data_prep.build.schema import JournalError, open_database
from data_prep.build.status import BuildStatus, read_status
from tests.data_prep.build.own_stages import OwnBuild, answer_by_text, write_files

STAGES = ("look", "select", "tag", "decide")


@pytest.fixture
def build(tmp_path: Path) -> OwnBuild:
    return OwnBuild(tmp_path / "build", write_files(tmp_path / "videos", 6))


def counts(status: BuildStatus) -> dict[str, tuple[int, dict[str, int], dict[str, int], int]]:
    return {row.stage: (row.done, row.rejected, row.failed, row.waiting) for row in status.stages}


def test_a_build_by_stage(build: OwnBuild) -> None:
    """Six clips: one broken, one too short, one whose tagger is down, one after a spent budget."""
    root = build.config.videos.root
    (root / "0000.txt").write_text("broken")
    (root / "0001.txt").write_text("")

    def answer(role: str, question: Question, num_ask: int) -> str:
        if question.parts[0] == "clip number 2":
            raise ModelFailure("timeout", "tagger", "no reply within 5 s")
        if question.parts[0] == "clip number 5":
            raise BudgetSpentError("spent")
        return answer_by_text(role, question, num_ask)

    build.models = ScriptedModels(answer)
    build.settings["engine"] = {"videos_at_once": 1}
    build.run()
    status = read_status(build.folder, STAGES)
    assert counts(status) == {
        "look": (5, {}, {"undecodable": 1}, 0),
        "select": (4, {"too_short": 1}, {}, 0),
        "tag": (2, {}, {"timeout": 1}, 1),
        "decide": (2, {}, {}, 1),
    }
    assert (status.state, status.process, status.num_runs) == ("budget_spent", None, 1)
    assert (status.num_videos, status.num_done, status.num_rejected) == (6, 2, 1)
    assert (status.num_failed, status.num_waiting, status.cost) == (2, 1, None)


def test_a_changed_setting_is_waiting_until_its_run_has_come_to_it(build: OwnBuild) -> None:
    build.run()
    build.settings["select"] = {"min_duration_seconds": 14.0}

    def before(name: str, text: str) -> None:
        if name == "select" and build.runs["select"] == 6 + 3:
            raise OSError(28, "No space left on device")

    build.own.before = before
    build.settings["engine"] = {"videos_at_once": 1}
    with pytest.raises(Exception, match="No space left"):
        build.run()
    status = read_status(build.folder, STAGES)
    assert counts(status)["select"] == (0, {"too_short": 2}, {}, 4)
    assert (status.state, status.num_runs, status.num_waiting) == ("killed", 2, 4)


def call(cost: float | None, from_cache: bool = False, outcome: str = "usable") -> Call:
    tokens = None if outcome == "timeout" else 10
    return Call("tag", "m", "tag", "key", 1, 1, outcome, tokens, tokens, cost, 1.0, from_cache)  # type: ignore[arg-type]


def test_requests_tokens_and_cost(build: OwnBuild) -> None:
    with Journal(build.folder.journal) as journal:
        journal.begin_run("base", [])
        for one in (call(0.5), call(0.25), call(None, outcome="timeout"), call(0, True)):
            asyncio.run(journal.add_call("v", "tag", one))
    status = read_status(build.folder, STAGES)
    row = status.stages[2]
    assert (row.num_requests, row.num_failed_requests, row.num_cached) == (3, 1, 1)
    assert (row.prompt_tokens, row.completion_tokens, row.cost) == (20, 20, 0.75)
    assert (status.cost, status.stages[0].cost) == (0.75, None)
    assert "cost 0.75" in status_line(status)


def test_rates_and_time_left(build: OwnBuild) -> None:
    """Four of ten settled in two minutes: three more to go at a minute and a half."""
    files = [FileState(str(n), str(n), 0, 0) for n in range(10)]
    with Journal(build.folder.journal) as journal:
        journal.begin_run("base", files)
        for n in range(4):
            asyncio.run(journal.add_record(str(n), "look", "h", "{}", 0.1, "base", 1))
            outcome = Outcome("done", "decide", 4) if n else Outcome("failed", "look", 0, "x")
            asyncio.run(journal.set_outcome(str(n), "base", "d", outcome))
        asyncio.run(journal.end_run("interrupted"))
    began = datetime(2026, 1, 1, tzinfo=UTC)
    with closing(open_database(build.folder.journal)) as connection:
        times = (began.isoformat(), (began + timedelta(minutes=2)).isoformat())
        connection.execute("UPDATE runs SET started_at = ?, ended_at = ?", times)
    status = read_status(build.folder, STAGES)
    assert status.seconds == 120
    assert status.seconds_left == 180  # 6 waiting, 4 in 120 s
    assert status.stages[0].per_minute == 2.0
    assert status.stages[1].per_minute is None


def test_a_running_build_can_be_looked_at(build: OwnBuild) -> None:
    seen: list[BuildStatus] = []

    def before(name: str, text: str) -> None:
        if name == "decide" and build.runs["decide"] == 4:
            seen.append(read_status(build.folder, STAGES))

    build.own.before = before
    build.settings["engine"] = {"videos_at_once": 1}
    with held(build.folder.lock):
        build.run()
    (status,) = seen
    assert status.state == "running" and status.process is not None
    assert counts(status) == {
        "look": (4, {}, {}, 2),
        "select": (4, {}, {}, 2),
        "tag": (4, {}, {}, 2),
        "decide": (3, {}, {}, 3),
    }


def test_the_command(build: OwnBuild, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(build.folder.path)
    assert main([folder]) == 2
    assert "no build lies there" in capsys.readouterr().err
    build.run()
    save_config(build.folder.config, build.config)
    assert main([folder]) == 0
    shown = capsys.readouterr().out
    assert "6 videos, run 1: finished" in shown
    assert "6 done, 0 rejected, 0 failed, 0 waiting; 0:00:0" in shown
    assert main([folder, "--json"]) == 0
    status = json.loads(capsys.readouterr().out)
    assert (status["num_done"], status["stages"][0]["done"]) == (6, 6)


def test_before_the_first_run(build: OwnBuild) -> None:
    with pytest.raises(JournalError, match="there is no journal"):
        read_status(build.folder, STAGES)
    Journal(build.folder.journal).close()
    with pytest.raises(JournalError, match="no run has begun"):
        read_status(build.folder, STAGES)
