"""The trainers start from anywhere, and say what to do where a configuration is missing."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.paths import ROOT

ENTRY_POINTS = ("sft", "grpo")


def start(name: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """By path and from elsewhere, as `accelerate launch` does: `train/` is first on the path."""
    command = [sys.executable, str(ROOT / "train" / f"{name}.py"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_help_from_an_empty_folder(name: str, tmp_path: Path) -> None:
    begin = time.perf_counter()
    run = start(name, tmp_path, "--help")
    seconds = time.perf_counter() - begin
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"usage: train/{name}.py --config FILE")
    assert "--model.path" in run.stdout and "demo.yaml" in run.stdout
    assert seconds < 3  # torch alone takes as long


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_without_a_configuration(name: str, tmp_path: Path) -> None:
    run = start(name, tmp_path)
    assert run.returncode == 2
    for config in sorted((ROOT / "configs" / name).glob("*.yaml")):
        assert f"  {config.name} " in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_an_unknown_key(name: str, tmp_path: Path) -> None:
    config = ROOT / "configs" / name / "demo.yaml"
    run = start(name, tmp_path, "--config", str(config), "--video.max_frame", "3")
    assert run.returncode == 2
    assert 'unknown key "video.max_frame"; did you mean "video.max_frames"?' in run.stderr
    assert list(tmp_path.iterdir()) == []
