"""A run that stands still says where, and ends.

A thread in each process watches the marked stages (`train.stages`). Where none began or ended for
`stall_timeout_seconds`, the process writes to stderr, and to RUN/stalled/rank_N.txt, which stage it
is in, at which step and rows, whether it waits for other processes, what all its threads do, and
what to do about it. The others see that file within a second and say the same of themselves: who
waits is told apart from who is waited for. Then all of them end, with exit code 124.

    rank 1 of 2 stood still for 1800 s in rewards (in sampling, forward and backward), step 12,
    and does not wait for another process: the cause is most likely here

A process whose interpreter is held inside a library can't speak; the others name it.

Example:
    with StallWatch(1800.0, folder.stalled, process_index=0, num_processes=2):
        trainer.train()
"""

import faulthandler
import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType

from affect.atomic import write_text_atomic
from train.stages import StageNow, current, note_progress

STALLED_EXIT_CODE = 124
"""As timeout(1) ends with. (torchrun prints it; accelerate's launcher ends with 1.)"""

_POLL_SECONDS = 1.0
_OTHERS_SPEAK_WITHIN_SECONDS = 5.0
# Modules whose functions wait for other processes.
_WAITING_MODULES = ("torch.distributed.", "deepspeed.comm")

_ADVICE = {
    "decode": "a clip's decoding hangs: set data.decode_timeout_seconds, which ends it by itself",
    "loading rows": "its data loader gives nothing: look at the disk that the clips are on",
    "rewards": "a reward function does not come back: the stack above shows where it is",
    "checkpoint": "writing hangs: look at the disk that run_dir is on",
    "final model": "writing hangs: look at the disk that run_dir is on",
}


class StallWatch:
    """Watches while it is entered, unless there is no timeout.

    Args:
        timeout_seconds: without any stage's begin or end; None or 0: nothing is watched.
        folder: where each process leaves what it said; of this start alone. All processes clear it
            and then meet before any enters.
        before_end: called before the process ends, to take its children along.
    """

    def __init__(
        self,
        timeout_seconds: float | None,
        folder: Path,
        *,
        process_index: int = 0,
        num_processes: int = 1,
        command: str = "",
        before_end: Sequence[Callable[[], None]] = (),
    ) -> None:
        self.timeout_seconds = timeout_seconds or None
        self.folder = folder
        self.process_index = process_index
        self.num_processes = num_processes
        self.command = command
        self.before_end = tuple(before_end)
        self._is_over = threading.Event()
        self._thread: threading.Thread | None = None

    def clear(self) -> None:
        """Remove what an earlier start left; by the main process, before any enters."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "StallWatch":
        note_progress()
        self._is_over.clear()
        if self.timeout_seconds is not None:
            self._thread = threading.Thread(target=self._watch, name="stall watch", daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        timeout_seconds = self.timeout_seconds
        assert timeout_seconds is not None
        poll_seconds = min(_POLL_SECONDS, timeout_seconds / 4)
        polled_at = time.monotonic()
        since_seconds, stopped_seconds = 0.0, 0.0
        while not self._is_over.wait(poll_seconds):
            now = time.monotonic()
            marks = current()
            if marks.since_seconds != since_seconds:
                since_seconds, stopped_seconds = marks.since_seconds, 0.0
            if now - polled_at > 3 * poll_seconds:  # this thread stood still too: Ctrl-Z, say
                stopped_seconds += now - polled_at
            polled_at = now
            still_seconds = now - since_seconds - stopped_seconds
            if still_seconds >= timeout_seconds or self._have_spoken():
                self._end_process(marks, still_seconds)

    def _end_process(self, marks: StageNow, still_seconds: float) -> None:
        first = self._have_spoken()
        text = self.message(marks, still_seconds, first)
        _write_at_once(text)
        write_text_atomic(self._file(self.process_index), text)
        # Whoever ends first makes the launcher end the others, before they have said where.
        deadline = time.monotonic() + _OTHERS_SPEAK_WITHIN_SECONDS
        while (silent := self._silent()) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS / 4)
        if silent and not first:
            _write_at_once(
                f"rank {', '.join(map(str, silent))} said nothing: a library holds its "
                "interpreter, or it is gone, or does not see this run's folder\n"
            )
        for end in self.before_end:
            end()
        for child in multiprocessing.active_children():
            child.kill()
        os._exit(STALLED_EXIT_CODE)

    def message(self, marks: StageNow, still_seconds: float, first: Sequence[int] = ()) -> str:
        """What this process says; first: ranks that have spoken before it."""
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        waits_in = waiting_function(frame)
        who = f"rank {self.process_index} of {self.num_processes}"
        if waits_in is not None:
            state = (
                f"waits for the other processes ({waits_in}) in {marks}, for {still_seconds:.0f} s"
            )
            advice = "the cause is in a process that does not wait"
        else:
            state = f"stood still for {still_seconds:.0f} s in {marks}, and waits for no process"
            advice = _ADVICE.get(marks.names[-1] if marks.names else "", "see the stack above")
            if self.num_processes > 1:
                advice = f"the cause is most likely here: {advice}"
        rows = f"rows read last: {', '.join(marks.rows)}\n" if marks.rows else ""
        ended = f"ended with rank {first[0]}, which stood still first\n" if first else ""
        again = f"To go on from the last checkpoint, the same command:\n  {self.command}\n"
        return (
            f"\n{who} {state}\n{rows}{ended}{_stacks()}{who}: {advice}. If the stage is only slow, "
            f"raise stall_timeout_seconds (now {self.timeout_seconds:g}; 0 for no limit). "
            f"{again if self.command else ''}\n"
        )

    def _file(self, rank: int) -> Path:
        return self.folder / f"rank_{rank}.txt"

    def _have_spoken(self) -> list[int]:
        """Other ranks that left a message."""
        if not self.folder.is_dir():
            return []
        others = (rank for rank in range(self.num_processes) if rank != self.process_index)
        return [rank for rank in others if self._file(rank).is_file()]

    def _silent(self) -> list[int]:
        return [rank for rank in range(self.num_processes) if not self._file(rank).is_file()]


def waiting_function(frame: FrameType | None) -> str | None:
    """Name of the function in which the frame's thread waits for other processes, if it does.

    None also for DDP's gradients, which are waited for outside Python.
    """
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        # torch logs around its collectives, in functions called "wrapper".
        if module.startswith(_WAITING_MODULES) and "logger" not in module:
            return frame.f_code.co_name
        frame = frame.f_back
    return None


def _stacks() -> str:
    """What all threads do, the innermost call first."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read().decode("utf-8", errors="replace")


def _write_at_once(text: str) -> None:
    """To stderr in one piece: other processes write there too."""
    os.write(2, text.encode("utf-8", errors="replace"))
