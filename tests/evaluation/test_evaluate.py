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
    # Started again it goes over what is there.
    assert main([*command, "--out", str(run), "--no-report"]) == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["--predictions", "theirs.json"], "--predictions FILE and --system NAME go together"),
        (["--predictions", "t.json", "--system", "S", "--top-k", "3", "--out", "o"], "is imported"),
        (["--model", "m"], "--out FOLDER is needed"),
    ],
)
def test_options_that_do_not_fit(
    command: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--rows", "rows.jsonl", *command])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_step_that_fails_ends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_rows(tmp_path / "test.sft.jsonl", {"a": SPANS})
    command = ["--model", str(tmp_path / "none"), "--rows", str(rows), "--out", str(tmp_path / "o")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "there is no such model folder" in error and "evaluation.score" not in error
    assert main(["--rows", str(tmp_path / "none.csv"), "--out", "o"]) == 2
    assert "none.csv: there is no such file" in capsys.readouterr().err


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
