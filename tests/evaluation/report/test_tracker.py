"""The report's tables in an experiment tracker, read back from what wandb wrote offline."""

import builtins
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from affect.taxonomy import DAR_EMOTIONS
from evaluation.analysis.analyse import analyse
from evaluation.report.contents import Column, Interval, NumberTable
from evaluation.report.sections import sections_of
from evaluation.report.tracker import flat_table, send_to_tracker, summary_of
from evaluation.run_results import load_run
from tests.evaluation.files import write_predictions, write_rows
from tests.evaluation.report.drawn_runs import drawn_run, write_drawn_rows

JUDGE = "judge_paper.gpt-4o"


def test_cells_become_single_values() -> None:
    table = NumberTable(
        "t",
        "c",
        (
            Column("run"),
            Column("recall", "percent"),
            Column("clips", "counts", ("scored", "missing")),
            Column("n", "count"),
            Column("error", "seconds"),
        ),
        [("a", Interval(0.5, 0.25, 0.75), (3, 1), 4, 1), ("b", None, (0, 4), 0, None)],
    )
    names, rows = flat_table(table)
    assert names == [
        "run", "recall", "recall low", "recall high", "clips scored", "clips missing", "n", "error"
    ]  # fmt: skip
    assert rows == [
        ["a", 0.5, 0.25, 0.75, 3, 1, 4, 1.0],
        ["b", None, None, None, 0, 4, 0, None],
    ]


def test_a_summary_has_no_value_where_nothing_defines_one(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", {"a": [[0, 8, "Joy"]]})
    write_predictions(tmp_path / "run/predictions/test.jsonl", {"a": None})
    summary = summary_of(load_run(tmp_path / "run", "test", rows=rows))
    assert summary["strict/emo_acc"] == 0.0 and summary["strict/num_missing"] == 1
    assert "released/miou_segment" not in summary, "released leaves failures out: 0 / 0"
    assert None not in summary.values()


def test_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no tracker called 'mlflow'; there is wandb"):
        send_to_tracker("mlflow", "p", [], {}, [])
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    real = builtins.__import__

    def without_wandb(name: str, *arguments: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "wandb":
            raise ImportError(name)
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without_wandb)
    with pytest.raises(ValueError, match=r"dynamic-affective-reasoning\[wandb,report\]"):
        send_to_tracker("wandb", "p", [], {}, [])


@pytest.mark.slow
def test_wandb_gets_the_tables_the_numbers_and_the_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    rows = write_drawn_rows(tmp_path / "rows.jsonl", 20, seed=0, emotions=DAR_EMOTIONS[:3])
    run = drawn_run(
        tmp_path / "a", rows, label="demo/a", share_right=0.6, seed=1, judges=[JUDGE],
        others=DAR_EMOTIONS[:3],
    )  # fmt: skip
    analyses = {"demo/a": analyse(run.truths, run.clips, "strict", run.bootstrap)}
    sections = sections_of([run], analyses)
    assert send_to_tracker("wandb", "project", [run], analyses, sections) == ["demo/a"]

    [folder] = (tmp_path / "wandb").glob("offline-run-*")
    tables = {
        path.name.split("_0_")[0]: json.loads(path.read_bytes())
        for path in (folder / "files/media/table/tables").glob("*.table.json")
    }
    assert {"headline", "protocols", "emotions", "confusion-1", "boundaries", "judge-1"} <= set(
        tables
    )
    headline = tables["headline"]
    line = dict(zip(headline["columns"], headline["data"][0], strict=True))
    score = run.score("strict", "emo_acc")
    assert line["run"] == "demo/a" and line["Emo-Acc"] == score.mean
    assert (line["Emo-Acc low"], line["Emo-Acc high"]) == (score.low, score.high)
    assert line["scored"] + line["unparsed"] + line["missing"] == 20
    pictures = sorted((folder / "files/media/images/plots").glob("*.png"))
    assert {path.name.split("_0_")[0] for path in pictures} >= {"headline", "emotions", "judge-1"}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    [page] = (folder / "files/media/html").glob("report_0_*.html")
    assert sections[0].html in page.read_text(encoding="utf-8")
    # The record of the run holds summary and configuration as they were sent.
    [record] = folder.glob("run-*.wandb")
    written = record.read_bytes()
    assert b"strict/emo_acc_low" in written and f"{JUDGE}/overall".encode() in written
    assert b"drawn 0.6" in written
