"""What a hostile file can do to its reader, as functions for a decode worker to run.

Example: `GuardedReader(0.5).call(hang, path)`. Nothing here may import pytest: workers start often.
"""

import os
import resource
import signal
import time
from typing import NoReturn

from affect.video import FrameBudget
from affect.video.measure import MeasuredVideo, measure_video


def process_id(path: str) -> int:
    return os.getpid()


def size_after(path: str, seconds: float) -> int:
    time.sleep(seconds)
    return os.path.getsize(path)


def hang(path: str, note: str = "") -> NoReturn:
    """Deaf to everything that can be ignored; writes its process id to `note` first."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if note:
        with open(note, "w") as file:
            file.write(str(os.getpid()))
    while True:
        time.sleep(0.01)


def read_elsewhere(path: str, other: str) -> bytes:
    """Blocks inside the kernel where `other` is a named pipe that nobody writes to."""
    with open(other, "rb") as file:
        return file.read()


def die_of(path: str, number: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.kill(os.getpid(), number)
    time.sleep(10)


def exit_now(path: str) -> NoReturn:
    os._exit(3)


def raise_named(path: str, name: str) -> NoReturn:
    raise {"EOFError": EOFError, "MemoryError": MemoryError, "KeyError": KeyError}[name]("told to")


def not_portable(path: str) -> object:
    return {"a": "mapping"}


def answer_nonsense(path: str, nonsense: str) -> None:
    """As a decoder would that a file has taken over."""
    for name in os.listdir("/proc/self/fd"):
        try:
            is_socket = os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
        except FileNotFoundError:  # the listing's own
            continue
        if is_socket:
            os.write(int(name), bytes.fromhex(nonsense))
    time.sleep(60)


def hang_on_a(path: str, budget: FrameBudget) -> MeasuredVideo:
    """`measure_video`, but for a file called a.mp4."""
    if os.path.basename(path) == "a.mp4":
        hang(path)
    return measure_video(path, budget)


def crash_on_a(path: str, budget: FrameBudget) -> MeasuredVideo:
    """`measure_video`, but for a file called a.mp4."""
    if os.path.basename(path) == "a.mp4":
        die_of(path, signal.SIGABRT)
    return measure_video(path, budget)
