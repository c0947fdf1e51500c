"""One command from somebody else's files to scores and a page."""

import json
from pathlib import Path

import pytest

from evaluation.evaluate import is_rows_file, main
from evaluation.predictions import read_predictions
from tests.affect.video.clips import write_clip
from tests.evaluation.files import reply, write_lines, write_rows

SPANS = [[0, 4, "Joy"], [4, 8, "Fear"]]


def scores(run: Path, name: str) -> dict[str, float]:
    rows = json.loads((run / "scores" / f"{name}.json").read_text(encoding="utf-8"))
    return {row["metric"]: row["mean"] for row in rows if row["protocol"] == "strict"}


def test_replies_that_are_there_become_scores_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_rows(tmp_path / "test.sft.jsonl", {"a": SPANS, "b": SPANS, "c": SPANS})
    theirs = tmp_path / "theirs.json"
    theirs.write_text(json.dumps({"a": {"response": reply(SPANS)}, "b": {"response": "Joy."}}))
    run = tmp_path / "runs" / "videmo"
    command = ["--predictions", str(theirs), "--system", "Videmo", "--rows", str(rows)]
    assert main([*command, "--out", str(run), "--no-report"]) == 0
    found = scores(run, "test")
    assert found["emo_acc"] == pytest.approx(1 / 3)
    assert found["valid_timeline"] == pytest.approx(1 / 3)
    assert (run / "analysis" / "test.json").is_file()
    assert not (run / "report.html").exists()
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("==")]
    assert [line.split()[3] for line in told] == [
        "evaluation.import_predictions", "evaluation.score", "evaluation.analyse",
    ]  # fmt: skip
    # An option of the import's is handed on, and started again it goes over what is there.
    assert main([*command, "--out", str(run), "--no-report", "--id-field", "id"]) == 2
    assert main([*command, "--out", str(run), "--no-report"]) == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["--predictions", "theirs.json"], "--predictions FILE and --system NAME go together"),
        (
            ["--predictions", "t.json", "--system", "S", "--run", "r"],
            "no model is asked, so --run does not fit",
        ),
        (["--model", "m"], "--out FOLDER is needed"),
        (["--model", "m", "--out", "o", "--name", "../x"], "must be a plain file name"),
        (["--model", "m", "--out", "o", "--judge-budget", "default"], "needs --judge FILE"),
    ],
)
def test_options_that_do_not_fit(
    command: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--rows", "rows.jsonl", *command])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_told_command_holds_no_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_rows(tmp_path / "test.sft.jsonl", {"a": SPANS})
    server = ["--endpoint.base_url", "http://me:secret@127.0.0.1:9/v1", "--endpoint.model", "m"]
    # No budget is named, so nobody is asked.
    assert main([*server, "--rows", str(rows), "--out", str(tmp_path / "o")]) == 2
    error = capsys.readouterr().err
    assert "http://***@127.0.0.1:9/v1" in error and "secret" not in error


def test_a_step_that_fails_ends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_rows(tmp_path / "test.sft.jsonl", {"a": SPANS})
    command = ["--model", str(tmp_path / "none"), "--rows", str(rows), "--out", str(tmp_path / "o")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "there is no such model folder" in error and "evaluation.score" not in error
    assert main(["--rows", str(tmp_path / "none.csv"), "--out", "o"]) == 2
    assert "none.csv: there is no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "who is asked? Give one of"),
        (["--model", "m", "--temprature", "1"], "unrecognized arguments: --temprature 1"),
        (
            ["--predictions", "t.json", "--system", "S", "--no-reprot"],
            "unrecognized arguments: --no-reprot",
        ),
        (
            ["--predictions", "t.json", "--system", "S", "--top-k", "3"],
            "unrecognized arguments: --top-k 3",
        ),
    ],
)
def test_a_mistake_about_a_step_shows_before_annotations_are_decoded(
    tmp_path: Path, options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = tmp_path / "theirs.csv"
    theirs.write_text("video,start,end,emotion\na.mp4,0,4,Joy\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main([*options, "--rows", str(theirs), "--out", str(tmp_path / "o")])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert said in error and "==" not in error
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        (None, "judge.yaml: there is no such file"),
        ("judge: judge_paper\nmodle: {}\n", 'unknown key "modle"'),
        (
            "judge: judge_paper\nmodel: {model: gpt-4o, api_key_env: NOT_SET_ANYWHERE}\n",
            "environment variable NOT_SET_ANYWHERE, which is not set",
        ),
    ],
)
def test_a_mistake_about_the_judge_shows_before_the_first_step(
    tmp_path: Path, judge: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_rows(tmp_path / "test.sft.jsonl", {"a": SPANS})
    path = tmp_path / "judge.yaml"
    if judge is not None:
        path.write_text(judge)
    command = ["--predictions", str(tmp_path / "theirs.json"), "--system", "S", "--rows", str(rows)]
    assert main([*command, "--out", str(tmp_path / "o"), "--judge", str(path)]) == 2
    error = capsys.readouterr().err
    assert said in error and "==" not in error


def test_imported_replies_are_judged_on_the_frames_that_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing in them is worth asking about, so no server is needed."""
    rows = write_rows(tmp_path / "test.sft.jsonl", {"a": SPANS, "b": SPANS})
    theirs = tmp_path / "theirs.json"
    theirs.write_text(json.dumps({"a": {"response": ""}}))
    judge = tmp_path / "judge.yaml"
    judge.write_text(
        "judge: judge_paper\nmodel: {model: scripted, base_url: 'http://[::1]:9/v1'}\n"
    )
    run = tmp_path / "videmo"
    command = ["--predictions", str(theirs), "--system", "Videmo", "--rows", str(rows)]
    command += ["--judge", str(judge), "--no-report", "--out", str(run)]
    assert main(command) == 2
    assert "--judge-budget default" in capsys.readouterr().err
    assert main([*command, "--judge-budget", "default"]) == 0
    assert "Segments: 0 judged, 4 gated" in " ".join(capsys.readouterr().out.split())
    assert (run / "judgements" / "test" / "judge_paper.scripted.scores.json").is_file()


def test_what_counts_as_rows(tmp_path: Path) -> None:
    assert is_rows_file(write_rows(tmp_path / "a.jsonl", {"a": SPANS}))
    assert is_rows_file(write_lines(tmp_path / "b.jsonl", [{"messages": [], "solution": ""}]))
    assert is_rows_file(write_lines(tmp_path / "broken.jsonl", ["{"]))
    assert not is_rows_file(write_lines(tmp_path / "c.jsonl", [{"video": "a.mp4", "segments": []}]))
    assert not is_rows_file(write_lines(tmp_path / "d.csv", ["video,start,end,emotion"]))


@pytest.mark.slow
def test_somebody_elses_model_on_somebody_elses_annotations(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tiny model of random weights says nothing that can be read, and that is what is counted."""
    pytest.importorskip("torch")
    from affect.model.tiny import save_tiny
    from tests.tiny import SIZES, TEXTS

    save_tiny(tmp_path / "model", TEXTS * 4, vocabulary_size=512, hidden_size=SIZES["hidden_size"])
    (tmp_path / "videos").mkdir()
    for name in ("a b.mp4", "c.mp4"):
        write_clip(tmp_path / "videos" / name, num_frames=50)
    end = 2.0
    theirs = tmp_path / "theirs.csv"
    lines = [f"{name},0,{end},Joy" for name in ("a b.mp4", "c.mp4")]
    theirs.write_text("video,start,end,emotion\n" + "".join(line + "\n" for line in lines))
    run = tmp_path / "runs" / "theirs"
    command = [
        "--model", str(tmp_path / "model"), "--budget", "default", "--max-new-tokens", "8",
        "--device", "cpu", "--rows", str(theirs), "--video-root", str(tmp_path / "videos"),
        "--out", str(run),
    ]  # fmt: skip
    assert main(command) == 0
    assert len(read_predictions(run / "predictions" / "theirs.jsonl").answered) == 2
    assert scores(run, "theirs")["valid_timeline"] == 0
    assert "a b.mp4" in (run / "report.html").read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(command) == 0
    assert "all 2 rows are answered already" in capsys.readouterr().out
