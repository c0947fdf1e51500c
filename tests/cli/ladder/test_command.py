"""From run folders to results.json and results.md."""

import json
import subprocess
from pathlib import Path

import pytest

from cli.ladder.__main__ import main
from cli.ladder.measures import METRICS
from tests.cli.ladder.written_runs import write_ladder, write_truths
from tests.paths import ROOT


def gather(tmp_path: Path) -> int:
    rows = write_truths(tmp_path / "rows.jsonl")
    out = tmp_path / "out" / "results"
    arguments = ["--runs", str(tmp_path / "runs"), "--rows", str(rows), "--out", str(out)]
    return main([*arguments, "--replicates", "200"])


def test_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_ladder(tmp_path / "runs")
    assert gather(tmp_path) == 0
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    for rung in ("base", "sft", "grpo", "gain_over_sft"):
        assert tuple(results[rung]) == METRICS
        assert set(results[rung]["total"]) == {"mean", "low", "high", "by_seed"}
    assert results["sft"]["strict_miou"]["mean"] == pytest.approx(0.25)
    assert results["grpo"]["strict_miou"]["by_seed"] == pytest.approx({"0": 0.625, "1": 1.0})
    assert results["gain_over_sft"]["strict_miou"]["mean"] == pytest.approx(0.5625)
    assert results["ablations"]["count"]["seeds"] == [0]
    assert results["ablations"]["count"]["change"]["length_tokens"]["mean"] == -40.0
    assert results["about"]["seeds"] == [0, 1]
    page = (tmp_path / "out" / "results.md").read_text()
    assert "| `strict_miou` | 0.0 [0.0, 0.0] | 25.0 [25.0, 25.0] |" in page
    assert "| `length_tokens` | -40.0 [-40.0, -40.0] |" in page.replace("**", "")
    assert "seed 1 without count" in capsys.readouterr().err


def test_a_missing_rung_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = write_ladder(tmp_path / "runs")
    (runs / "seed1" / "sft" / "predictions" / "test.jsonl").unlink()
    assert gather(tmp_path) == 2
    assert "seed1/sft/predictions/test.jsonl: not there" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("make", [False, True])
def test_nothing_to_gather(tmp_path: Path, make: bool, capsys: pytest.CaptureFixture[str]) -> None:
    if make:
        (tmp_path / "runs").mkdir()
    assert gather(tmp_path) == 2
    assert "launch/ladder.sh" in capsys.readouterr().err


def test_the_script_knows_no_other_argument() -> None:
    done = subprocess.run(
        ["bash", "launch/ladder.sh", "sede", "0"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "usage:" in done.stderr
