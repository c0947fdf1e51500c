"""The check after the first step: quiet on a right model, loud on each way to train a wrong one."""

from pathlib import Path
from typing import Any

import pytest

from affect.model.policy import causal_model, freeze_tower
from tests.tiny import tiny_policy
from tests.train.drawn_rows import draw_world, sft_trainer
from train.gradient_check import FirstStepGradients, parameter_group


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_world(tmp_path_factory.mktemp("world"), ["short", "square"])


def frozen_policy() -> Any:
    model, _ = tiny_policy()
    freeze_tower(model)
    return model


def language_layers(model: Any) -> Any:
    return causal_model(model).model.language_model.layers


def train(world: Path, folder: Path, model: Any, check: FirstStepGradients, **settings: Any) -> Any:
    trainer = sft_trainer(world, folder, model=model, callbacks=[check], **settings)
    trainer.train()
    return trainer


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gradient_checkpointing": True},
        {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 2},
    ],
    ids=["plain", "checkpointing", "accumulation"],
)
def test_a_right_model_passes(world: Path, tmp_path: Path, settings: dict[str, Any]) -> None:
    model = frozen_policy()
    check = FirstStepGradients(model)
    train(world, tmp_path, model, check, **settings)
    assert set(check.groups) == {"merger", "embed_tokens", "layers.0", "layers.1", "norm"}
    assert check.reached == {name for names in check.groups.values() for name in names}
    assert check.touched == []
    frozen = {name for name, _ in check.frozen}
    assert all("visual." in name and "visual.merger" not in name for name in frozen)
    assert len(frozen) + len(check.reached) == len(list(model.parameters()))


def test_a_detached_merger_stops_the_run(world: Path, tmp_path: Path) -> None:
    model = frozen_policy()
    merger: Any = causal_model(model).model.visual.merger
    merger.register_forward_hook(lambda _module, _inputs, output: output.detach())
    with pytest.raises(RuntimeError, match=r"these trainable parts have no gradient: merger$"):
        train(world, tmp_path, model, FirstStepGradients(model))


def test_a_layer_that_is_cut_off_stops_the_run(world: Path, tmp_path: Path) -> None:
    """All that lies before it goes silent too, the merger and the embeddings' input side."""
    model = frozen_policy()
    language_layers(model)[1].register_forward_hook(lambda _m, _i, output: output.detach())
    with pytest.raises(RuntimeError, match=r"no gradient: layers\.0, layers\.1, merger$"):
        train(world, tmp_path, model, FirstStepGradients(model))


def test_a_frozen_weight_with_a_gradient_stops_the_run(world: Path, tmp_path: Path) -> None:
    """Frozen when the run was set up, thawed by something afterwards."""
    model = frozen_policy()
    norm = causal_model(model).model.language_model.norm.weight
    norm.requires_grad_(False)
    check = FirstStepGradients(model)
    with pytest.raises(RuntimeError, match=r"frozen weights received a gradient: .*\.norm\.weight"):
        train(world, tmp_path, model, check)  # the trainer's set-up freezes the tower only


def test_it_looks_once(world: Path, tmp_path: Path) -> None:
    """From the second step on nothing listens, so it costs nothing."""
    model = frozen_policy()
    check = FirstStepGradients(model)
    trainer = train(world, tmp_path, model, check)
    check.reached.clear()
    trainer.args.max_steps = 2
    trainer.train()
    assert check.reached == set()


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("model.visual.blocks.0.attn.qkv.weight", "visual"),
        ("model.visual.merger.mlp.0.weight", "merger"),
        ("module.model.language_model.layers.11.mlp.up_proj.weight", "layers.11"),
        ("model.language_model.embed_tokens.weight", "embed_tokens"),
        ("model.language_model.norm.weight", "norm"),
        ("lm_head.weight", "lm_head"),
    ],
)
def test_parameter_group(name: str, group: str) -> None:
    assert parameter_group(name) == group


def test_an_unknown_part() -> None:
    with pytest.raises(ValueError, match=r"no part of Qwen2\.5-VL is called score\.weight"):
        parameter_group("score.weight")
