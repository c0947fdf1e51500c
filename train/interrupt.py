"""Ctrl-C ends a run after the running step, with a checkpoint; a second Ctrl-C ends it at once.

SIGTERM, as Slurm sends it, does the same; so does the death of the launcher, which would otherwise
leave a process behind that nobody waits for.

Example:
    stop = StopOnInterrupt()
    trainer.add_callback(stop)
    with stop:
        trainer.train()
    if stop.requested: ...
"""

import os
import signal
import sys
import time
from types import FrameType
from typing import Any

import torch
from transformers import TrainerCallback

# torchrun hands the terminal's Ctrl-C to its processes, which got it from the terminal already.
SAME_PRESS_SECONDS = 2.0


class StopOnInterrupt(TrainerCallback):  # type: ignore[misc]
    """Turns SIGINT and SIGTERM into a saved stop at the end of the running step.

    Several processes stop at the same step, whichever of them got the signal. A second signal
    raises KeyboardInterrupt, but not while that last checkpoint is being written.

    Args:
        steps_per_sampling: stop only after a multiple of so many steps; between them a checkpoint
            could not restore the completions that are still to be used.

    requested: whether the run was asked to stop.
    """

    def __init__(self, steps_per_sampling: int = 1) -> None:
        self.requested = False
        self.steps_per_sampling = steps_per_sampling
        self._signalled_at_seconds: float | None = None
        self._is_saving = False
        self._process_id = os.getpid()
        self._launcher_id = os.getppid() if _is_launched() else None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopOnInterrupt":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process_id:
            return  # a loader's process, which got it from the terminal too; the trainer ends it
        now = time.monotonic()
        first = self._signalled_at_seconds
        if first is None:
            self.requested = True
            self._signalled_at_seconds = now
            _tell("stopping after this step, with a checkpoint (again to stop at once)")
        elif self._is_saving:
            _tell("the checkpoint is being written; a moment more")
        elif now - first > SAME_PRESS_SECONDS:
            raise KeyboardInterrupt

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        """Ask the trainer to save and to leave its loop."""
        if self._launcher_id is not None and os.getppid() != self._launcher_id:
            self.requested = True
        if state.global_step % self.steps_per_sampling == 0 and self._agreed(args.device):
            self._is_saving = True
            control.should_save = True
            control.should_training_stop = True
        return control

    def _agreed(self, device: Any) -> bool:
        """Whether any process was asked to stop; all of them come here at the same step."""
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            requested = torch.tensor(int(self.requested), device=device)
            torch.distributed.all_reduce(requested, torch.distributed.ReduceOp.MAX)
            self.requested = bool(requested.item())
        return self.requested


def _is_launched() -> bool:
    """Whether accelerate or torchrun started this process and waits for its end."""
    return "ACCELERATE_MIXED_PRECISION" in os.environ or "TORCHELASTIC_RUN_ID" in os.environ


def _tell(text: str) -> None:
    if os.environ.get("RANK", "0") == "0":
        sys.stderr.write(f"\n{text}\n")
        sys.stderr.flush()
