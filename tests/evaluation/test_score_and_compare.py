"""The commands `score` and `compare`: what they write, print and refuse."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from affect.file_hash import sha256_of_file
from affect.run_folder import RunFolder
from evaluation import analyse, compare, score
from evaluation.compare import compare_files, named_file
from evaluation.predictions import result_path
from evaluation.report import __main__ as report
from tests.evaluation.files import reply, write_lines, write_predictions, write_rows
from tests.paths import ROOT

SPANS = [[0, 4, "Joy"], [4, 8, "Fear"]]
WRONG = [[0, 4, "Relief"], [4, 8, "Interest"]]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.jsonl", dict.fromkeys("abcd", SPANS))


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    replies = {"a": reply(SPANS), "b": reply(WRONG), "c": "not an object"}
    return write_predictions(tmp_path / "run" / "predictions" / "test.jsonl", replies)


def arguments(rows: Path, predictions: Path, *more: str) -> list[str]:
    return ["--rows", str(rows), "--predictions", str(predictions), *more]


def test_scores_file_beside_the_predictions(
    rows: Path, predictions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score.main(arguments(rows, predictions)) == 0
    written = json.loads((predictions.parents[1] / "scores" / "test.json").read_text("utf-8"))
    assert list(written[0]) == [
        "protocol",
        "metric",
        "mean",
        "low",
        "high",
        "num_scored",
        "num_unparsed",
        "num_missing",
    ]
    protocols = list(dict.fromkeys(row["protocol"] for row in written))
    assert protocols == ["paper", "released", "strict"]
    strict = {row["metric"]: row for row in written if row["protocol"] == "strict"}
    assert strict["emo_acc"]["mean"] == 0.25
    assert strict["miou_segment"]["mean"] == 0.5
    assert strict["valid_json"]["mean"] == 0.5
    assert [strict["emo_acc"][key] for key in ("num_scored", "num_unparsed", "num_missing")] == [
        2,
        1,
        1,
    ]
    output = capsys.readouterr()
    assert "2 / 1 / 1" in output.out and "25.0 [" in output.out
    assert output.err.endswith("scores/test.json\n")


def test_json_on_stdout_is_what_is_written(
    rows: Path, predictions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "elsewhere.json"
    more = ("--json", "--protocol", "strict", "--out", str(out), "--replicates", "50")
    assert score.main(arguments(rows, predictions, *more)) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == json.loads(out.read_text("utf-8"))
    assert {row["protocol"] for row in shown} == {"strict"}


@pytest.mark.parametrize("is_changed", [False, True])
def test_rows_that_were_written_anew_are_told(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], is_changed: bool
) -> None:
    """The same ids with other truths score without a word in a file of predictions."""
    header = {"model": "m", "rows": str(rows), "rows_sha256": sha256_of_file(rows)}
    path = write_lines(
        tmp_path / "run" / "predictions" / "test.jsonl",
        [{"header": header}, {"id": "a", "text": reply(SPANS)}],
    )
    if is_changed:
        write_rows(rows, dict.fromkeys("abcd", WRONG))
    two = ["--rows", str(rows), "--base", f"A={path}", "--other", f"B={path}"]
    for main, given in (
        (score.main, arguments(rows, path, "--replicates", "5")),
        (analyse.main, arguments(rows, path, "--replicates", "5")),
        (compare.main, [*two, "--replicates", "5"]),
        (report.main, [str(tmp_path / "run")]),
    ):
        assert main(given) == 0
        error = capsys.readouterr().err
        assert (f"{rows} has another content" in error) == is_changed, error
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert ("The rows are not those that were answered by" in page) == is_changed


def test_scores_of_a_file_that_is_in_no_run() -> None:
    assert result_path(Path("x/gpt.jsonl"), RunFolder.scores, "scores") == Path("x/gpt.scores.json")


def test_a_mistake_is_one_line_and_exit_code_2(
    rows: Path, predictions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert score.main(arguments(tmp_path / "none.jsonl", predictions)) == 2
    assert "none.jsonl" in capsys.readouterr().err
    assert score.main(arguments(rows, predictions, "--replicates", "0")) == 2
    assert "1 replicate or more" in capsys.readouterr().err
    with predictions.open("a", encoding="utf-8") as file:
        file.write('{"id": "a", "text": "again"}\n')
    assert score.main(arguments(rows, predictions)) == 2
    error = capsys.readouterr().err
    assert error.startswith("score: ") and error.count("\n") == 1
    assert "test.jsonl:5: id 'a' was answered on line 2" in error


@pytest.mark.parametrize("module", [score, compare], ids=["score", "compare"])
def test_usage_errors_and_help(module: object, capsys: pytest.CaptureFixture[str]) -> None:
    main = module.main  # type: ignore[attr-defined]
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert "--replicates" in text and "(default: 2000)" in text


def test_compare_prints_and_writes_differences(
    rows: Path, predictions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write_predictions(
        tmp_path / "gold" / "predictions" / "test.jsonl", dict.fromkeys("abcd", reply(SPANS))
    )
    out = tmp_path / "c.json"
    code = compare.main(
        [
            *("--rows", str(rows), "--base", f"SFT={predictions}", "--other", f"GRPO={gold}"),
            *("--also", str(gold), "--out", str(out)),
        ]
    )
    assert code == 0
    text = capsys.readouterr().out
    assert "GRPO minus SFT" in text and "gold/test" in text and "+75.0 [" in text
    written = json.loads(out.read_text("utf-8"))
    assert list(written["scores"]) == ["gold/test", "SFT", "GRPO"]
    (change,) = [
        row
        for row in written["differences"]
        if (row["protocol"], row["metric"]) == ("strict", "emo_acc")
    ]
    assert change["difference"] == 0.75
    assert change["low"] < 0.75 < change["high"]
    assert (change["base"], change["other"], change["num_clips"]) == ("SFT", "GRPO", 4)
    # Base is right on one of four clips: only a draw of that one alone has no difference.
    assert 0.95 < change["share_above_zero"] < 1


def test_the_table_shows_the_metrics_that_are_asked_for(
    rows: Path, predictions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quick = ("--protocol", "strict", "--replicates", "10")
    assert score.main(arguments(rows, predictions, *quick)) == 0
    assert "of all places" not in capsys.readouterr().out
    assert score.main(arguments(rows, predictions, *quick, "--all-metrics")) == 0
    assert "Emo-Acc at tIoU .7, of all places" in capsys.readouterr().out
    only = ("--metric", "emo_acc_given_iou_0.3")
    pair = ("--base", f"A={predictions}", "--other", f"B={predictions}")
    assert compare.main(["--rows", str(rows), *pair, *quick, *only]) == 0
    shown = capsys.readouterr().out
    assert "Emo-Acc of places with tIoU .3" in shown and "SC-Acc" not in shown
    assert compare.main(["--rows", str(rows), *pair, "--metric", "f1"]) == 2
    assert "no metric called 'f1'" in capsys.readouterr().err


def test_compare_refuses_two_files_of_one_name(
    rows: Path, predictions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        compare.main(["--rows", str(rows), "--base", str(predictions), "--other", str(predictions)])
    assert stopped.value.code == 2
    assert "two files are called 'run/test'" in capsys.readouterr().err


def test_any_number_of_files_and_pairs(rows: Path, predictions: Path) -> None:
    files = dict.fromkeys(("base", "SFT", "GRPO"), predictions)
    found = compare_files(rows, files, [("SFT", "GRPO"), ("base", "GRPO")], protocols=["strict"])
    assert list(found.scores) == ["base", "SFT", "GRPO"]
    assert {(row.base, row.other) for row in found.differences} == {
        ("SFT", "GRPO"),
        ("base", "GRPO"),
    }
    with pytest.raises(ValueError, match="no predictions are called 'RL'"):
        compare_files(rows, files, [("SFT", "RL")])


def test_names_of_files(tmp_path: Path) -> None:
    assert named_file("GRPO=runs/a/predictions/test.jsonl") == (
        "GRPO",
        Path("runs/a/predictions/test.jsonl"),
    )
    assert named_file("runs/a/predictions/test.jsonl")[0] == "a/test"
    assert named_file("gpt.jsonl") == ("gpt", Path("gpt.jsonl"))
    odd = tmp_path / "x=y.jsonl"
    odd.touch()
    assert named_file(str(odd)) == ("x=y", odd)


def test_scoring_imports_no_torch_and_no_rewards() -> None:
    code = (
        "import sys, evaluation.metrics, evaluation.score, evaluation.compare, evaluation.predict\n"
        "heavy = {'torch', 'transformers', 'rewards', 'train'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
