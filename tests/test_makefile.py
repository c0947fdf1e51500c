"""The Makefile's set-up: what is installed when, what is done again, and a Python that is too old.

A stand-in for Python records how it is called; make, the stamps and the shell are real.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.paths import ROOT

PYTHON = """#!/bin/sh
case "$*" in
  *"-m venv --without-pip"*) mkdir -p .venv-vllm && echo venv-vllm >> calls ;;
  *"pip --python"*) echo "$*" >> calls; [ ! -e broken-vllm ] ;;
  *"-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python && echo venv >> calls ;;
  *"-m pytest -m slow"*) exit "$(cat code)" ;;
  *"pip install"*) echo "$*" >> calls; [ ! -e broken ] ;;
  --version) echo "Python 3.9.2" ;;
  -c*) [ ! -e old ] ;;
esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "requirements-vllm.txt"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def make(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # The make that runs these tests hands its flags down; this one is on its own.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    command = ["make", f"PYTHON={project / 'python'}", *arguments]
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )


def calls(project: Path) -> list[str]:
    path = project / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


ALL = "-m pip install -c constraints.txt -e .[all]"
DEMO = "-m pip install -c constraints.txt -e .[train,data,eval]"


def test_installs_once_and_again_when_the_pins_change(project: Path) -> None:
    assert make(project, ".venv/installed-all").returncode == 0
    assert calls(project) == ["venv", ALL]
    assert make(project, ".venv/installed-all").returncode == 0
    assert calls(project) == []
    later = (project / ".venv" / "installed-all").stat().st_mtime + 10
    for name in ("constraints.txt", "pyproject.toml"):
        os.utime(project / name, (later, later))
        assert make(project, ".venv/installed-all").returncode == 0
        assert calls(project) == [ALL]
        os.utime(project / name, (0, 0))


def test_the_demo_installs_less(project: Path) -> None:
    assert make(project, ".venv/installed-demo").returncode == 0
    assert calls(project) == ["venv", DEMO]


def test_an_install_cut_short_is_done_again(project: Path) -> None:
    (project / "broken").touch()
    assert make(project, ".venv/installed-all").returncode != 0
    assert calls(project) == ["venv", ALL]
    (project / "broken").unlink()
    assert make(project, ".venv/installed-all").returncode == 0
    assert calls(project) == [ALL]


@pytest.mark.parametrize(("code", "passes"), [("0", True), ("5", True), ("1", False), ("2", False)])
def test_only_a_run_without_slow_tests_is_let_through(
    project: Path, code: str, passes: bool
) -> None:
    (project / "code").write_text(code)
    assert (make(project, "test-slow").returncode == 0) is passes


VLLM = "-m pip --python .venv-vllm/bin/python install --no-deps -r requirements-vllm.txt"


def test_vllm_gets_an_environment_beside_the_other(project: Path) -> None:
    (project / "broken-vllm").touch()
    assert make(project, "vllm").returncode != 0
    assert calls(project) == ["venv", ALL, "venv-vllm", VLLM]
    (project / "broken-vllm").unlink()
    assert make(project, "vllm").returncode == 0
    assert calls(project) == ["venv-vllm", VLLM]
    assert make(project, "vllm").returncode == 0
    assert calls(project) == []


def test_python_too_old(project: Path) -> None:
    (project / "old").touch()
    run = make(project, "test")
    assert run.returncode != 0
    assert "needs Python 3.11 or later" in run.stderr and "is Python 3.9.2" in run.stderr
    assert "make PYTHON=" in run.stderr
    assert calls(project) == []


def test_help_names_every_target(project: Path) -> None:
    text = make(project).stdout
    for target in ("demo", "test", "test-slow", "clean"):
        assert f"  make {target} " in text
