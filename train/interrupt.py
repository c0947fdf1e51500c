"""Ctrl-C ends a run at the next step with a checkpoint; a second Ctrl-C ends it at once.

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
from types import FrameType
from typing import Any

import torch
from transformers import TrainerCallback


class StopOnInterrupt(TrainerCallback):  # type: ignore[misc]
    """Turns SIGINT and SIGTERM into a saved stop at the end of the running step.

    Several processes stop at the same step, whichever of them got the signal.

    Args:
        steps_per_sampling: stop only after a multiple of so many steps; between them a checkpoint
            could not restore the completions that are still to be used.
    """

    def __init__(self, steps_per_sampling: int = 1) -> None:
        self.requested = False
        self.steps_per_sampling = steps_per_sampling
        self._signalled = False
        self._process_id = os.getpid()
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
        if self._signalled:  # not `requested`, which another process may have set a moment ago
            raise KeyboardInterrupt
        self.requested = self._signalled = True
        sys.stderr.write("\nstopping after this step, with a checkpoint (again to stop at once)\n")

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        """Ask the trainer to save and to leave its loop."""
        if state.global_step % self.steps_per_sampling == 0 and self._agreed(args.device):
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
