"""What a trainer has gathered since its last log line, kept in the checkpoint.

transformers starts the mean anew when it resumes: with `logging_steps: 10`, a run that goes on from
step 37 would log the mean of steps 38 to 40 as that of step 40. Each process has its own part:

    checkpoint-37/log_window_0.json    {"loss": 8.71, "last_logged": 30, "metrics": {"kl": [0.1]}}

Example: save_log_window(trainer, checkpoint); load_log_window(trainer, checkpoint)
"""

import json
from pathlib import Path
from typing import Any

import torch

from affect.atomic import write_text_atomic


def save_log_window(trainer: Any, checkpoint: Path) -> None:
    """Write this process's sums of the steps that are not logged yet."""
    window = {
        "loss": trainer._tr_loss.item(),
        "last_logged": trainer._globalstep_last_logged,
        "metrics": {
            name: [float(value) for value in values]
            for name, values in trainer._metrics["train"].items()
        },
    }
    write_text_atomic(_path(trainer, checkpoint), json.dumps(window) + "\n")


def load_log_window(trainer: Any, checkpoint: Path) -> None:
    """Go on with the sums of the checkpoint; call it between the train's start and its first step.

    A value that is not finite comes back as it was.
    """
    window = json.loads(_path(trainer, checkpoint).read_bytes())
    trainer._tr_loss = torch.full_like(trainer._tr_loss, window["loss"])
    trainer._globalstep_last_logged = window["last_logged"]
    for name, values in window["metrics"].items():
        trainer._metrics["train"][name] = values


def _path(trainer: Any, checkpoint: Path) -> Path:
    return checkpoint / f"log_window_{trainer.args.process_index}.json"
