"""Score files of a run: figures as they stand, scores of other weights apart, faults by name."""

from pathlib import Path
from typing import Any

import pytest

from affect.run_folder import RunFolder
from publish.score_files import Figure, read_scores
from tests.publish.runs import score_row, write_scores

SHA = "a" * 64


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder(tmp_path)


def test_no_scores(run: RunFolder) -> None:
    assert read_scores(run, {SHA}) == []


def test_figures_as_they_stand(run: RunFolder) -> None:
    rows = [score_row("strict", "miou_segment", 0.5), score_row("released", "emo_acc", None)]
    write_scores(run, "test", rows, {"model": "x", "model_sha256": SHA, "rows": "r.jsonl"})
    [file] = read_scores(run, {SHA})
    assert file.name == "test" and file.left_out is None
    assert file.rows == {
        ("strict", "miou_segment"): Figure(0.5, 0.375, 0.625, 90, 7, 3),
        ("released", "emo_acc"): Figure(None, None, None, 90, 7, 3),
    }
    assert file.asked is not None and file.asked["rows"] == "r.jsonl"


def test_other_weights_are_another_model(run: RunFolder) -> None:
    write_scores(run, "dev", [score_row("strict", "sc_acc")], {"model": "x", "model_sha256": SHA})
    write_scores(run, "old", [score_row("strict", "sc_acc")], {"model": "x", "model_sha256": "b"})
    write_scores(run, "unknown", [score_row("strict", "sc_acc")])
    files = read_scores(run, {SHA, "c" * 64})
    assert [(file.name, file.left_out) for file in files] == [
        ("dev", None),
        ("old", "other weights gave the answers"),
        ("unknown", None),
    ]
    assert files[2].asked is None


def test_a_file_of_another_kind_is_named(run: RunFolder) -> None:
    write_scores(run, "judge", {"mean": 1}, None)  # type: ignore[arg-type]
    [file] = read_scores(run, {SHA})
    assert file.left_out == "it holds no score rows" and file.rows == {}


@pytest.mark.parametrize(
    "change",
    [
        {"mean": 1.5},
        {"mean": -0.1},
        {"mean": True},
        {"mean": "0.5"},
        {"low": [0.1]},
        {"num_scored": -1},
        {"num_scored": 1.0},
        {"num_missing": None},
        {"metric": None},
        {"protocol": 3},
    ],
    ids=str,
)
def test_values_that_no_score_has(run: RunFolder, change: dict[str, Any]) -> None:
    write_scores(run, "test", [score_row("strict", "sc_acc"), score_row("a", "b", **change)])
    with pytest.raises(ValueError, match=r"test\.json: row 2: "):
        read_scores(run, {SHA})


def test_a_figure_that_stands_there_twice(run: RunFolder) -> None:
    write_scores(run, "test", [score_row("strict", "sc_acc"), score_row("strict", "sc_acc", 0.25)])
    with pytest.raises(ValueError, match="row 2: sc_acc under strict stands there twice"):
        read_scores(run, {SHA})


@pytest.mark.parametrize("text", ["", "[", "[{]", "NaN", '[{"mean": NaN}]', "[" * 100_000])
def test_what_is_no_json(run: RunFolder, text: str) -> None:
    run.scores("test").parent.mkdir()
    run.scores("test").write_text(text)
    with pytest.raises(ValueError, match=r"test\.json: not JSON"):
        read_scores(run, {SHA})


@pytest.mark.parametrize("line", ["", "{", "[]", '{"header": 1}', '{"id": "a"}'])
def test_predictions_without_a_header(run: RunFolder, line: str) -> None:
    write_scores(run, "test", [score_row("strict", "sc_acc")], {})
    run.predictions("test").write_text(line + "\n")
    with pytest.raises(ValueError, match=r"test\.jsonl: line 1 is no header"):
        read_scores(run, {SHA})
