"""The command `analyse`: its tables, its file, and mistakes."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from affect.run_folder import RunFolder
from evaluation import analyse
from evaluation.analysis.analyse import analyse as analyse_clips
from evaluation.analysis.document import read_analysis
from evaluation.analysis.tables import analysis_tables
from evaluation.metrics import Bootstrap
from evaluation.predictions import result_path
from tests.evaluation.analysis.drawn import Written, load
from tests.evaluation.files import reply, write_predictions, write_rows
from tests.paths import ROOT

SPANS = [[0, 4, "Joy"], [4, 8, "Fear"]]
WRONG = [[0, 5, "Relief"], [5, 8, "Interest"]]
QUICK = ("--replicates", "20")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.jsonl", dict.fromkeys("abcd", SPANS))


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    replies = {"a": reply(SPANS), "b": reply(WRONG), "c": "not an object"}
    return write_predictions(tmp_path / "run" / "predictions" / "test.jsonl", replies)


def arguments(rows: Path, predictions: Path, *more: str) -> list[str]:
    return ["--rows", str(rows), "--predictions", str(predictions), *QUICK, *more]


def test_prints_the_headline_protocol_and_writes_all(
    rows: Path, predictions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyse.main(arguments(rows, predictions)) == 0
    documents = read_analysis(predictions.parents[1] / "analysis" / "test.json")
    assert [one.protocol for one in documents] == ["paper", "released", "strict"]
    strict = documents[2]
    assert (strict.num_scored, strict.num_unparsed, strict.num_missing) == (2, 1, 1)
    assert (strict.boundaries.num_paired, strict.boundaries.num_missed) == (2, 2)
    output = capsys.readouterr()
    for title in (
        "Emotions, strict",
        "Largest confusions, strict",
        "Transitions too frequent and too rare, strict",
        "Boundaries between segments, strict",
        "Groups of clips, strict",
    ):
        assert title in output.out
    assert "2 / 2 / 0" in output.out and ", paper" not in output.out
    assert output.err.endswith("analysis/test.json\n")


def test_a_named_protocol_is_printed_and_json_is_what_is_written(
    rows: Path, predictions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyse.main(arguments(rows, predictions, "--protocol", "paper")) == 0
    assert "Emotions, paper" in capsys.readouterr().out
    out = tmp_path / "elsewhere.json"
    assert analyse.main(arguments(rows, predictions, "--json", "--out", str(out))) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text("utf-8"))


def test_where_an_analysis_goes() -> None:
    assert result_path(Path("x/gpt.jsonl"), RunFolder.analysis, "analysis") == Path(
        "x/gpt.analysis.json"
    )
    inside = result_path(Path("runs/a/predictions/t.jsonl"), RunFolder.analysis, "analysis")
    assert inside == Path("runs/a/analysis/t.json")


def test_a_mistake_is_one_line_and_exit_code_2(
    rows: Path, predictions: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert analyse.main(arguments(tmp_path / "none.jsonl", predictions)) == 2
    error = capsys.readouterr().err
    assert error.startswith("analyse: ") and error.count("\n") == 1 and "none.jsonl" in error
    with pytest.raises(SystemExit) as stopped:
        analyse.main(["--help"])
    assert stopped.value.code == 0
    assert "(default: 2000)" in capsys.readouterr().out


def printed(written: list[Written], protocol: str) -> str:
    console = Console(file=io.StringIO(), width=200, color_system=None)
    for table in analysis_tables(analyse_clips(*load(written), protocol, Bootstrap(20))):
        console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_tables_by_hand() -> None:
    text = printed([("a", SPANS, SPANS), ("b", SPANS, WRONG), ("c", SPANS, None)], "strict")
    lines = [" ".join(line.replace("│", " ").split()) for line in text.splitlines()]
    assert any(line.startswith("Joy 3 1 1 100.0 [100.0, 100.0] 33.3 [") for line in lines)
    assert "Joy (none) 1 33.3" in lines and "Fear Interest 1 33.3" in lines
    whole = " ".join(lines)
    assert (
        "The two sides of 4 in 6 places differ; 4 pairs of labels in all. (none): no partner."
        in whole
    )
    assert "Relief Interest 0.0 (0) 50.0 (1) +50.0" in lines
    assert "Joy Fear 100.0 (3) 50.0 (1) -50.0" in lines
    assert "paired / missed / extra 2 / 1 / 0" in lines
    assert "mean absolute error, paired 0.50 s" in lines
    assert "median error, paired (below 0: too early) +0.50 s" in lines
    assert any(line.startswith("duration 5-10 s 2 / 0 / 1 66.7 [") for line in lines)


def test_hostile_labels_and_no_replies_are_told_too() -> None:
    text = printed([("a", SPANS, [[0, 4, "[red]\x1b[31mboo"], [4, 8, "Joy"]])], "paper")
    assert "[red]\ufffd[31mboo" in text and "\x1b" not in text
    assert "paired / missed / extra" in printed([("a", SPANS, None)], "released")


def test_analysing_imports_no_torch() -> None:
    code = (
        "import sys, evaluation.analyse\n"
        "heavy = {'torch', 'transformers', 'matplotlib', 'scipy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
