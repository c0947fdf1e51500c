"""The order of GRPO's rows as a function of (seed, epoch).

TRL's sampler draws each epoch's order from one generator that goes on from epoch to epoch, so a run
that resumes within epoch 1 would get the order of epoch 0.

Example: sampler.set_epoch(1)   # before the epoch is iterated
"""

from collections.abc import Iterator

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
