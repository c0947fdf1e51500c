"""Telling an epoch's number to whatever orders a run's rows, so that a resumed epoch has its own.

accelerate loses it for GRPO: with several processes it does not reach the sampler through the
wrapper that skips the first batches. (The sampler of a cold start is accelerate's own; that of GRPO
is in `train.repeat_sampler`, with TRL, which is not to be loaded before a run is open.)

Example: set_epoch(train_dataloader, 1)   # before the epoch is iterated
"""

from typing import Any

import torch


def set_epoch(dataloader: Any, epoch: int) -> None:
    """Tell the epoch to the sampler inside accelerate's dataloader, however it is wrapped.

    Raises:
        AssertionError: no sampler inside knows of epochs, so the order could not be repeated.
    """
    sampler = dataloader.batch_sampler
    while hasattr(sampler, "batch_sampler"):
        sampler = sampler.batch_sampler
    sampler = sampler.sampler
    if isinstance(sampler, torch.utils.data.SequentialSampler):
        return
    assert hasattr(sampler, "set_epoch"), f"{type(sampler).__name__} has no epochs"
    sampler.set_epoch(epoch)
