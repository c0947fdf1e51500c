"""Two processes never train in one folder, and a killed one leaves no lock behind."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from train.run_lock import LOCK_FILE, lock_run

HOLD = """
import sys, time
from pathlib import Path
from train.run_lock import lock_run
lock_run(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_another_process_is_kept_out_until_it_ends(tmp_path: Path) -> None:
    other = holder(tmp_path)
    with pytest.raises(
        ValueError, match=rf"another process \({other.pid}\) still trains in {tmp_path}"
    ):
        lock_run(tmp_path, wait_seconds=0.3)
    other.send_signal(signal.SIGKILL)
    lock_run(tmp_path, wait_seconds=20.0)
    other.wait()
    lock_run(tmp_path, wait_seconds=0.0)  # once more in the same process
    again = subprocess.run(
        [sys.executable, "-c", HOLD.replace("1]))", "1]), 0.0)"), str(tmp_path)],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert "still trains in" in again.stderr
    assert (tmp_path / LOCK_FILE).is_file()


def test_folders_are_independent(tmp_path: Path) -> None:
    for name in ("a", "b/c"):
        lock_run(tmp_path / name, wait_seconds=0.0)
        assert (tmp_path / name / LOCK_FILE).is_file()
