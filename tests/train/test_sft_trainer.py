"""The cold start's batches, loss and gradients, on a tiny policy and drawn clips.

The reference is slow and plain: each row alone, full logits, log-softmax, the mean over its answer.
"""

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import Trainer
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLModel
from trl import SFTTrainer

from affect.model.policy import PolicyBackbone, causal_model, freeze_tower, tower_features
from tests.tiny import shared_processor, tiny_policy
from tests.train.drawn_rows import (
    CLIPS,
    clip_store,
    collator,
    draw_world,
    sft_trainer,
    timeline,
    trained_weights,
)
from train.row_data import load_rows
from train.sft_trainer import IGNORED_LABEL, VideoSftTrainer

ORDER = ["wide", "long", "short", "square"]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw_world(tmp_path_factory.mktemp("world"))


def batch_of(world: Path, model: Any, names: list[str]) -> dict[str, Any]:
    store = clip_store(world)
    rows = {row["id"]: row for row in load_rows(store.data)}
    return collator(store, model)([rows[name] for name in names])


def reference_loss(model: Any, batch: dict[str, Any]) -> torch.Tensor:
    """Mean over the answer of one row's negative log-likelihood, from the full logits."""
    [labels] = batch["labels"].tolist()
    inputs = {name: value for name, value in batch.items() if name != "labels"}
    [logits] = model(**inputs, use_cache=False).logits
    losses = [
        -torch.log_softmax(logits[place - 1].double(), dim=-1)[label]
        for place, label in enumerate(labels)
        if label != IGNORED_LABEL
    ]
    return torch.stack(losses).mean()


def gradients(model: Any) -> dict[str, torch.Tensor]:
    return {
        name: parameter.grad.clone()
        for name, parameter in model.named_parameters()
        if parameter.grad is not None
    }


def largest_relative_error(found: dict[str, Any], expected: dict[str, Any]) -> float:
    """Norm of the difference over the norm, of the worst tensor."""
    assert found.keys() == expected.keys() and found
    return max(float((found[k] - expected[k]).norm() / expected[k].norm()) for k in expected)


def test_labels_are_the_answer_and_its_end_token_and_nothing_else(world: Path) -> None:
    model, processor = tiny_policy()
    batch = batch_of(world, model, ORDER)
    for name, ids, mask, labels in zip(
        ORDER, batch["input_ids"], batch["attention_mask"], batch["labels"], strict=True
    ):
        learned = labels != IGNORED_LABEL
        text = processor.tokenizer.decode(labels[learned])
        assert text == timeline(name).to_json() + "<|im_end|>"
        # In one piece, at the end of what is not padding, and under the same input tokens.
        places = learned.nonzero().flatten().tolist()
        assert places == list(range(places[0], int(mask.sum())))
        assert ids[learned].tolist() == labels[learned].tolist()
        assert processor.tokenizer.decode(ids[: places[0]]).endswith("<|im_start|>assistant\n")
        assert mask.tolist() == sorted(mask.tolist(), reverse=True)
    assert len({int((labels != IGNORED_LABEL).sum()) for labels in batch["labels"]}) >= 3


def test_positions_of_a_batch_are_ours(world: Path) -> None:
    model, processor = tiny_policy()
    batch = batch_of(world, model, ORDER)
    assert batch["position_ids"].shape == (3, 4, batch["input_ids"].shape[1])
    index, ids = ORDER.index("long"), batch["input_ids"][ORDER.index("long")]
    [start, *_, last] = (ids == processor.tokenizer.get_vocab()["<|video_pad|>"]).nonzero()
    temporal, rows, columns = batch["position_ids"][:, index]
    # 6 s shown as 8 frames: 4 grids of 1.5 s, at 2 ids per second 3 apart; 3 x 2 tokens each.
    first = int(start)
    assert int(last) - first == 23
    shown = slice(first, int(last) + 1)
    assert (temporal[shown] - first).tolist() == [0] * 6 + [3] * 6 + [6] * 6 + [9] * 6
    assert (rows[shown] - first).tolist() == [0, 0, 1, 1, 2, 2] * 4
    assert (columns[shown] - first).tolist() == [0, 1] * 12
    # The text goes on behind the highest of them, in all three alike.
    rest = int(batch["attention_mask"][index].sum()) - int(last) - 1
    after = batch["position_ids"][:, index, int(last) + 1 :][:, :rest]
    assert after.tolist() == [list(range(first + 10, first + 10 + rest))] * 3
    # Each row as if it were alone.
    for place, name in enumerate(ORDER):
        alone = batch_of(world, model, [name])["position_ids"][:, 0]
        assert torch.equal(batch["position_ids"][:, place, : alone.shape[1]], alone)


def test_a_batch_is_the_mean_of_its_rows_alone(world: Path, tmp_path: Path) -> None:
    trainer = sft_trainer(world, tmp_path)
    model = trainer.model
    loss = trainer.compute_loss(model, batch_of(world, model, ORDER))
    loss.backward()
    found = gradients(model)
    model.zero_grad()
    singles = [reference_loss(model, batch_of(world, model, [name])) for name in ORDER]
    expected = torch.stack(singles).mean()
    expected.backward()
    assert float(loss.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    assert len({round(float(single.detach()), 4) for single in singles}) == 4
    assert largest_relative_error(found, gradients(model)) < 1e-5


def test_a_long_answer_counts_as_much_as_a_short_one(world: Path, tmp_path: Path) -> None:
    """The mean over rows is not the mean over tokens, which TRL's own loss would be."""
    trainer = sft_trainer(world, tmp_path)
    model = trainer.model
    with torch.no_grad():
        batch = batch_of(world, model, ["long", "short"])
        ours = float(trainer.compute_loss(model, batch))
        theirs = float(SFTTrainer.compute_loss(trainer, model, batch))
        long, short = (
            float(trainer.compute_loss(model, batch_of(world, model, [name])))
            for name in ("long", "short")
        )
    assert ours == pytest.approx((long + short) / 2, rel=1e-5)
    assert theirs == pytest.approx((148 * long + 43 * short) / 191, rel=1e-5)  # answer tokens
    assert abs(ours - theirs) > 1e-4


# Three rows in an epoch leave a last step of another size, in each layout a different one.
@pytest.mark.parametrize("max_rows", [4, 3])
def test_accumulation_gives_the_same_update(world: Path, tmp_path: Path, max_rows: int) -> None:
    results = []
    for batch, accumulation in ((4, 1), (1, 4), (2, 2)):
        trainer = sft_trainer(
            world,
            tmp_path / f"{batch}x{accumulation}",
            store=clip_store(world, max_rows=max_rows),
            per_device_train_batch_size=batch,
            gradient_accumulation_steps=accumulation,
            max_steps=2,
            logging_steps=1,
        )
        start = {
            name: parameter.detach().clone() for name, parameter in trainer.model.named_parameters()
        }
        weights = trained_weights(trainer)
        changes = {name: weight - start[name] for name, weight in weights.items()}
        losses = [log["loss"] for log in trainer.state.log_history if "loss" in log]
        results.append((changes, losses))
    (whole, whole_losses), *others = results
    assert len(whole_losses) == 2 and whole_losses[1] < whole_losses[0]
    for changes, losses in others:
        assert losses == pytest.approx(whole_losses, rel=1e-5)
        assert largest_relative_error(changes, whole) < 1e-4


def test_checkpointing_gives_the_same_update(world: Path, tmp_path: Path) -> None:
    plain = trained_weights(sft_trainer(world, tmp_path / "plain"))
    trainer = sft_trainer(world, tmp_path / "checkpointing", gradient_checkpointing=True)
    runs: list[bool] = []
    layer = causal_model(trainer.model).model.language_model.layers[0]
    layer.register_forward_pre_hook(lambda *_: runs.append(True))
    recomputed = trained_weights(trainer)
    assert len(runs) == 2  # once forward, once more on the way back
    start = dict(tiny_policy()[0].named_parameters())
    changes = {name: weight - start[name].detach() for name, weight in plain.items()}
    again = {name: weight - start[name].detach() for name, weight in recomputed.items()}
    assert largest_relative_error(again, changes) < 1e-5
    assert all(change.abs().max() > 0 for change in changes.values())


def test_the_tower_does_not_change(world: Path, tmp_path: Path) -> None:
    model, _ = tiny_policy()
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    sft_trainer(world, tmp_path, model=model, max_steps=2).train()
    unchanged = {name for name, weight in model.state_dict().items() if before[name].equal(weight)}
    tower = {name for name in before if "visual." in name and "visual.merger" not in name}
    assert tower and unchanged == tower


@pytest.mark.parametrize("checkpointing", [False, True])
def test_the_tower_keeps_no_activations(world: Path, tmp_path: Path, checkpointing: bool) -> None:
    model, _ = tiny_policy()
    freeze_tower(model)
    batch = batch_of(world, model, ["wide"])
    features = tower_features(model, batch["pixel_values_videos"], batch["video_grid_thw"])
    assert features.grad_fn is None and not features.requires_grad
    # And inside a training step, where checkpointing could have made its inputs differentiable.
    seen: list[bool] = []
    visual: Any = causal_model(model).model.visual
    for block in visual.blocks:
        block.register_forward_hook(
            lambda _module, _inputs, output: seen.append(
                torch.is_grad_enabled() or output.requires_grad
            )
        )
    sft_trainer(world, tmp_path, model=model, gradient_checkpointing=checkpointing).train()
    assert seen == [False] * len(visual.blocks)


def test_the_models_own_positions_are_never_asked_for(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = trained_weights(sft_trainer(world, tmp_path / "before"))

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the model made positions of its own")

    for name in ("get_rope_index", "get_vision_position_ids", "compute_3d_position_ids"):
        monkeypatch.setattr(Qwen2_5_VLModel, name, refuse)
        monkeypatch.setattr(PolicyBackbone, name, refuse)
    found = trained_weights(sft_trainer(world, tmp_path / "after"))
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_the_frames_reach_the_loss(world: Path, tmp_path: Path) -> None:
    trainer = sft_trainer(world, tmp_path)
    batch = batch_of(world, trainer.model, ["square"])
    other = {**batch, "pixel_values_videos": batch["pixel_values_videos"].flip(0)}
    with torch.no_grad():
        seen, reversed_ = (
            float(trainer.compute_loss(trainer.model, inputs)) for inputs in (batch, other)
        )
    assert abs(seen - reversed_) > 1e-5


def test_tokens_and_accuracy_are_logged(world: Path, tmp_path: Path) -> None:
    trainer = sft_trainer(
        world, tmp_path, per_device_train_batch_size=2, max_steps=2, logging_steps=1
    )
    trainer.train()
    logs = [log for log in trainer.state.log_history if "loss" in log]
    batch = batch_of(world, trainer.model, list(CLIPS))
    assert logs[-1]["num_tokens"] == int(batch["attention_mask"].sum())
    assert all(0 <= log["mean_token_accuracy"] <= 1 and log["entropy"] > 0 for log in logs)


def test_the_private_method_of_the_pinned_release() -> None:
    """It is overridden: a release that calls it otherwise must be noticed."""
    theirs = inspect.signature(Trainer._get_num_items_in_batch)
    ours = inspect.signature(VideoSftTrainer._get_num_items_in_batch)
    assert list(ours.parameters) == list(theirs.parameters)
    assert shared_processor().tokenizer.eos_token == "<|im_end|>"
