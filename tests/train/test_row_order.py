"""The order of rows is a function of the epoch, wherever a run starts and however it is dealt."""

from pathlib import Path
from typing import Any

import pytest
from accelerate.data_loader import prepare_data_loader, skip_first_batches
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler
from trl.trainer.utils import RepeatSampler

from train.repeat_sampler import EpochRepeatSampler
from train.row_order import set_epoch

ROWS = list(range(12))
GRPO = {"mini_repeat_count": 2, "batch_size": 3, "repeat_count": 2, "seed": 7}


def test_it_is_trls_order_in_every_epoch() -> None:
    theirs = RepeatSampler(ROWS, **GRPO)
    expected = [list(theirs) for _ in range(4)]
    assert len({tuple(epoch) for epoch in expected}) == 4
    for epoch in (3, 0, 2, 1):
        ours = EpochRepeatSampler(ROWS, **GRPO)
        ours.set_epoch(epoch)
        assert list(ours) == expected[epoch]
        assert list(ours) == expected[epoch]  # iterating changes nothing


def test_without_shuffling_every_epoch_is_the_same() -> None:
    ours = EpochRepeatSampler(ROWS, **GRPO, shuffle=False)
    first = list(ours)
    ours.set_epoch(2)
    assert list(ours) == first == list(RepeatSampler(ROWS, **GRPO, shuffle=False))


def loader(sampler: Any, num_processes: int, process_index: int) -> Any:
    """As transformers' trainer makes it."""
    return prepare_data_loader(
        DataLoader(ROWS, batch_size=2, sampler=sampler, collate_fn=list),  # type: ignore[arg-type]
        num_processes=num_processes,
        process_index=process_index,
        use_seedable_sampler=True,
        data_seed=5,
    )


def batches(dataloader: Any, epoch: int) -> list[list[int]]:
    """What the trainer does in an epoch."""
    dataloader.set_epoch(epoch)
    return list(dataloader)


SAMPLERS = {
    "sft": lambda: RandomSampler(ROWS),
    "grpo": lambda: EpochRepeatSampler(ROWS, **GRPO),
}


@pytest.mark.parametrize("num_processes", [1, 2, 3])
@pytest.mark.parametrize("kind", SAMPLERS)
def test_a_resumed_epoch_goes_on_in_its_order(kind: str, num_processes: int) -> None:
    for process in range(num_processes):
        whole = loader(SAMPLERS[kind](), num_processes, process)
        epochs = []
        for epoch in range(3):
            set_epoch(whole, epoch)
            epochs.append(batches(whole, epoch))
        assert epochs[0] != epochs[1] != epochs[2]
        for epoch in (0, 1, 2):
            resumed = loader(SAMPLERS[kind](), num_processes, process)
            set_epoch(resumed, epoch)
            rest = batches(skip_first_batches(resumed, 1), epoch)
            assert rest == epochs[epoch][1:]


def test_why_it_is_needed() -> None:
    """accelerate's skipping wrapper hides the sampler of several processes. Once this fails, drop
    `set_epoch`."""
    whole, resumed = (loader(EpochRepeatSampler(ROWS, **GRPO), 2, 0) for _ in range(2))
    assert batches(skip_first_batches(resumed, 1), 1) == batches(whole, 0)[1:]


def test_rows_in_their_own_order_have_no_epochs() -> None:
    dataloader = loader(SequentialSampler(ROWS), 2, 1)
    set_epoch(dataloader, 1)
    assert batches(dataloader, 1) == [[2, 3], [6, 7], [10, 11]]


def test_a_sampler_that_knows_no_epochs() -> None:
    with pytest.raises(AssertionError, match="RepeatSampler has no epochs"):
        set_epoch(loader(RepeatSampler(ROWS, **GRPO), 1, 0), 1)


def test_nothing_is_read_of_what_is_skipped(tmp_path: Path) -> None:
    class Noting(list[int]):
        read: list[int] = []  # noqa: RUF012

        def __getitem__(self, index: Any) -> Any:
            self.read.append(index)
            return super().__getitem__(index)

    rows = Noting(ROWS)
    dataloader = prepare_data_loader(
        DataLoader(rows, batch_size=2, sampler=SequentialSampler(rows), collate_fn=list),  # type: ignore[arg-type]
        num_processes=1,
        process_index=0,
    )
    assert list(skip_first_batches(dataloader, 4)) == [[8, 9], [10, 11]]
    assert rows.read == [8, 9, 10, 11]
