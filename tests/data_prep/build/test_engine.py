"""The engine with stages of its own: what runs, what does not run again, how failures are kept."""

import asyncio
import gc
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from affect.llm.chat import BudgetSpentError, ModelFailure, Question
from affect.llm.scripted_models import ScriptedModels
from data_prep.build.finished import finished_videos, outcomes
from data_prep.build.outcome import Outcome
from data_prep.build.run_video import BuildBrokenError
from data_prep.build.stop import Stop
from data_prep.records import Candidates, Decided, FinalSegment, Looked, Selected, Tagged
from tests.data_prep.build.own_stages import OwnBuild, answer_by_text, write_files


@pytest.fixture
def build(tmp_path: Path) -> OwnBuild:
    return OwnBuild(tmp_path / "build", write_files(tmp_path / "videos", 5))


ALL_FOUR = {"look": 5, "select": 5, "tag": 5, "decide": 5}


def test_a_finished_build_is_looked_up_only(build: OwnBuild) -> None:
    summary, seen = build.run()
    assert build.runs == ALL_FOUR
    assert (summary.ending, summary.num_videos, summary.num_known) == ("finished", 5, 0)
    assert {outcome.state for outcome in seen.values()} == {"done"}
    again, seen_again = build.run()
    assert build.runs == ALL_FOUR
    assert (again.num_known, again.counts) == (5, summary.counts)
    assert seen_again == seen


def test_what_is_finished(build: OwnBuild) -> None:
    build.candidates["0003.txt"] = Candidates(emotions=("Awe (or Wonder)",))
    build.run()
    finished = list(finished_videos(build.folder, build.config))
    assert [one.video.id for one in finished] == [f"000{n}.txt" for n in range(5)]
    assert finished[3].path.read_text() == "clip number 3"
    assert finished[3].tagged is not None
    assert finished[3].tagged.genre == "genre of clip number 3"
    assert finished[3].decided.segments == (
        FinalSegment(
            start_seconds=0.0,
            end_seconds=13.0,
            emotion="Joy",
            reason="genre of clip number 3 Awe (or Wonder)",
        ),
    )
    assert finished[3].source == "vce"


@pytest.mark.parametrize(
    ("setting", "rerun"),
    [
        ({"picture": {"frame_side": 64}}, {"look": 5, "tag": 5}),
        ({"picture": {"cut_threshold": 20.0}}, {"look": 5}),
        ({"select": {"min_duration_seconds": 2.0}}, {"select": 5}),
        ({"snap": {"window_seconds": 0.25}}, {"tag": 5}),
        ({"judge": {"max_tokens": 7}, "limits": {"max_asks": 2}, "export": {"dev_share": 0.5}}, {}),
        ({"models": {"tagger": {"model": "another-model"}}}, {"tag": 5}),
        ({"models": {"tagger": {"model": "a-model", "base_url": "http://elsewhere/v1"}}}, {}),
    ],
    ids=lambda value: "-".join(value),
)
def test_a_change_redoes_what_depends_on_it(
    build: OwnBuild, setting: dict[str, object], rerun: dict[str, int]
) -> None:
    """And nothing after it, where its record comes out equal."""
    build.run()
    build.runs.clear()
    build.settings |= setting
    summary, _ = build.run()
    assert build.runs == rerun
    assert summary.num("done") == 5


def test_other_records_redo_what_reads_them(build: OwnBuild) -> None:
    build.run()
    build.runs.clear()
    build.models = ScriptedModels(lambda role, question, num_ask: '{"genre": "Horror"}')
    build.settings["models"] = {"tagger": {"model": "another-model"}}
    build.run()
    assert build.runs == {"tag": 5, "decide": 5}


def test_a_changed_prompt_redoes_its_stage(
    build: OwnBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    build.run()
    build.runs.clear()
    monkeypatch.setattr("affect.prompts.load_prompt", lambda name: "Another $duration text.")
    build.run()
    assert build.runs == {"tag": 5}


def test_other_candidates_redo_that_video(build: OwnBuild) -> None:
    build.run()
    build.runs.clear()
    build.candidates["0001.txt"] = Candidates(emotions=("Fear",))
    summary, _ = build.run()
    assert build.runs == {"decide": 1}
    assert summary.num_known == 4


def test_going_back_to_an_earlier_setting_redoes_nothing(build: OwnBuild) -> None:
    build.run()
    build.settings["select"] = {"min_duration_seconds": 14.0}
    summary, _ = build.run()
    assert summary.counts == {("rejected", "select", "too_short"): 5}
    assert list(finished_videos(build.folder, build.config)) == []
    build.settings["select"] = {}
    build.runs.clear()
    summary, _ = build.run()
    assert (build.runs, summary.num("done")) == ({}, 5)
    assert len(list(finished_videos(build.folder, build.config))) == 5


def test_another_content_is_another_video(build: OwnBuild) -> None:
    build.run()
    build.runs.clear()
    (build.config.videos.root / "0002.txt").write_text("something else entirely")
    (build.config.videos.root / "0004.txt").unlink()
    summary, _ = build.run()
    assert (summary.num_videos, summary.num_known) == (4, 3)
    assert build.runs == {"look": 1, "select": 1, "tag": 1, "decide": 1}
    finished = {one.video.id: one for one in finished_videos(build.folder, build.config)}
    assert sorted(finished) == ["0000.txt", "0001.txt", "0002.txt", "0003.txt"]
    assert finished["0002.txt"].decided.segments[0].end_seconds == 23.0


def test_lost_frames_are_made_again_where_they_are_needed(build: OwnBuild) -> None:
    build.run()
    for pack in build.folder.path.glob("frames/*/*.zip"):
        pack.unlink()
    build.runs.clear()
    build.run()
    assert build.runs == {}  # finished videos need none
    build.settings["snap"] = {"window_seconds": 0.25}
    build.run()
    assert build.runs == {"look": 5, "tag": 5}


def test_a_failure_is_kept_and_tried_again_in_the_next_run(build: OwnBuild) -> None:
    (build.config.videos.root / "0002.txt").write_text("broken")
    is_down = True

    def answer(role: str, question: Question, num_ask: int) -> str:
        if is_down and question.parts[0] == "clip number 3":
            raise ModelFailure("server_error", "tagger", "HTTP 503")
        return answer_by_text(role, question, num_ask)

    build.models = ScriptedModels(answer)
    for _ in range(2):
        summary, seen = build.run()
        assert summary.counts == {
            ("done", "decide", ""): 3,
            ("failed", "look", "undecodable"): 1,
            ("failed", "tag", "server_error"): 1,
        }
        assert seen["0003.txt"].detail == "tagger: HTTP 503"
        assert seen["0002.txt"].detail == "it says so itself"
    assert build.runs == {"look": 4 + 2, "select": 4, "tag": 3 + 2, "decide": 3}
    with closing(sqlite3.connect(build.folder.journal)) as journal:
        rows = journal.execute("SELECT video, stage, kind, count FROM failures ORDER BY 1")
        assert rows.fetchall() == [
            ("0002.txt", "look", "undecodable", 2), ("0003.txt", "tag", "server_error", 2),
        ]  # fmt: skip
    assert len(list(finished_videos(build.folder, build.config))) == 3
    is_down = False
    summary, _ = build.run()
    assert (summary.num("done"), summary.num("failed")) == (4, 1)
    states = {video: outcome.state for video, outcome in outcomes(build.folder) if outcome}
    assert states == {f"000{n}.txt": "failed" if n == 2 else "done" for n in range(5)}


def test_a_bug_is_one_videos_failure_with_its_place(build: OwnBuild) -> None:
    def before(name: str, text: str) -> None:
        if text == "clip number 1" and name == "tag":
            raise KeyError("surprise")

    build.own.before = before
    summary, seen = build.run()
    assert summary.counts == {("done", "decide", ""): 4, ("failed", "tag", "error"): 1}
    assert "KeyError: 'surprise'" in seen["0001.txt"].detail
    assert "own_stages.py" in seen["0001.txt"].detail


def test_a_file_that_cannot_be_read_is_a_failure(build: OwnBuild) -> None:
    (build.config.videos.root / "gone.txt").symlink_to(build.config.videos.root / "nowhere")
    summary, seen = build.run()
    assert summary.num("done") == 5
    assert (seen["gone.txt"].state, seen["gone.txt"].kind) == ("failed", "unreadable")


def test_a_server_that_is_gone_ends_the_run(build: OwnBuild) -> None:
    """Every second video is broken, which says nothing of the server and does not count."""
    for number in range(12):
        text = f"clip {number}" if number % 2 else "broken"
        (build.config.videos.root / f"1{number:03d}.txt").write_text(text)

    def answer(role: str, question: Question, num_ask: int) -> str:
        if "clip number" in str(question.parts[0]):
            return answer_by_text(role, question, num_ask)
        raise ModelFailure("connection", "tagger", "nobody listens")

    build.models = ScriptedModels(answer)
    build.settings |= {"engine": {"videos_at_once": 1}, "limits": {"max_failures_in_a_row": 3}}
    stop = Stop()
    summary, seen = build.run(stop)
    assert summary.ending == "gave_up"
    assert stop.reason == (
        "3 videos in a row failed for a server, the last one in tag: connection: "
        "tagger: nobody listens"
    )
    assert summary.counts == {
        ("done", "decide", ""): 5, ("failed", "look", "undecodable"): 3,
        ("failed", "tag", "connection"): 3,
    }  # fmt: skip
    assert len(seen) == 11  # the other six were not begun
    build.models = ScriptedModels(answer_by_text)
    summary, _ = build.run()
    assert (summary.ending, summary.num("done")) == ("finished", 11)


def test_a_spent_budget_ends_the_run_and_the_next_goes_on(build: OwnBuild) -> None:
    num_asked = 0

    def answer(role: str, question: Question, num_ask: int) -> str:
        nonlocal num_asked
        num_asked += 1
        if num_asked > 2:
            raise BudgetSpentError("10.0 of 10 is spent")
        return answer_by_text(role, question, num_ask)

    build.models = ScriptedModels(answer)
    build.settings["engine"] = {"videos_at_once": 1}
    stop = Stop()
    summary, seen = build.run(stop)
    assert (summary.ending, stop.reason) == ("budget_spent", "10.0 of 10 is spent")
    assert sorted(seen) == ["0000.txt", "0001.txt"]
    assert build.runs == {"look": 3, "select": 3, "tag": 3, "decide": 2}
    assert [video for video, outcome in outcomes(build.folder) if outcome is None] == [
        "0002.txt", "0003.txt", "0004.txt",
    ]  # fmt: skip
    build.models = ScriptedModels(answer_by_text)
    build.runs.clear()
    summary, _ = build.run()
    assert summary.num("done") == 5
    assert build.runs == {"look": 2, "select": 2, "tag": 3, "decide": 3}


def test_an_interrupt_keeps_what_was_answered(build: OwnBuild) -> None:
    stop = Stop(grace_seconds=0.0)

    def answer(role: str, question: Question, num_ask: int) -> str:
        if question.parts[0] == "clip number 2":
            stop.interrupt()
        return answer_by_text(role, question, num_ask)

    build.models = ScriptedModels(answer)
    build.settings["engine"] = {"videos_at_once": 1}
    summary, seen = build.run(stop)
    assert summary.ending == "interrupted"
    assert sorted(seen) == ["0000.txt", "0001.txt"]
    build.models = ScriptedModels(answer_by_text)
    build.runs.clear()
    build.run()
    assert build.runs == {"look": 2, "select": 2, "tag": 2, "decide": 3}


def test_a_full_disk_ends_the_run_and_blames_no_video(build: OwnBuild) -> None:
    def before(name: str, text: str) -> None:
        if text == "clip number 3":
            raise OSError(28, "No space left on device")

    build.own.before = before
    build.settings["engine"] = {"videos_at_once": 2}
    with pytest.raises(BuildBrokenError, match="No space left on device; make room"):
        build.run()
    assert not [video for video, outcome in outcomes(build.folder) if _failed(outcome)]
    build.own.before = lambda name, text: None
    assert build.run()[0].num("done") == 5


def _failed(outcome: Outcome | None) -> bool:
    return outcome is not None and outcome.state == "failed"


def num_records() -> int:
    kinds = {Looked, Selected, Tagged, Decided}
    return sum(type(thing) in kinds for thing in gc.get_objects())


@pytest.mark.parametrize("num_videos", [30, 300])
def test_no_more_is_alive_than_is_under_way(tmp_path: Path, num_videos: int) -> None:
    """Ten times the videos, the same bound on records that are alive at once."""
    build = OwnBuild(tmp_path / "build", write_files(tmp_path / "videos", num_videos))
    build.settings["engine"] = {"videos_at_once": 3}
    most_records = most_tasks = 0

    def before(name: str, text: str) -> None:
        nonlocal most_records, most_tasks
        if name == "decide" and build.runs["decide"] % (num_videos // 10) == 0:
            most_records = max(most_records, num_records())
            most_tasks = max(most_tasks, len(asyncio.all_tasks()))

    build.own.before = before
    gc.collect()
    there_before = num_records()
    assert build.run()[0].num("done") == num_videos
    # Of each video under way: three records, one being made, and the same as it is read back.
    assert 3 <= most_records - there_before <= 3 * 5
    assert most_tasks <= 3 + 2


def test_equal_clips_share_their_frames(build: OwnBuild) -> None:
    (build.config.videos.root / "copy.txt").write_text("clip number 1")
    summary, _ = build.run()
    assert summary.num("done") == 6
    assert len(list(build.folder.path.glob("frames/*/*.zip"))) == 5
