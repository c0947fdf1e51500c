"""The check that weights move: quiet where they may stand still, loud where they must not."""

from pathlib import Path
from typing import Any

import pytest
import torch

from affect.model.policy import freeze_tower
from tests.tiny import tiny_policy
from tests.train.drawn_rows import draw_world, sft_trainer
from train.first_step import FirstStepChange

ADAM = {"optim": "adamw_torch", "learning_rate": 1e-4}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_world(tmp_path_factory.mktemp("world"), ["short", "square"])


def watched(world: Path, folder: Path, **settings: Any) -> tuple[Any, FirstStepChange]:
    """A trainer on a tiny policy, and the check that listens to it."""
    model, _ = tiny_policy()
    freeze_tower(model)
    model.to(settings.pop("dtype", torch.float32))
    check = FirstStepChange(model)
    settings = {**ADAM, "per_device_train_batch_size": 2, **settings}
    return sft_trainer(world, folder, model=model, callbacks=[check], **settings), check


def forget(trainer: Any, *names: str) -> None:
    """Leave weights out of the optimizer that the trainer makes."""
    create = trainer.create_optimizer
    left_out = {id(weight) for name, weight in trainer.model.named_parameters() if name in names}
    assert len(left_out) == len(names)

    def create_without(*args: Any) -> Any:
        optimizer = create(*args)
        for group in optimizer.param_groups:
            group["params"] = [weight for weight in group["params"] if id(weight) not in left_out]
        return optimizer

    trainer.create_optimizer = create_without


FORGOTTEN = "model.language_model.layers.1.self_attn.k_proj.weight"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 2},
        {"optim": "sgd", "learning_rate": 0.1},
        {"optim": "adafactor"},
        {"max_grad_norm": 1e-3},
    ],
    ids=["adam", "accumulation", "sgd", "adafactor", "clipped"],
)
def test_after_one_step_all_has_moved(
    world: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    trainer, check = watched(world, tmp_path, **settings)
    assert len(check.still) == sum(w.requires_grad for w in trainer.model.parameters())
    trainer.train()
    assert check.still == check._hooks == []


def test_a_warm_up_begins_at_0(world: Path, tmp_path: Path) -> None:
    settings = {"lr_scheduler_type": "constant_with_warmup", "warmup_steps": 2}
    trainer, check = watched(world, tmp_path / "one", max_steps=1, **settings)
    trainer.train()
    assert len(check.still) == check._num_weights
    trainer, check = watched(world, tmp_path / "two", max_steps=2, **settings)
    trainer.train()
    assert check.still == []
    trainer, _ = watched(world, tmp_path / "forgotten", max_steps=3, **settings)
    forget(trainer, FORGOTTEN)
    with pytest.raises(RuntimeError, match=r"step 2 had gradients and a learning rate of 5e-05,"):
        trainer.train()


def test_a_weight_that_the_optimizer_was_not_given(world: Path, tmp_path: Path) -> None:
    trainer, _ = watched(world, tmp_path, max_steps=3)
    forget(trainer, FORGOTTEN)
    with pytest.raises(RuntimeError) as caught:
        trainer.train()
    assert str(caught.value) == (
        "step 1 had gradients and a learning rate of 0.0001, but these trainable weights did not "
        f"change: {FORGOTTEN}; the optimizer was not given them, or does not step"
    )


def test_an_optimizer_that_does_not_step(world: Path, tmp_path: Path) -> None:
    trainer, _ = watched(world, tmp_path)
    trainer.create_optimizer()
    trainer.optimizer.step = lambda *args, **kwargs: None
    with pytest.raises(RuntimeError, match=r"did not change: .* and \d+ more; the optimizer"):
        trainer.train()


def test_without_a_gradient_nothing_must_move(world: Path, tmp_path: Path) -> None:
    """As in GRPO while all replies of each prompt earn the same; it waits for the first one."""
    trainer, check = watched(world, tmp_path, max_steps=3)
    compute = trainer.compute_loss
    factor = [0.0, 0.0, 1.0]
    trainer.compute_loss = lambda *args, **kwargs: compute(*args, **kwargs) * factor.pop(0)
    moved = []
    check_end = check.on_step_end

    def noting(*args: Any, **kwargs: Any) -> None:
        check_end(*args, **kwargs)
        moved.append(check._num_weights - len(check.still))

    check.on_step_end = noting  # type: ignore[method-assign]
    trainer.train()
    assert moved == [0, 0, check._num_weights]


def test_a_rate_too_small_to_show_in_some_weights(world: Path, tmp_path: Path) -> None:
    """Norms begin at 1, beside which float32 does not know 1e-9; nobody's fault."""
    trainer, check = watched(world, tmp_path, max_steps=5, learning_rate=1e-9)
    trainer.train()
    assert check.still == check._hooks == []


def test_a_rate_too_small_for_half_precision(world: Path, tmp_path: Path) -> None:
    settings = {"max_steps": 5, "learning_rate": 1e-12, "dtype": torch.bfloat16}
    trainer, _ = watched(world, tmp_path, **settings)
    told = r"\d+ of \d+ trainable weights did not change in 3 steps .* of 1e-12: it is too small"
    with pytest.raises(RuntimeError, match=told):
        trainer.train()
    trainer, check = watched(world, tmp_path, **{**settings, "learning_rate": 1e-5})
    trainer.train()
    assert check.still == []


def test_it_costs_nothing_afterwards(world: Path, tmp_path: Path) -> None:
    trainer, check = watched(world, tmp_path, max_steps=2)
    looked: list[int] = []
    begin = check.on_step_begin

    def noting(*args: Any, **kwargs: Any) -> None:
        looked.append(len(check.still))
        begin(*args, **kwargs)

    check.on_step_begin = noting  # type: ignore[method-assign]
    trainer.train()
    assert looked == [check._num_weights, 0]
    assert not any(weight._backward_hooks for weight in trainer.model.parameters())
