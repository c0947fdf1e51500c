"""Settings that no resumed run could repeat, checkpoints that count, and rows that only fill up."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import TrainerCallback
from trl import SFTConfig

from affect.run_folder import checkpoint_steps
from tests.train.drawn_rows import draw_world, sft_trainer
from train.checkpoints import CONTENTS_FILE, find_checkpoint
from train.repeatable import check_repeatable
from train.sft_trainer import IGNORED_LABEL, VideoSftTrainer

SAVING = {"save_strategy": "steps", "save_steps": 1, "max_steps": 3}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_world(tmp_path_factory.mktemp("world"), ["short"])


def arguments(tmp_path: Path, **settings: Any) -> SFTConfig:
    return SFTConfig(output_dir=str(tmp_path), use_cpu=True, bf16=False, **settings)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"save_only_model": True}, r"trainer\.save_only_model: its checkpoints lack the opt"),
        ({"ignore_data_skip": True}, r"trainer\.ignore_data_skip: a resumed run would see rows"),
        ({"auto_find_batch_size": True}, r"trainer\.auto_find_batch_size: steps would be made"),
        ({"accelerator_config": {"split_batches": True}}, r"accelerator_config\.split_batches"),
        ({"accelerator_config": {"even_batches": False}}, r"accelerator_config\.even_batches"),
        (
            {"accelerator_config": {"use_seedable_sampler": False}},
            r"accelerator_config\.use_seedable_sampler: a resumed run would see other rows",
        ),
        ({"train_sampling_strategy": "group_by_length"}, r"'group_by_length'; rows come in the"),
        ({"learning_rate": 0.0}, r"trainer\.learning_rate is 0, so nothing would be learned"),
    ],
)
def test_what_can_not_be_repeated_is_refused(
    tmp_path: Path, settings: dict[str, Any], told: str
) -> None:
    check_repeatable(arguments(tmp_path))
    with pytest.raises(ValueError, match=told):
        check_repeatable(arguments(tmp_path, **settings))


def test_a_half_written_checkpoint_is_written_anew(world: Path, tmp_path: Path) -> None:
    half = tmp_path / "checkpoint-2"
    half.mkdir()
    (half / "rng_state_1.pth").write_bytes(b"of a start with two processes")
    sft_trainer(world, tmp_path, **SAVING).train()
    contents = json.loads((half / CONTENTS_FILE).read_text())
    assert contents["num_processes"] == 1
    files = {path.name for path in half.iterdir()}
    assert files == {*contents["files"], CONTENTS_FILE}
    assert {"model.safetensors", "optimizer.pt", "trainer_state.json", "log_window_0.json"} <= files
    assert "rng_state_1.pth" not in files


def test_an_older_checkpoint_stays_until_the_newer_one_is_whole(
    world: Path, tmp_path: Path
) -> None:
    there: dict[int, list[int]] = {}

    class WhenSaved(TrainerCallback):  # type: ignore[misc]
        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            there[state.global_step] = checkpoint_steps(tmp_path)

    trainer = sft_trainer(world, tmp_path, callbacks=[WhenSaved()], save_total_limit=1, **SAVING)
    seen: list[Any] = []
    save_state = trainer._save_optimizer_and_scheduler

    def noting(folder: str) -> None:
        seen.append(find_checkpoint(tmp_path, 1)[0])
        save_state(folder)

    trainer._save_optimizer_and_scheduler = noting
    trainer.train()
    assert seen == [None, tmp_path / "checkpoint-1", tmp_path / "checkpoint-2"]
    assert there == {1: [1], 2: [2], 3: [3]}
    assert trainer.args.save_total_limit == 1


def test_no_step_after_the_last_one(world: Path, tmp_path: Path) -> None:
    """Killed between the last checkpoint and the end, within an epoch; nothing is trained again."""
    world = draw_world(tmp_path / "world", ["short", "wide"])
    first = sft_trainer(world, tmp_path, per_device_train_batch_size=1, **SAVING)
    first.train()
    again = sft_trainer(world, tmp_path, per_device_train_batch_size=1, **SAVING)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert again.state.global_step == 3
    assert again.clips.num_decodes == 0


@pytest.mark.parametrize(
    ("num_processes", "batch_size", "accumulation", "expected"),
    [
        # Five rows, effectively four a step. By process: how many rows of each batch count.
        (1, 4, 1, [[[4], [1]]]),
        (1, 2, 2, [[[2, 2], [1]]]),
        (2, 2, 1, [[[2], [1]], [[2], [0]]]),
        (2, 1, 2, [[[1, 1], [1]], [[1, 1], [0]]]),
        (4, 1, 1, [[[1], [1]], [[1], [0]], [[1], [0]], [[1], [0]]]),
    ],
)
def test_rows_that_only_fill_up_do_not_count(
    num_processes: int, batch_size: int, accumulation: int, expected: list[list[list[int]]]
) -> None:
    for process, steps in enumerate(expected):
        for epoch in (0, 1):
            for step, counts in enumerate(steps):
                trainer = SimpleNamespace(
                    args=SimpleNamespace(
                        train_batch_size=batch_size,
                        world_size=num_processes,
                        process_index=process,
                        gradient_accumulation_steps=accumulation,
                    ),
                    state=SimpleNamespace(global_step=2 * epoch + step),
                    steps_per_epoch=2,
                    train_dataset=range(5),
                )
                batches = [{"labels": torch.zeros(batch_size, 3)} for _ in counts]
                VideoSftTrainer._take_labels_from_added_rows(trainer, batches)  # type: ignore[arg-type]
                counted = [(b["labels"] != IGNORED_LABEL).all(dim=1).tolist() for b in batches]
                assert counted == [[True] * n + [False] * (batch_size - n) for n in counts]
