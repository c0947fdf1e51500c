"""The command that is shown for going on is the one that was typed, launcher and all."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

SHOW = """
import sys
sys.path.insert(0, {root!r})
from train.restart_command import restart_command
print(restart_command())
"""


def script(folder: Path) -> Path:
    path = folder / "a run.py"
    path.write_text(SHOW.format(root=str(ROOT)))
    return path


@pytest.mark.slow  # it loads torch
def test_with_a_launcher(tmp_path: Path) -> None:
    programs = Path(sys.executable).parent
    typed = [
        *(str(programs / "accelerate"), "launch", "--cpu", "--num_processes", "1"),
        *("--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"),
        *(script(tmp_path).name, "--config", "it's here.yaml", "--trainer.report_to", "[wandb]"),
    ]
    shown = subprocess.run(typed, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert shlex.split(shown) == ["cd", str(tmp_path), "&&", *typed]


def test_without_one(tmp_path: Path) -> None:
    typed = [sys.executable, str(script(tmp_path)), "--config", "a.yaml"]
    shown = subprocess.run(typed, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert shlex.split(shown) == ["cd", str(tmp_path), "&&", *typed]
    again = subprocess.run(
        ["bash", "-c", shown], capture_output=True, text=True, check=True, cwd="/"
    ).stdout
    assert again == shown
