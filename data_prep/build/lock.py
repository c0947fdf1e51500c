"""One process at a time builds into a folder.

    with held(folder.lock):
        ...
    -> ValueError: builds/vce/lock: process 4711 builds here; wait for it or stop it

The system releases it when the process ends, however it ends, so no stale lock is ever left.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NUM_TRIES = 10
_BETWEEN_TRIES_SECONDS = 0.05
"""`is_held` of another process takes the lock for a moment, which is not a build."""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the lock, with our process number in its file. Raises ValueError if somebody has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+", encoding="ascii") as file:
        for num_try in range(1, _NUM_TRIES + 1):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if num_try == _NUM_TRIES:
                    file.seek(0)
                    holder = file.read().strip() or "of an unknown number"
                    raise ValueError(
                        f"{path}: process {holder} builds here; wait for it or stop it"
                    ) from None
                time.sleep(_BETWEEN_TRIES_SECONDS)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def is_held(path: Path) -> bool:
    """Whether a process, this one included, holds it now."""
    if not path.exists():
        return False
    with open(path, encoding="ascii") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
