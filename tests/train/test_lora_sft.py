"""A cold start with an adapter: what gets gradients, what stands still, saving and resuming."""

from pathlib import Path
from typing import Any

import pytest
import torch

from affect.model.loading import load_policy
from affect.model.policy import causal_model
from tests.tiny_adapter import adapter_weights
from tests.train.drawn_rows import draw_world
from tests.train.grpo_fixtures import checkpoint
from tests.train.lora_runs import LORA, sft_start
from train.gradient_check import FirstStepGradients

# Reentrant checkpointing remarks on the tower, which runs without gradient on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")

ADAMW = {"optim": "adamw_torch", "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_world(tmp_path_factory.mktemp("world"), ["short", "square"])


def base_weights(policy: Any) -> dict[str, torch.Tensor]:
    """Copies of everything but the adapters."""
    return {
        name: weight.clone() for name, weight in policy.state_dict().items() if "lora_" not in name
    }


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"gradient_checkpointing": True},
        {
            "gradient_checkpointing": True,
            "gradient_checkpointing_kwargs": {"use_reentrant": True},  # what ZeRO-3 forces
        },
        {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 2},
    ],
    ids=["plain", "checkpointing", "reentrant", "accumulation"],
)
def test_every_adapter_weight_gets_a_gradient_and_nothing_else(
    world: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    trainer = sft_start(world, tmp_path, checkpoint(), **settings)
    policy = trainer.model
    before = base_weights(policy)
    start = adapter_weights(policy)
    check = FirstStepGradients(policy)
    trainer.add_callback(check)
    gradients: dict[str, torch.Tensor] = {}

    class Gradients(type(check).__base__):  # type: ignore[misc]
        def on_pre_optimizer_step(self, *args: Any, **kwargs: Any) -> None:
            gradients.update(
                {
                    name: w.grad.clone()
                    for name, w in policy.named_parameters()
                    if w.grad is not None
                }
            )

    trainer.add_callback(Gradients())
    trainer.train()
    assert len(check.groups) == 32 and check.reached == set(gradients)
    assert {"layers.0.mlp.up_proj.lora_A", "merger.mlp.2.lora_B"} <= check.groups.keys()
    assert all(".default." in name for name in gradients)
    for name, gradient in gradients.items():
        # B begins at zero, so that A's first gradient is there and zero; B's is not.
        assert bool(gradient.abs().max() > 0) == ("lora_B" in name), name
    after = base_weights(policy)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    end = adapter_weights(policy)
    assert {name for name in end if not torch.equal(end[name], start[name])} == {
        name for name in end if "lora_B" in name
    }


def test_checkpointing_changes_no_gradient(world: Path, tmp_path: Path) -> None:
    found = []
    for index, kwargs in enumerate([None, {"use_reentrant": False}, {"use_reentrant": True}]):
        trainer = sft_start(
            world,
            tmp_path / str(index),
            checkpoint(),
            max_steps=2,
            gradient_checkpointing=kwargs is not None,
            gradient_checkpointing_kwargs=kwargs,
        )
        trainer.train()
        found.append(adapter_weights(trainer.model))
    for other in found[1:]:
        for name, weight in found[0].items():
            torch.testing.assert_close(other[name], weight, atol=1e-6, rtol=1e-5)


def test_a_cut_off_adapter_weight_stops_the_run(world: Path, tmp_path: Path) -> None:
    """The layer as a whole still learns, so that only a check of each weight sees it."""
    trainer = sft_start(world, tmp_path, checkpoint())
    layer = causal_model(trainer.model).model.language_model.layers[1].self_attn.q_proj
    layer.lora_A["default"].register_forward_hook(lambda _m, _i, output: output.detach())
    trainer.add_callback(FirstStepGradients(trainer.model))
    with pytest.raises(RuntimeError, match=r"no gradient: layers\.1\.self_attn\.q_proj\.lora_A$"):
        trainer.train()


def test_it_learns_and_what_is_saved_is_what_learned(world: Path, tmp_path: Path) -> None:
    trainer = sft_start(world, tmp_path, checkpoint(), max_steps=12, logging_steps=1, **ADAMW)
    trainer.train()
    losses = [line["loss"] for line in trainer.state.log_history if "loss" in line]
    assert losses[-1] < losses[0] - 0.5
    trainer.save_model(str(tmp_path / "final"))
    names = {path.name for path in (tmp_path / "final").rglob("*")}
    assert {"adapter_config.json", "adapter_model.safetensors", "tokenizer.json"} <= names
    assert {"processor_config.json", "chat_template.jinja"} <= names
    assert not {"model.safetensors", "config.json", "README.md", "adapter_model.bin"} & names
    loaded, _ = load_policy(tmp_path / "final")
    found, expected = adapter_weights(loaded), adapter_weights(trainer.model)
    assert all(torch.equal(found[name], expected[name]) for name in expected)


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_a_resumed_run_ends_as_one_that_was_not_stopped(
    world: Path, tmp_path: Path, dropout: float
) -> None:
    settings = {"max_steps": 4, "save_strategy": "steps", "save_steps": 2, **ADAMW}
    settings.update(per_device_train_batch_size=1, logging_steps=1)
    lora = {**LORA, "dropout": dropout}
    whole = sft_start(world, tmp_path / "whole", checkpoint(), lora, **settings)
    whole.train()
    saved = tmp_path / "whole" / "checkpoint-2"
    assert (saved / "adapter_model.safetensors").is_file()
    assert not list(saved.glob("model*.safetensors"))
    resumed = sft_start(world, tmp_path / "resumed", checkpoint(), lora, **settings)
    resumed.train(resume_from_checkpoint=str(saved))
    found, expected = adapter_weights(resumed.model), adapter_weights(whole.model)
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    losses = [
        {line["step"]: line["loss"] for line in trainer.state.log_history if "loss" in line}
        for trainer in (whole, resumed)
    ]
    assert losses[0] == losses[1] and set(losses[0]) == {1, 2, 3, 4}
    assert all(w.requires_grad == (".default." in n) for n, w in resumed.model.named_parameters())


def test_a_checkpoint_that_is_not_whole_is_not_resumed(world: Path, tmp_path: Path) -> None:
    trainer = sft_start(
        world, tmp_path, checkpoint(), max_steps=1, save_strategy="steps", save_steps=1
    )
    trainer.train()
    weights = tmp_path / "checkpoint-1" / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    again = sft_start(world, tmp_path, checkpoint(), max_steps=2)
    with pytest.raises(ValueError, match=r"checkpoint-1/adapter_model\.safetensors: can't be read"):
        again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-1"))
