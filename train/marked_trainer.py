"""The stages that both trainers have, marked: loading rows, forward and backward, the optimizer's
step, evaluation. (With DeepSpeed the optimizer steps within the backward pass.)

Example: class RepeatableTrainer(MarkedTrainer): ...; trainer.add_callback(MarkOptimizerSteps())
"""

from typing import Any

from transformers import TrainerCallback

from train.stages import begin, end, note_step, stage

OPTIMIZER_STEP = "optimizer step"


class MarkedTrainer:
    """A base class to put before a subclass of transformers' trainer."""

    state: Any  # provided by that trainer

    def get_batch_samples(self, *args: Any, **kwargs: Any) -> Any:
        """The rows of one optimizer step."""
        note_step(self.state.global_step + 1)
        with stage("loading rows"):
            return super().get_batch_samples(*args, **kwargs)  # type: ignore[misc]

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        """One micro-batch; in GRPO with the sampling that some of them begin with."""
        with stage("forward and backward"):
            return super().training_step(*args, **kwargs)  # type: ignore[misc]

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """A whole evaluation."""
        with stage("evaluation"):
            return super().evaluate(*args, **kwargs)  # type: ignore[misc]


class MarkOptimizerSteps(TrainerCallback):  # type: ignore[misc]
    """Marks the optimizer's step."""

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Gradients are there and clipped."""
        begin(OPTIMIZER_STEP)

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The optimizer has stepped."""
        end(OPTIMIZER_STEP)
