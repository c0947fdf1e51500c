"""The process in which a guarded decode runs, from both ends.

What it runs may loop for ever or crash inside the decoder: the process that started it stays whole
and can end it. It is a plain child, started without forking our threads and without importing the
main script again, so it may stem from a data loader's process too.

Example:
    worker = DecodeWorker()
    answer = worker.ask(probe_video, ("clips/a.mp4",), limit_seconds=120.0)
    worker.end()
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from affect.video.open import VideoError
from affect.video.worker_messages import GarbledMessageError, receive, send

START_LIMIT_SECONDS = 120.0
"""A worker imports NumPy and FFmpeg; a third of a second, but not on every disk and machine."""

ORPHAN_SECONDS = 10.0
"""So long after its limit a decode ends itself, should nobody be there any more to end it."""

_PACKAGES = Path(__file__).resolve().parents[2]
_CODE = (
    "import sys; sys.path.append(sys.argv[1]); "
    "from affect.video.decode_worker import serve; serve(int(sys.argv[2]))"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """value: what was returned. error: the name of the exception's type where one was raised, with
    its text and, unless it is a verdict on the file, its traceback."""

    value: Any
    error: str | None = None
    text: str = ""
    traceback: str = ""

    def as_tuple(self) -> tuple[Any, str | None, str, str]:
        return self.value, self.error, self.text, self.traceback


class DecodeWorker:
    """The starting side. One call at a time; after any exception the worker is to be ended."""

    def __init__(self) -> None:
        self.owner_pid = os.getpid()
        self._channel, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                # -P: nothing in the current folder may pass for a module.
                [sys.executable, "-P", "-c", _CODE, str(_PACKAGES), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                # Ctrl-C is for us; we end the worker.
                process_group=0,
            )
        try:
            receive(self._channel, time.monotonic() + START_LIMIT_SECONDS)
        except BaseException as error:  # also Ctrl-C: leave no process behind
            self.end()
            if not isinstance(error, EOFError | TimeoutError):
                raise
            raise RuntimeError(
                f"the decode worker did not start ({self.how_it_ended()}); what it complained of "
                "stands above"
            ) from error

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def ask(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], limit_seconds: float
    ) -> "Answer":
        """What the function returns there, or how it failed.

        function: found there by module and name. arguments: of `affect.video.portable`'s types.

        Raises TimeoutError past the limit, EOFError when the process is gone, and
        GarbledMessageError when what comes back is no answer.
        """
        name = f"{function.__module__}:{function.__qualname__}"
        assert "." not in function.__qualname__, f"{name} can't be imported by its name"
        assert function.__module__ != "__main__", f"{name} can't be imported by its name"
        deadline_seconds = time.monotonic() + limit_seconds
        self._channel.settimeout(limit_seconds)
        try:
            send(self._channel, (name, arguments, limit_seconds))
        except ConnectionError as error:
            raise EOFError(str(error)) from error
        answer = receive(self._channel, deadline_seconds)
        if not (isinstance(answer, tuple) and len(answer) == 4):
            raise GarbledMessageError("no answer")
        return Answer(*answer)

    def kill(self) -> None:
        """End the process at once, from any thread: who waits in `ask` then gets EOFError."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    def end(self) -> None:
        """End the process at once and free what belongs to it."""
        self._channel.close()
        self.kill()
        # A read from a network disk that is gone can't be ended by anybody; nobody waits for it.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=1.0)

    def disown(self) -> None:
        """In a forked process: let go of the worker, which belongs to the parent."""
        self._channel.close()
        self.process.returncode = 0  # Else the object would look for a child that is not ours.

    def crash_signal(self) -> signal.Signals | None:
        """The signal that ended the process; None if it ended otherwise, or has not yet."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=5.0)  # Its socket closes a moment before it is gone.
        code = self.process.returncode
        return signal.Signals(-code) if code is not None and code < 0 else None

    def how_it_ended(self) -> str:
        """`SIGSEGV`, `exit code 1`, or that it is still there."""
        crash = self.crash_signal()
        if crash is not None:
            return crash.name
        code = self.process.returncode
        return "it is still running" if code is None else f"exit code {code}"


def serve(channel_number: int) -> None:
    """The started side: run what is asked for, one after another, until the asker is gone."""
    # The kernel ends the process then, even inside a decoder that never comes back.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import affect.video  # noqa: F401  # before "ready": importing is no part of a decode's time

    with socket.socket(fileno=channel_number) as channel:
        send(channel, "ready")
        while True:
            try:
                answer = _answer(channel)
            except _NobodyAsks:
                return
            signal.setitimer(signal.ITIMER_REAL, 0)
            try:
                try:
                    send(channel, answer.as_tuple())
                except TypeError as error:  # what the function returned does not travel
                    send(channel, _failed(error).as_tuple())
            except ConnectionError:
                return
            del answer  # The pixels need not wait here for the next clip.


class _NobodyAsks(Exception):
    """The other end is gone."""


def _answer(channel: socket.socket) -> Answer:
    """Wait for a question and answer it. No exception of what is asked for gets out of here."""
    try:
        name, arguments, limit_seconds = receive(channel)
    except EOFError as error:
        raise _NobodyAsks from error
    signal.setitimer(signal.ITIMER_REAL, limit_seconds + ORPHAN_SECONDS)
    try:
        module, _, function = name.partition(":")
        return Answer(getattr(import_module(module), function)(*arguments))
    except VideoError as error:
        return Answer(None, "VideoError", error.reason)
    except Exception as error:  # noqa: BLE001  # whatever it is, the asker raises it
        return _failed(error)


def _failed(error: Exception) -> Answer:
    text = "".join(traceback.format_exception(error))
    return Answer(None, type(error).__name__, str(error), text)
