"""Whether a process still runs, read from /proc, and waiting until it does not.

One that was killed takes a moment to go: its threads end one by one, and whoever inherits it must
ask for its exit code. A test that looks once at `/proc/NUMBER` fails when the machine is busy.

    wait_until_gone(worker)
"""

import time
from pathlib import Path


def is_running(process: int) -> bool:
    """Whether any of its threads is; one that was killed is gone only once all of them are."""
    try:
        stats = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/stat")]
    except (FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{process}").exists()  # a thread ended meanwhile: look again
    # Z: it ended and waits to be asked for its exit code.
    return any(stat.rpartition(")")[2].split()[0] != "Z" for stat in stats)


def wait_until_gone(process: int, seconds: float = 15.0) -> None:
    """Return once it does not run any more; AssertionError if it still does after `seconds`."""
    deadline = time.monotonic() + seconds
    while is_running(process):
        assert time.monotonic() < deadline, f"process {process} is still there"
        time.sleep(0.02)
