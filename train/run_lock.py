"""One training process at a time in a run's folder.

Whoever kills a launcher may leave its process behind, which goes on to write; the same command,
started again, would then write the same files beside it. The lock ends with the process, however
that ends.

Example: lock_run(folder)  # held until this process ends
"""

import fcntl
import os
import time
from pathlib import Path

LOCK_FILE = ".lock"
# A killed run's loader processes, which share its lock, notice within five seconds.
WAIT_SECONDS = 30.0

_held: dict[Path, int] = {}


def lock_run(folder: Path, wait_seconds: float = WAIT_SECONDS) -> None:
    """Take the folder for this process, or wait until its holder is gone.

    Raises:
        ValueError: another process trains there and does not end; names its id.
    """
    path = (folder / LOCK_FILE).resolve()
    if path in _held:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    end = time.monotonic() + wait_seconds
    while not _try_lock(descriptor):
        if time.monotonic() > end:
            holder = os.read(descriptor, 20).decode("ascii", errors="replace").strip()
            os.close(descriptor)
            raise ValueError(
                f"another process ({holder or 'of unknown id'}) still trains in {folder}; wait for "
                "its end or stop it"
            )
        time.sleep(0.2)
    os.truncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    _held[path] = descriptor


def _try_lock(descriptor: int) -> bool:
    """Whether the lock is ours now; a file system without locks has nothing to wait for."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
