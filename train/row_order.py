"""The order of a run's rows as a function of (seed, epoch), so that a resumed epoch has its own.

Two things lose it for GRPO. TRL's sampler draws each epoch's order from one generator that goes on
from epoch to epoch, so a run that resumes within epoch 1 would get the order of epoch 0. And where
there are several processes, accelerate does not tell an epoch's number to such a sampler through
the wrapper that skips the first batches. (The sampler of a cold start is accelerate's own.)

Example: set_epoch(train_dataloader, 1)   # before the epoch is iterated
"""

from collections.abc import Iterator
from typing import Any

import torch
from trl.trainer.utils import RepeatSampler


class EpochRepeatSampler(RepeatSampler):  # type: ignore[misc]
    """TRL's sampler, with the order that TRL gives each epoch also where a run starts in it."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch (from 0) that the next iteration goes through."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[int]:
        if self.shuffle:
            assert self.seed is not None
            self.generator.manual_seed(self.seed)
            for _ in range(self.epoch):  # the draws of the epochs before
                torch.randperm(self.num_samples, generator=self.generator)
        yield from super().__iter__()


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
