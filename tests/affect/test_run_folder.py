"""The run folder: names of its files, the record of the environment, and what counts as done."""

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from affect import run_folder
from affect.run_folder import RunFolder, environment_record, write_json
from tests.paths import ROOT


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/x", "a/"])
def test_a_name_leads_to_no_other_folder(name: str, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for file in (folder.predictions, folder.scores, folder.analysis, folder.tsl300):
        with pytest.raises(ValueError, match="must be a plain file name"):
            file(name)
    with pytest.raises(ValueError, match="must be a plain file name"):
        folder.judgements(name, "judge_paper.m")


def test_names(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    paths = [
        folder.config, folder.environment, folder.budget, folder.metrics, folder.completions(12),
        folder.checkpoints, folder.final, folder.predictions("test"), folder.scores("test"),
        folder.done,
    ]  # fmt: skip
    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        "config.yaml", "environment.json", "budget.json", "metrics.jsonl",
        "completions/step_000012.jsonl", "checkpoints", "final", "predictions/test.jsonl",
        "scores/test.json", "done.json",
    ]  # fmt: skip


def test_done_is_the_last_word(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    assert not folder.is_done
    folder.write_environment(["train", "--config", "x.yaml"])
    assert not folder.is_done
    folder.write_done({"steps": 120})
    assert folder.is_done
    assert json.loads(folder.done.read_text())["steps"] == 120


def test_environment(tmp_path: Path) -> None:
    record = environment_record(["train/grpo.py", "--trainer.max_steps", "5"])
    assert record["command"] == ["train/grpo.py", "--trainer.max_steps", "5"]
    assert record["python"] == platform.python_version()
    assert record["packages"]["pydantic"].startswith("2.")
    assert list(record["packages"]) == sorted(record["packages"], key=str.lower)
    json.dumps(record)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_git_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = run_folder._git_state
    assert state(tmp_path) is None
    git(tmp_path, "init")
    assert state(tmp_path) is None  # no commit yet
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "one")
    assert state(tmp_path) == {"revision": git(tmp_path, "rev-parse", "HEAD"), "dirty": False}
    (tmp_path / "a").write_text("2")
    assert state(tmp_path) == {"revision": git(tmp_path, "rev-parse", "HEAD"), "dirty": True}
    (tmp_path / "site-packages").mkdir()
    assert state(tmp_path / "site-packages") is None  # installed inside somebody's repository
    monkeypatch.setenv("PATH", "")
    assert state(tmp_path) is None


def test_json_without_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError):
        write_json(tmp_path / "x.json", {"mean": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_torch_is_not_imported() -> None:
    code = "import sys, affect.run_folder; print('torch' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "False"
