"""Reading video in a process of its own, so that no file can hang or crash ours.

    reader = GuardedReader(120.0, Quarantine(Path("runs/demo/sft/quarantine.jsonl")))
    clip = reader.sample("clip.mp4", FrameBudget())      # as sample_video, and as fast
    info = reader.probe("clip.mp4")                      # as probe_video
    reader.sample("endless.mp4", FrameBudget())
    -> VideoError: endless.mp4: decoding took longer than 120 s and was ended; quarantined in ...

Workers are kept and used again, one for each thread that reads at the same time.
"""

import contextlib
import math
import os
import signal
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from affect.video.budget import FrameBudget
from affect.video.decode_worker import DecodeWorker
from affect.video.open import DecoderEndedError, VideoError, VideoPath, require_file
from affect.video.probe import VideoInfo, probe_video
from affect.video.quarantine import Quarantine
from affect.video.sample import SampledVideo, sample_video
from affect.video.worker_messages import GarbledMessageError

P = ParamSpec("P")
T = TypeVar("T")

DECODE_TIMEOUT_SECONDS = 120.0
"""Default limit for one file: about 6,000 frames of full HD on one core."""

_CRASHES = frozenset(
    {
        signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP,
        signal.SIGSYS,
    }
)  # fmt: skip
"""Signals by which a process ends itself; others come from outside and are not the file's fault."""

_CLOSED = "decoding was given up: its reader was closed"


class GuardedReader:
    """Runs decodes in worker processes, each within a time.

    timeout_seconds: for one file, without the start of a worker; None or 0 reads in this process,
        without a guard.
    quarantine: where files that ran out of time or crashed the decoder are noted; by default a
        list that ends with this object.

    Safe to share between threads, and a forked process starts workers of its own.
    """

    def __init__(self, timeout_seconds: float | None, quarantine: Quarantine | None = None) -> None:
        if timeout_seconds is not None and not (0 <= timeout_seconds < math.inf):
            raise ValueError(f"seconds for one decode must be 0 or more, not {timeout_seconds}")
        self.timeout_seconds = timeout_seconds or None
        self.quarantine = Quarantine() if quarantine is None else quarantine
        self._workers: set[DecodeWorker] = set()
        self._idle: list[DecodeWorker] = []
        self._is_closed = False
        self._end = weakref.finalize(self, _end_all, self._workers)

    def sample(self, path: VideoPath, budget: FrameBudget) -> SampledVideo:
        """`sample_video`, guarded; see `call`."""
        return self.call(sample_video, path, budget)

    def probe(self, path: VideoPath) -> VideoInfo:
        """`probe_video`, guarded; see `call`."""
        return self.call(probe_video, path)

    def call(
        self,
        function: Callable[Concatenate[VideoPath, P], T],
        path: VideoPath,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """`function(path, *args)` in a worker.

        function: one that can be imported by its name, with arguments and a result of the types of
            `affect.video.portable`.

        Raises VideoError as the function does, and RuntimeError in place of any other exception of
        its; VideoError also for a file in quarantine, at once, for one that runs out of time or
        crashes the decoder, which then is in quarantine, and for one whose worker is ended from
        outside (most likely for memory), which is not.
        """
        assert not kwargs, "arguments go by position"
        limit_seconds = self.timeout_seconds
        if limit_seconds is None:
            return function(path, *args, **kwargs)
        state = require_file(path)
        reason = self.quarantine.reason(path, state, limit_seconds)
        if reason is not None:
            raise VideoError(path, f"in quarantine since an earlier decode: {reason}{self._way()}")
        if self._is_closed:
            raise VideoError(path, _CLOSED)
        worker = self._take(path)
        started_seconds = time.monotonic()
        try:
            answer = worker.ask(function, (os.path.abspath(path), *args), limit_seconds)
        except (TimeoutError, EOFError, GarbledMessageError) as error:
            ending: signal.Signals | None
            if isinstance(error, TimeoutError):
                ending, how = signal.SIGALRM, ""
            elif isinstance(error, GarbledMessageError):
                ending, how = signal.SIGABRT, "it answers nonsense"
            else:  # What came of the process is known only once it is gone.
                ending, how = worker.crash_signal(), worker.how_it_ended()
            self._drop(worker)
            seconds = time.monotonic() - started_seconds
            raise self._failure(path, state, ending, how, seconds, limit_seconds) from error
        except BaseException:  # also Ctrl-C: the reply to this question must not meet the next one
            self._drop(worker)
            raise
        self._idle.append(worker)
        if answer.error is None:
            result: T = answer.value
            return result
        if answer.error == "VideoError":
            raise VideoError(path, answer.text)
        if answer.error == "MemoryError":
            raise DecoderEndedError(path, "its decoding needs more memory than there is")
        failure = RuntimeError(f"{os.fspath(path)}: {answer.error}: {answer.text}")
        failure.add_note(f"in the decode worker:\n{answer.traceback}")
        raise failure

    def close(self) -> None:
        """End all workers; a thread that waits for one gets a VideoError. May be called again."""
        self._is_closed = True
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _take(self, path: VideoPath) -> DecodeWorker:
        """A worker that waits for work, or a new one. Single list operations need no lock."""
        while self._idle:
            with contextlib.suppress(IndexError):  # another thread was faster
                worker = self._idle.pop()
                if worker.owner_pid != os.getpid():
                    worker.disown()
                    self._workers.discard(worker)
                elif worker.is_alive:
                    return worker
                else:
                    self._drop(worker)
        worker = DecodeWorker()
        self._workers.add(worker)
        if self._is_closed:  # asked after the start, so that `close` misses none
            self._drop(worker)
            raise VideoError(path, _CLOSED)
        return worker

    def _drop(self, worker: DecodeWorker) -> None:
        worker.end()
        self._workers.discard(worker)

    def _failure(
        self,
        path: VideoPath,
        state: os.stat_result,
        ending: signal.Signals | None,
        how: str,
        seconds: float,
        limit_seconds: float,
    ) -> VideoError:
        """What to raise for a decode that did not come back; noted if it is the file's fault."""
        if self._is_closed:
            return VideoError(path, _CLOSED)
        if ending == signal.SIGALRM:
            reason = f"decoding took longer than {limit_seconds:g} s and was ended"
            limit: float | None = limit_seconds
        elif ending in _CRASHES:
            reason, limit = f"its decoder crashed ({how})", None
        else:
            return DecoderEndedError(
                path,
                f"its decoder was ended from outside ({how}), most likely for want of memory; "
                "try it again with more",
            )
        self.quarantine.add(path, state, reason, seconds=seconds, limit_seconds=limit)
        file = self.quarantine.path
        return VideoError(path, reason + (f"; quarantined in {file}" if file else ""))

    def _way(self) -> str:
        """How the file gets out of quarantine."""
        file = self.quarantine.path
        by_hand = f", or take its line out of {file}" if file else ""
        return f"; replace the file or allow more time{by_hand}"


def _end_all(workers: set[DecodeWorker]) -> None:
    for worker in list(workers):
        if worker.owner_pid == os.getpid():
            # Its socket is not closed here: a thread may be waiting at it, and closes it.
            worker.kill()
            worker.crash_signal()
    workers.clear()
