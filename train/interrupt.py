"""Ctrl-C ends a run at the next step with a checkpoint; a second Ctrl-C ends it at once.

Example:
    stop = StopOnInterrupt()
    trainer.add_callback(stop)
    with stop:
        trainer.train()
    if stop.requested: ...
"""

import signal
import sys
from types import FrameType
from typing import Any

from transformers import TrainerCallback


class StopOnInterrupt(TrainerCallback):  # type: ignore[misc]
    """Turns SIGINT and SIGTERM into a saved stop at the end of the running step."""

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopOnInterrupt":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        sys.stderr.write("\nstopping after this step, with a checkpoint (again to stop at once)\n")

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        """Ask the trainer to save and to leave its loop."""
        if self.requested:
            control.should_save = True
            control.should_training_stop = True
        return control
