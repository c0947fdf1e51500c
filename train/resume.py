"""Weights of a checkpoint back into a trainer's model, by the names they were saved under.

transformers 5.19 saves a Qwen2.5-VL under the hub's names ("model.layers...", "visual..."), but its
trainer resumes as if they were the modules' ("model.language_model.layers..."): no name is known,
nothing is loaded, and the run would go on from the weights it started with, with the optimizer of
the checkpoint and hardly a word. DeepSpeed keeps weights of its own and does not come here.

Example: load_weights_on_resume(trainer); trainer.train(resume_from_checkpoint=folder)
"""

from pathlib import Path
from types import MethodType
from typing import Any

from affect.adapter_config import is_adapter
from affect.model.adapter import read_adapter_weights, set_adapter_weights
from affect.model.loading import load_policy
from affect.model.policy import causal_model


def load_weights_on_resume(trainer: Any) -> None:
    """Make `trainer.train(resume_from_checkpoint=...)` load all of a full checkpoint's weights.

    On the instance, so that it serves both stages' trainers.
    """
    trainer._load_from_checkpoint = MethodType(_load_from_checkpoint, trainer)


def _load_from_checkpoint(trainer: Any, resume_from_checkpoint: str, model: Any = None) -> None:
    """Replaces the trainer's method of this name.

    Raises:
        ValueError: the checkpoint's weights are not whole, or another model's.
    """
    folder = Path(resume_from_checkpoint)
    if is_adapter(folder):
        # By us: with the reference adapter beside it, the trainer would load only that one.
        policy = trainer.model if model is None else model
        set_adapter_weights(policy, read_adapter_weights(folder), folder)
        return
    target = causal_model(trainer.model if model is None else model)
    saved, _ = load_policy(resume_from_checkpoint, dtype=str(target.dtype).removeprefix("torch."))
    try:
        target.load_state_dict(saved.state_dict())
    except RuntimeError as error:
        raise ValueError(f"{resume_from_checkpoint}: not this run's model: {error}") from error
