"""The command of evaluation's figures, on sizes that say nothing about speed."""

import json
from pathlib import Path

import pytest

from evaluation.clips import load_clips, read_truths
from evaluation.metrics import Bootstrap, score_clips
from evaluation.predictions import read_predictions
from speed import evaluation
from speed.scored_files import write_files


def test_drawn_files_hold_every_kind_of_reply(tmp_path: Path) -> None:
    write_files(tmp_path, num_clips=300)
    clips = load_clips(
        read_truths(tmp_path / "rows.jsonl"), read_predictions(tmp_path / "predictions.jsonl")
    )
    rows = score_clips(clips, ["strict"], Bootstrap(num_replicates=10))
    found = {row.metric: row for row in rows}
    miou = found["miou_segment"]
    assert (miou.num_scored, miou.num_unparsed, miou.num_missing) == (276, 19, 5)
    assert miou.mean is not None and 0.4 < miou.mean < 0.9
    accuracy = found["emo_acc"].mean
    assert accuracy is not None and 0.2 < accuracy < 0.9


def test_equal_arguments_write_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_files(tmp_path / name, num_clips=20)
    for name in ("rows.jsonl", "predictions.jsonl"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.slow
def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert evaluation.main(["--json", "--quick", "--num-clips", "30", "--batch-size", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["num_clips"], found["num_replicates"]) == (30, 2000)
    assert found["score_seconds"] > 0 and found["analyse_seconds"] >= 0
    assert (found["num_clips_answered"], found["batch_size"]) == (2, 2)
    assert found["batch_ratio"] == pytest.approx(
        found["clips_per_second_batched"] / found["clips_per_second_alone"], rel=0.02
    )
    assert 0 <= found["replies_equal"] <= 1
