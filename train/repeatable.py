"""What both trainers need so that a killed and resumed run is the run that was not killed.

A base class to put before TRL's: checkpoints that count only when they are whole, rows in the
epoch's own order, log lines over the same steps, and no step after the last one.

Example: class VideoSftTrainer(RepeatableTrainer, SFTTrainer): ...
"""

import shutil
from pathlib import Path
from typing import Any

from transformers.trainer_utils import rotate_checkpoints

from affect.model.policy import causal_model
from train.checkpoints import seal_checkpoint
from train.log_window import load_log_window, save_log_window
from train.marked_trainer import MarkedTrainer
from train.row_order import set_epoch
from train.stages import stage

# Settings under which a resumed run, or one on other processes, would not be the same run.
_NEEDED = {
    "save_only_model": (False, "its checkpoints lack the optimizer, so no run could go on"),
    "ignore_data_skip": (False, "a resumed run would see rows again and miss others"),
    "auto_find_batch_size": (False, "steps would be made of other rows once memory runs short"),
}
_NEEDED_OF_ACCELERATOR = {
    "split_batches": False,
    "dispatch_batches": None,
    "even_batches": True,
    "use_seedable_sampler": True,
}
_ORDERS = ("random", "sequential")


def check_repeatable(args: Any) -> None:
    """Refuse settings that a resumed run can't repeat, and a run that could not learn.

    Raises:
        ValueError: names the setting and why.
    """
    for name, (needed, reason) in _NEEDED.items():
        if getattr(args, name) != needed:
            raise ValueError(f"trainer.{name}: {reason}; leave it out")
    for name, value in _NEEDED_OF_ACCELERATOR.items():
        if getattr(args.accelerator_config, name) != value:
            raise ValueError(
                f"trainer.accelerator_config.{name}: a resumed run would see other rows; "
                "leave it out"
            )
    if args.train_sampling_strategy not in _ORDERS:
        raise ValueError(
            f"trainer.train_sampling_strategy is {args.train_sampling_strategy!r}; rows come in "
            f"the order {' or '.join(_ORDERS)}"
        )
    if args.learning_rate == 0:
        raise ValueError("trainer.learning_rate is 0, so nothing would be learned")


class RepeatableTrainer(MarkedTrainer):
    """See the module's text; comes before a subclass of transformers' trainer."""

    # Provided by that trainer.
    args: Any
    model: Any
    state: Any
    control: Any
    accelerator: Any
    steps_per_epoch: int

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        """A checkpoint that counts once it is whole; older ones are removed only then."""
        with stage("checkpoint"):
            self._save_whole_checkpoint(model, trial)

    def _save_whole_checkpoint(self, model: Any, trial: Any) -> None:
        run_folder = self._get_output_dir(trial=trial)  # type: ignore[attr-defined]
        folder = Path(run_folder) / f"checkpoint-{self.state.global_step}"
        if self.args.should_save and folder.exists():
            shutil.rmtree(folder)  # half of one, from before a kill
        self.accelerator.wait_for_everyone()
        limit, self.args.save_total_limit = self.args.save_total_limit, None
        try:
            super()._save_checkpoint(model, trial)  # type: ignore[misc]
        finally:
            self.args.save_total_limit = limit
        save_log_window(self, folder)
        self.accelerator.wait_for_everyone()
        if self.args.should_save:
            seal_checkpoint(folder, self.args.world_size)
            rotate_checkpoints(
                output_dir=run_folder,
                save_total_limit=limit,
                best_model_checkpoint=self.state.best_model_checkpoint,
                use_mtime=True,
            )

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Save the model, a tied output layer only once, as without ZeRO.

        ZeRO-2 hands over a copy of each weight, so what is shared could not be told from it.
        """
        if state_dict:
            tied = getattr(causal_model(self.model), "all_tied_weights_keys", {})
            state_dict = {name: weight for name, weight in state_dict.items() if name not in tied}
        super()._save(output_dir, state_dict=state_dict)  # type: ignore[misc]

    def _run_epoch(self, **parts: Any) -> None:
        """One epoch, in its own order; none where all steps were done before the run was killed."""
        if self.state.global_step >= self.state.max_steps:
            self.control.should_training_stop = True
            return
        self.steps_per_epoch = parts["num_update_steps_per_epoch"]
        set_epoch(parts["train_dataloader"], parts["epoch"])
        checkpoint = parts["resume_from_checkpoint"]
        if checkpoint is not None and parts["epoch"] == parts["epochs_trained"]:
            load_log_window(self, Path(checkpoint))
        super()._run_epoch(**parts)  # type: ignore[misc]
