"""Which model is meant, and which budget: found, chosen, refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from affect.prompts import prompt_hash
from affect.trained_budget import TrainedBudget, read_budget
from affect.video import FrameBudget
from evaluation.checkpoint import (
    Checkpoint,
    choose_budget,
    find_checkpoint,
)

BUDGET = {
    "video": {"fps": 2.0, "max_frames": 8},
    "prompt": "segment",
    "prompt_hash": prompt_hash("segment"),
    "max_completion_tokens": 400,
}


def write_budget(folder: Path, **changes: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "budget.json").write_text(json.dumps(BUDGET | changes), encoding="utf-8")


def trained(**changes: Any) -> TrainedBudget:
    return TrainedBudget.model_validate(BUDGET | changes)


def checkpoint(budget: TrainedBudget | None) -> Checkpoint:
    return Checkpoint(Path("model"), budget)


def test_final_model_of_a_run_and_its_budget(tmp_path: Path) -> None:
    write_budget(tmp_path)
    (tmp_path / "final").mkdir()
    found = find_checkpoint(run=tmp_path)
    assert found.folder == tmp_path / "final"
    assert found.budget == trained()
    assert found.budget is not None and found.budget.video.max_frames == 8


def test_checkpoint_of_a_step(tmp_path: Path) -> None:
    write_budget(tmp_path)
    (tmp_path / "checkpoints" / "checkpoint-12").mkdir(parents=True)
    assert find_checkpoint(run=tmp_path, step=12).folder.name == "checkpoint-12"
    with pytest.raises(ValueError, match=r"has no checkpoint 13 .*its checkpoints: 12"):
        find_checkpoint(run=tmp_path, step=13)
    with pytest.raises(ValueError, match=r"has no finished model .*its checkpoints: 12"):
        find_checkpoint(run=tmp_path)


def test_exported_model_has_its_budget_beside_it(tmp_path: Path) -> None:
    write_budget(tmp_path)
    assert find_checkpoint(model=tmp_path).budget == trained()


def test_folders_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such model folder"):
        find_checkpoint(model=tmp_path / "nowhere")
    with pytest.raises(ValueError, match="no such run folder"):
        find_checkpoint(run=tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "field"),
        (json.dumps(BUDGET | {"video": {"fsp": 2.0}}), "field video.fsp"),
        (json.dumps(BUDGET | {"max_completion_tokens": 0}), "field max_completion_tokens"),
        (json.dumps({"prompt": "segment"}), "field video"),
    ],
)
def test_budget_files_are_refused_by_field(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "budget.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        read_budget(path)
    assert str(caught.value).startswith(str(path))
    with pytest.raises(ValueError, match="no such file"):
        read_budget(tmp_path / "other.json")


def test_the_model_own_budget_is_used() -> None:
    assert choose_budget(checkpoint(trained()), None, allow_other=False) == trained()


def test_another_budget_is_refused_naming_what_differs() -> None:
    other = trained(video={"fps": 1.0, "max_frames": 30})
    with pytest.raises(ValueError, match=r"fps: 2\.0 in training, 1\.0 now; max_frames: 8 in"):
        choose_budget(checkpoint(trained()), other, allow_other=False)
    assert choose_budget(checkpoint(trained()), other, allow_other=True).video.fps == 1.0


def test_an_equal_budget_may_be_given() -> None:
    given = trained(max_completion_tokens=50)
    assert choose_budget(checkpoint(trained()), given, allow_other=False) == given


def test_a_prompt_that_changed_since_training_is_refused() -> None:
    old = trained(prompt_hash="0" * 64)
    with pytest.raises(ValueError, match="reads differently"):
        choose_budget(checkpoint(old), None, allow_other=False)
    used = choose_budget(checkpoint(old), None, allow_other=True)
    assert used.prompt_hash == prompt_hash("segment")


def test_a_model_without_a_budget_must_be_given_one() -> None:
    with pytest.raises(ValueError, match="name one with --budget FILE"):
        choose_budget(checkpoint(None), None, allow_other=False)
    default = TrainedBudget(video=FrameBudget())
    chosen = choose_budget(checkpoint(None), default, allow_other=False)
    assert chosen.video == FrameBudget()
    assert chosen.prompt_hash == prompt_hash("segment")


def test_unknown_prompt() -> None:
    with pytest.raises(ValueError, match="no prompt called 'judge'; there are segment, row"):
        choose_budget(checkpoint(trained(prompt="judge")), None, allow_other=True)


def test_row_prompts_have_no_hash() -> None:
    budget = trained(prompt="row", prompt_hash=None)
    assert choose_budget(checkpoint(budget), None, allow_other=False).prompt_hash is None
