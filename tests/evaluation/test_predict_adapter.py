"""A run whose final model is an adapter is asked like any other; a base that moved is named."""

import json
import shutil
from pathlib import Path

import pytest

from affect.model.adapter import merge_adapter
from affect.model.loading import load_policy
from affect.prompts import prompt_hash
from evaluation import predict
from evaluation.predictions import read_predictions
from tests.evaluation.files import write_rows
from tests.evaluation.test_predict import BUDGET, SPANS, draw_clip
from tests.tiny import shared_processor
from tests.tiny_adapter import save_adapter, save_base, trained_adapter


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """base/, and run/ with an adapter on it and rows of two clips."""
    folder = tmp_path / "run"
    base = save_base(tmp_path / "base")
    save_adapter(trained_adapter(base), folder / "final")
    budget = {**BUDGET, "prompt_hash": prompt_hash("segment")}
    (folder / "budget.json").write_text(json.dumps(budget), encoding="utf-8")
    for seed, name in enumerate("ab"):
        draw_clip(folder / "videos" / f"{name}.mp4", seed)
    write_rows(folder / "test.jsonl", dict.fromkeys("ab", SPANS), duration_seconds=2.0)
    return folder


def ask(run: Path, *more: str) -> dict[str, str | None]:
    rows = str(run / "test.jsonl")
    name = f"test{len(list(run.glob('predictions/*')))}"
    assert predict.main(["--run", str(run), "--rows", rows, "--name", name, *more]) == 0
    replies = read_predictions(run / "predictions" / f"{name}.jsonl").replies
    return {row_id: answer.text for row_id, answer in replies.items()}


def test_the_adapter_answers_and_not_its_base(run: Path, tmp_path: Path) -> None:
    found = ask(run)
    assert len(found) == 2 and all(found.values())
    merged = tmp_path / "merged"
    merge_adapter(load_policy(run / "final")[0]).save_pretrained(merged)
    shared_processor().save_pretrained(merged)
    arguments = ["--budget", str(run / "budget.json"), "--out", str(run)]
    for model, same in ((merged, True), (tmp_path / "base", False)):
        rows = str(run / "test.jsonl")
        assert (
            predict.main(["--model", str(model), "--rows", rows, "--name", model.name, *arguments])
            == 0
        )
        replies = read_predictions(run / "predictions" / f"{model.name}.jsonl").replies
        texts = {row_id: answer.text for row_id, answer in replies.items()}
        assert (texts == found) is same


def test_a_base_that_moved(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = ask(run)
    shutil.move(tmp_path / "base", tmp_path / "moved")
    rows = str(run / "test.jsonl")
    assert predict.main(["--run", str(run), "--rows", rows, "--name", "again"]) == 2
    shown = capsys.readouterr().err
    assert f"its base model is not at {tmp_path / 'base'}" in shown
    assert "--base in evaluation.predict" in shown
    assert ask(run, "--base", str(tmp_path / "moved")) == before
