"""`dar judge` from end to end against scripted servers: files, scores, exit codes, going on."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from affect.llm.scripted.process import ScriptedServer
from affect.run_folder import RunFolder
from evaluation.judge.__main__ import main
from evaluation.judge.judgements import judge_scores_path
from evaluation.run_results import load_run
from tests.evaluation.judge.judged_runs import (
    GOOD,
    Predicted,
    judge_run,
    judgements_path,
    reply_text,
    scores,
    segments,
    write_run,
)
from tests.evaluation.judge.obedient_judge import HONEST

ANSWERS = "tests.evaluation.judge.obedient_judge:answer"
TWO = [(0.0, 2.0, "Joy", GOOD), (2.0, 4.0, "Fear", f"{GOOD} It ends.")]
REPLIES = {
    "a": TWO,
    "b": [(0.0, 4.0, "Interest", f"{GOOD} Nothing else moves.")],
    "bare": [(0.0, 4.0, "Joy", "The viewer feels joy because")],
    "prose": "They are happy.",
    "none": None,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    folder = tmp_path_factory.mktemp("server")
    with ScriptedServer("openai", ANSWERS, folder, by_model=True, most_in_a_row=0) as started:
        yield started


@pytest.fixture(scope="module")
def gemini(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    with ScriptedServer("gemini", ANSWERS, tmp_path_factory.mktemp("server")) as started:
        yield started


def num_answered(server: ScriptedServer) -> int:
    return len(server.answered())


def test_hardened_from_replies_to_scores(
    tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path, REPLIES)
    before = num_answered(server)
    assert judge_run(run, server.base_url, samples=3) == 0
    assert num_answered(server) - before == 9  # three segments, three samples each
    said = capsys.readouterr()
    assert "Segments: 3 judged, 5 gated" in said.out
    assert "9 replies bought, cost 0." in said.err
    found = scores(run, "judge_hardened.scripted")
    row = found["overall"]
    # 3 judged, a bare opener, and two clips that weigh as their 2 true segments: over 8.
    assert row.mean == pytest.approx(3 * HONEST["score"] / 8)
    assert found["causal_logic"].mean == pytest.approx(3 * HONEST["causal_logic"] / 8)
    assert found["average"].mean == pytest.approx(3 * 2.0 / 8)
    assert (row.num_judged, row.num_gated, row.num_unscored) == (3, 5, 0)
    assert (row.num_unparsed, row.num_missing) == (1, 1)
    assert [(one.id, one.segment, one.state, one.num_samples) for one in segments(
        run, "judge_hardened.scripted"
    )] == [
        ("a", 0, "judged", 3), ("a", 1, "judged", 3), ("b", 0, "judged", 3),
        ("bare", 0, "gated", 0), ("prose", None, "gated", 0), ("none", None, "gated", 0),
    ]  # fmt: skip


def test_paper_counts_what_it_is_not_asked_about_as_0(
    tmp_path: Path, server: ScriptedServer
) -> None:
    fenced = reply_text([(0.0, 1.0, "Bliss", GOOD), (0.5, 9.0, "Fear", GOOD)])
    run = write_run(tmp_path, {**REPLIES, "fenced": f"```json\n{fenced}\n```"})
    before = num_answered(server)
    assert judge_run(run, server.base_url, judge="judge_paper") == 0
    assert num_answered(server) - before == 5
    row = scores(run, "judge_paper.scripted")["overall"]
    # 5 judged, two in a fence among them; a bare opener, and two clips of 2 true segments: over 10.
    assert row.mean == pytest.approx(5 * HONEST["score"] / 10)
    assert (row.num_judged, row.num_gated) == (5, 5)
    assert (row.num_unparsed, row.num_missing) == (1, 1)


@pytest.mark.parametrize("judge", ["judge_paper", "judge_hardened"])
def test_empty_replies_and_bare_openers_score_0_without_a_call(
    tmp_path: Path, server: ScriptedServer, judge: str
) -> None:
    """From no text at all to the first words of a reason, and what judges were seen to reward."""
    openers = ["", " \n", "...", ":", "Thought process:", "Solution", "Joy.", "Because"]
    replies: dict[str, Predicted | str | None] = {
        f"opener {place}": [(0.0, 4.0, "Joy", opener)] for place, opener in enumerate(openers)
    }
    texts = ["", " ", "{}", '{"segments": []}', ":", "Thought process:", "```json\n```"]
    replies |= {f"text {place}": text for place, text in enumerate(texts)}
    run = write_run(tmp_path, replies, with_clips=())
    before = num_answered(server)
    assert judge_run(run, server.base_url, judge=judge) == 0
    assert num_answered(server) == before
    row = scores(run, f"{judge}.scripted")["average"]
    assert (row.mean, row.num_judged, row.num_unscored) == (0.0, 0, 0)
    assert {one.id for one in segments(run, f"{judge}.scripted")} == set(replies)


def test_the_same_command_again_buys_nothing_and_changes_nothing(
    tmp_path: Path, server: ScriptedServer
) -> None:
    run = write_run(tmp_path, REPLIES)
    assert judge_run(run, server.base_url) == 0
    path = judgements_path(run, "judge_hardened.scripted")
    written = {one: one.read_bytes() for one in (path, judge_scores_path(path))}
    before = num_answered(server)
    assert judge_run(run, server.base_url) == 0
    assert num_answered(server) == before
    # Away with what was made of the replies: they are still there.
    for one in written:
        one.unlink()
    assert judge_run(run, server.base_url) == 0
    assert num_answered(server) == before
    assert {one: one.read_bytes() for one in written} == written


def test_two_judges_two_files_and_one_run(tmp_path: Path, server: ScriptedServer) -> None:
    run = write_run(tmp_path, {"a": TWO})
    assert judge_run(run, server.base_url) == 0
    assert judge_run(run, server.base_url, judge="judge_paper", model={"model": "x/y"}) == 0
    results = load_run(run, "test")
    assert sorted(results.judges) == ["judge_hardened.scripted", "judge_paper.x_y"]
    judged = results.judges["judge_paper.x_y"]
    assert (judged.scores[0].model, judged.judgements.header.samples) == ("x/y", 1)


@pytest.mark.parametrize("fault", ["refused", "cut_off", "missing_key"])
def test_unusable_replies_are_unscored_counted_and_tried_again(
    tmp_path: Path, server: ScriptedServer, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path, {"a": TWO, "bare": REPLIES["bare"]})
    assert judge_run(run, server.base_url, model={"model": fault}, max_asks=2) == 1
    label = f"judge_hardened.{fault}"
    assert [one.state for one in segments(run, label)] == ["unscored", "unscored", "gated"]
    row = scores(run, label)["overall"]
    assert (row.mean, row.num_judged, row.num_gated, row.num_unscored) == (0.0, 0, 1, 2)
    assert "unscored: a, segment 0: 0 of 1 samples can be used; judge: " in capsys.readouterr().err
    before = num_answered(server)
    assert judge_run(run, server.base_url, model={"model": fault}, max_asks=3) == 1
    assert num_answered(server) == before + 2  # the third ask: the first two are kept


def test_a_server_of_the_other_api(
    tmp_path: Path, gemini: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRIPTED_KEY", "secret")
    run = write_run(tmp_path, {"a": TWO})
    model = {"api": "gemini", "api_key_env": "SCRIPTED_KEY", "media": "inline"}
    for judge in ("judge_paper", "judge_hardened"):
        assert judge_run(run, gemini.base_url, judge=judge, model=model) == 0
        assert scores(run, f"{judge}.scripted")["causal_logic"].mean == HONEST["causal_logic"]
    assert segments(run, "judge_paper.scripted")[0].comment.startswith("1 pictures or videos")


def test_max_cost_ends_cleanly_and_more_of_it_goes_on(
    tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = {str(place): [(0.0, 4.0, "Joy", f"{GOOD} {place}")] for place in range(6)}
    run = write_run(tmp_path, replies)
    one_at_a_time = {"max_concurrent": 1}
    label = "judge_hardened.scripted"
    # A question costs about .0014.
    code = judge_run(run, server.base_url, model=one_at_a_time, limits={"max_cost": 0.002})
    assert code == 3
    said = capsys.readouterr().out
    assert "2 of 6 segments done, no scores yet" in said and "limits.max_cost (0.002)" in said
    assert not judge_scores_path(judgements_path(run, label)).exists()
    assert load_run(run, "test").judges == {}
    before = num_answered(server)
    assert judge_run(run, server.base_url, model=one_at_a_time) == 0
    assert num_answered(server) - before == 4
    assert scores(run, label)["overall"].num_judged == 6


def test_a_broken_clip_is_unscored_and_a_dead_server_ends_the_run(
    tmp_path: Path, server: ScriptedServer
) -> None:
    run = write_run(tmp_path, {"a": TWO, "b": TWO}, with_clips=["a"])
    (tmp_path / "videos" / "b.mp4").write_bytes(b"no clip")
    label = "judge_hardened.scripted"
    nobody = "http://127.0.0.1:9/v1"
    limits = {"max_attempts": 1, "max_failures_in_a_row": 2}
    assert judge_run(run, nobody, limits=limits) == 1
    assert not judge_scores_path(judgements_path(run, label)).exists()
    assert judge_run(run, server.base_url) == 1
    row = scores(run, label)["overall"]
    assert (row.num_judged, row.num_unscored, row.mean) == (2, 2, HONEST["score"])
    assert {one.why.partition(":")[0] for one in segments(run, label) if one.id == "b"} == {
        "the clip cannot be shown"
    }


@pytest.mark.parametrize(
    ("header", "keys", "message"),
    [
        ({"model": "Some/Scripted"}, {}, "would judge itself"),
        ({"endpoint": {"model": "scripted"}}, {}, "would judge itself"),
        ({"budget": None}, {}, "--budget default"),
        ({"budget": {"fps": -1}}, {}, "header field budget.fps"),
        ({"rows": None}, {}, "give --rows FILE"),
        ({"rows": "elsewhere.jsonl"}, {}, "the rows are not there"),
        ({"video_root": "elsewhere"}, {}, "holds none of the 1 videos"),
        ({}, {"name": "dev"}, "it has test"),
        ({}, {"budget": "nowhere.json"}, "nowhere.json: there is no such file"),
        ({}, {"model": {"api_key_env": "NOT_SET_ANYWHERE"}}, "judge: model: its key is read from"),
        (
            {},
            {"model": {"price_per_million_prompt_tokens": None}, "limits": {"max_cost": 1.0}},
            "judge: model: limits.max_cost is 1, but the price",
        ),
    ],
)
def test_mistakes_are_one_line_and_ask_nobody(
    tmp_path: Path,
    server: ScriptedServer,
    header: dict[str, Any],
    keys: dict[str, Any],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = write_run(tmp_path, {"a": TWO}, **header)
    before = num_answered(server)
    assert judge_run(run, server.base_url, **keys) == 2
    said = capsys.readouterr().err
    assert message in said
    assert len(said.splitlines()) == 1
    assert num_answered(server) == before


def test_what_was_refused_is_done_when_said_aloud(tmp_path: Path, server: ScriptedServer) -> None:
    run = write_run(tmp_path, {"a": TWO}, model="scripted", budget=None)
    assert judge_run(run, server.base_url, allow_self_judging=True, budget="default") == 0
    assert scores(run, "judge_hardened.scripted")["overall"].num_judged == 2


def test_other_replies_than_those_that_were_judged(
    tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path, {"a": TWO})
    assert judge_run(run, server.base_url) == 0
    predictions = RunFolder(run).predictions("test")
    predictions.write_text(predictions.read_text().replace("It ends.", "It goes on."))
    assert judge_run(run, server.base_url) == 2
    assert "predictions_sha256: " in capsys.readouterr().err
    judgements_path(run, "judge_hardened.scripted").unlink()
    before = num_answered(server)
    assert judge_run(run, server.base_url) == 0
    assert num_answered(server) == before + 1  # of the one that is another


def test_without_a_run_or_a_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", "configs/judge/paper.yaml"]) == 2
    assert capsys.readouterr().err == "judge: which run's replies? Give --run FOLDER\n"
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert "paper.yaml" in capsys.readouterr().err
