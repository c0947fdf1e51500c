"""The rows that the audit ships with are those that this command makes, byte for byte."""

from pathlib import Path

import pytest

from affect.records import read_rows
from data_prep.rendered.labels import main
from data_prep.rendered.rows import sample_rows
from tests.paths import ROOT

SHIPPED = ROOT / "rewards" / "rendered_labels.jsonl"


def test_making_the_shipped_rows_again_gives_the_same_bytes(tmp_path: Path) -> None:
    made = tmp_path / "labels.jsonl"
    assert main(["--out", str(made)]) == 0
    assert made.read_bytes() == SHIPPED.read_bytes()


def test_the_shipped_rows_are_annotated_rows_of_the_rendered_world() -> None:
    rows = read_rows(SHIPPED)
    assert len(rows) == 240
    assert rows == sample_rows(240, seed=0, split="train")
    assert all(row.timeline for row in rows)


def test_other_requests_give_other_rows(tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    assert main(["--out", str(out), "--num", "3", "--seed", "7", "--split", "dev"]) == 0
    assert [row.id for row in read_rows(out)] == ["dev/00000", "dev/00001", "dev/00002"]


def test_no_rows_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--out", str(tmp_path / "rows.jsonl"), "--num", "0"]) == 2
    assert "at least 1 row" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
