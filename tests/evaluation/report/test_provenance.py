"""What was compared, and whether it was asked alike."""

import json
from pathlib import Path
from typing import Any

from evaluation.report.contents import Cell, Content
from evaluation.report.provenance import provenance
from evaluation.run_results import RunResults, load_run
from tests.evaluation.files import reply, write_lines, write_rows


def run_of(tmp_path: Path, name: str, **header: Any) -> RunResults:
    rows = write_rows(tmp_path / "rows.jsonl", {"a": [[0, 8, "Joy"]]})
    lines = [
        {"header": {"model": name, **header}},
        {"id": "a", "text": reply([[0, 8, "Joy"]])},
    ]
    write_lines(tmp_path / name / "predictions/test.jsonl", lines)
    return load_run(tmp_path / name, "test", label=name, rows=rows)


def lines_of(content: Content) -> dict[Cell, tuple[Cell, ...]]:
    [table] = content.tables()
    return {line[0]: line[1:] for line in table.rows}


def test_fields_that_differ_and_fields_nobody_told(tmp_path: Path) -> None:
    budget = {"fps": 2.0, "max_frames": 32}
    content = provenance(
        [
            run_of(tmp_path, "one", budget=budget, temperature=0.0, prompt_hash="ab", note="x"),
            run_of(tmp_path, "two", budget=budget, temperature=0.7),
        ]
    )
    lines = lines_of(content)
    assert lines["frame budget"] == ("fps 2.0, max_frames 32", "fps 2.0, max_frames 32", "yes")
    assert lines["temperature"] == ("0.0", "0.7", "no")
    assert lines["prompt, hash"] == ("ab", "unknown", "unknown")
    assert lines["model"] == ("one", "two", "")
    assert lines["note"] == ("x", "unknown", "unknown")
    sentence = content.blocks[0].text
    assert "different settings: temperature." in sentence
    assert "prompt, hash" in sentence.partition("Not known of every run: ")[2]


def test_one_run_is_compared_with_nothing(tmp_path: Path) -> None:
    content = provenance([run_of(tmp_path, "one", seed=3)])
    assert lines_of(content)["seed"] == ("3",)
    assert "alike" not in json.dumps([column.name for column in content.tables()[0].columns])
