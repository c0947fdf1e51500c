"""A checkpoint's weights come back into the trainer, and nothing else is taken for them."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.tiny import shared_processor, tiny_policy
from tests.train.drawn_rows import draw_world, sft_trainer
from train.resume import load_weights_on_resume


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_world(tmp_path_factory.mktemp("world"), ["short"])


def saved(folder: Path, **sizes: Any) -> tuple[Path, Any]:
    """A checkpoint of another seed, and its model."""
    model, _ = tiny_policy(seed=9, **sizes)
    model.save_pretrained(folder)
    shared_processor().save_pretrained(folder)
    return folder, model


def differing(trainer: Any, model: Any) -> list[str]:
    expected = model.state_dict()
    found = trainer.model.state_dict()
    return [name for name in found if not torch.equal(found[name], expected[name])]


def test_every_weight_is_loaded(world: Path, tmp_path: Path) -> None:
    checkpoint, model = saved(tmp_path / "checkpoint-1")
    trainer = sft_trainer(world, tmp_path / "run")
    assert len(differing(trainer, model)) > 20
    load_weights_on_resume(trainer)
    trainer._load_from_checkpoint(str(checkpoint))
    assert differing(trainer, model) == []
    assert trainer.model.lm_head.weight is trainer.model.get_input_embeddings().weight


def test_why_it_is_needed(world: Path, tmp_path: Path) -> None:
    """transformers knows none of the names it wrote itself. Once this fails, drop train/resume."""
    checkpoint, model = saved(tmp_path / "checkpoint-1")
    trainer = sft_trainer(world, tmp_path / "run")
    before = differing(trainer, model)
    trainer._load_from_checkpoint(str(checkpoint))
    assert differing(trainer, model) == before


def test_a_model_of_another_size(world: Path, tmp_path: Path) -> None:
    checkpoint, _ = saved(tmp_path / "checkpoint-1", num_layers=1)
    trainer = sft_trainer(world, tmp_path / "run")
    load_weights_on_resume(trainer)
    with pytest.raises(ValueError, match=r"checkpoint-1: not this run's model"):
        trainer._load_from_checkpoint(str(checkpoint))


def test_a_checkpoint_that_is_not_whole(world: Path, tmp_path: Path) -> None:
    checkpoint, _ = saved(tmp_path / "checkpoint-1")
    weights = checkpoint / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    trainer = sft_trainer(world, tmp_path / "run")
    load_weights_on_resume(trainer)
    with pytest.raises(ValueError, match=r"checkpoint-1: the model could not be loaded"):
        trainer._load_from_checkpoint(str(checkpoint))
