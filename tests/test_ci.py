"""`.ci/run`: both targets in order, their closing lines at the end, and no failure swallowed."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.paths import ROOT

MAKE = """#!/bin/sh
echo "$1" >> "$CALLS"
case "$1" in
  test) echo "0.91s call     tests/a.py::test_quick"
        echo "12.50s setup    tests/a.py::test_a"
        echo "===== 379 passed, 2 skipped in 13.57s ====="; [ "$FAIL" != test ] ;;
  test-slow)
        echo "103.04s call     tests/b.py::test_b[x y]"
        echo "===== 4 passed, 379 deselected in 2.00s ====="; [ "$FAIL" != test-slow ] ;;
esac
"""


def run_ci(tmp_path: Path, fail: str) -> tuple[int, list[str], list[str]]:
    (tmp_path / "make").write_text(MAKE)
    (tmp_path / "make").chmod(0o755)
    # Found before anything is installed in its place.
    (tmp_path / "chromium").write_text("#!/bin/sh\n")
    (tmp_path / "chromium").chmod(0o755)
    calls = tmp_path / "calls"
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "CALLS": str(calls),
        "FAIL": fail,
    }
    run = subprocess.run(
        ["bash", str(ROOT / ".ci" / "run")],
        env=environment, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return run.returncode, calls.read_text().split(), run.stdout.splitlines()


def test_success_ends_with_the_closing_lines(tmp_path: Path) -> None:
    code, calls, lines = run_ci(tmp_path, "nothing")
    assert code == 0
    assert calls == ["test", "test-slow"]
    assert lines[-6:] == [
        "== The 20 slowest tests of both",
        "103.04s call     tests/b.py::test_b[x y]",
        "12.50s setup    tests/a.py::test_a",
        "0.91s call     tests/a.py::test_quick",
        "===== 379 passed, 2 skipped in 13.57s =====",
        "===== 4 passed, 379 deselected in 2.00s =====",
    ]


@pytest.mark.parametrize(("fail", "called"), [("test", 1), ("test-slow", 2)])
def test_a_failure_is_the_result(tmp_path: Path, fail: str, called: int) -> None:
    code, calls, _ = run_ci(tmp_path, fail)
    assert code != 0
    assert len(calls) == called
