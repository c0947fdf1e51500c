"""GRPO with an adapter: the reference is the policy that the run starts from, adapter included."""

from pathlib import Path
from typing import Any

import pytest
import torch

from affect.adapter_config import ADAPTER_CONFIG_FILE
from affect.model.adapter import adapter_config, merge_adapter
from affect.model.loading import load_policy
from tests.tiny_adapter import adapter_weights, move_adapter, save_adapter
from tests.train.grpo_fixtures import SyntheticClipStore, checkpoint, clips, rows
from tests.train.lora_runs import grpo_start, start
from tests.train.slow_grpo import plain_log_probs
from train.gradient_check import FirstStepGradients

MOVING = {"max_steps": 3, "learning_rate": 2e-2}


@pytest.fixture(scope="module")
def sft_adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The final model of a cold start with an adapter, far from its base."""
    policy = start("sft", checkpoint())
    move_adapter(policy)
    return save_adapter(policy, tmp_path_factory.mktemp("sft") / "final")


@pytest.fixture(params=["whole", "adapter"])
def starting_point(request: pytest.FixtureRequest, sft_adapter: Path) -> Path:
    """What GRPO starts from: a whole model, or base and adapter."""
    return {"whole": checkpoint(), "adapter": sft_adapter}[request.param]


def test_kl_is_zero_at_the_start_and_grows_when_the_adapter_moves(
    starting_point: Path, tmp_path: Path
) -> None:
    trainer = grpo_start(tmp_path, starting_point, **MOVING)
    trainer.train()
    first, second, third = (log["kl"] for log in trainer.records.logs[:3])
    assert abs(first) < 1e-4
    assert min(second, third) > 1e-3


def reference_log_probs(
    trainer: Any, store: SyntheticClipStore, model: Any
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Found and expected, of each completion of the first sampling."""
    sampling = trainer.records.samplings[0]
    pairs = []
    for index, (one, sampled) in enumerate(zip(sampling.rows, sampling.completions, strict=True)):
        with torch.no_grad():
            expected = plain_log_probs(model, store.prompt(one), sampled.token_ids, 0.8)
        found = sampling.output["ref_per_token_logps"][index, : len(expected)]
        pairs.append((found, expected))
    return pairs


def test_the_reference_is_the_cold_started_policy(starting_point: Path, tmp_path: Path) -> None:
    store = SyntheticClipStore(clips(rows("ab")))
    trainer = grpo_start(tmp_path, starting_point, store=store)
    trainer.train()
    cold_started = merge_adapter(load_policy(starting_point)[0])
    for found, expected in reference_log_probs(trainer, store, cold_started):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)


def test_and_not_the_bare_base(sft_adapter: Path, tmp_path: Path) -> None:
    """Where TRL wraps an adapter anew, KL is measured against the model before the cold start."""
    store = SyntheticClipStore(clips(rows("ab")))
    trainer = grpo_start(tmp_path, sft_adapter, store=store)
    trainer.train()
    bare, _ = load_policy(checkpoint())
    pairs = reference_log_probs(trainer, store, bare)
    assert max(float((found - expected).abs().max()) for found, expected in pairs) > 0.01


def test_the_reference_stands_still_and_the_adapter_moves(
    starting_point: Path, tmp_path: Path
) -> None:
    trainer = grpo_start(tmp_path, starting_point, num_iterations=2, **MOVING)
    policy = trainer.model
    begin = adapter_weights(policy)
    base = {n: w.clone() for n, w in policy.state_dict().items() if "lora_" not in n}
    trainer.train()
    reference, end = adapter_weights(policy, "ref"), adapter_weights(policy)
    assert begin.keys() == reference.keys()
    assert all(torch.equal(begin[name], reference[name]) for name in begin)
    assert not any(torch.equal(begin[name], end[name]) for name in begin)
    after = policy.state_dict()
    assert all(torch.equal(after[name], base[name]) for name in base)
    trains = {name for name, weight in policy.named_parameters() if weight.requires_grad}
    assert len(trains) == 32 and all(".default." in name for name in trains)
    assert policy.active_adapter == "default"


@pytest.mark.parametrize("checkpointing", [None, {"use_reentrant": False}, {"use_reentrant": True}])
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")  # the tower, on purpose
def test_every_adapter_weight_gets_a_gradient_and_no_other(
    sft_adapter: Path, tmp_path: Path, checkpointing: Any
) -> None:
    trainer = grpo_start(
        tmp_path,
        sft_adapter,
        gradient_checkpointing=checkpointing is not None,
        gradient_checkpointing_kwargs=checkpointing,
    )
    check = FirstStepGradients(trainer.model)
    trainer.add_callback(check)
    trainer.train()
    [gradients] = trainer.records.gradients
    assert len(check.groups) == 32 and check.reached == set(gradients)
    assert all(gradient.abs().max() > 0 for gradient in gradients.values())
    assert {n for n, w in trainer.model.named_parameters() if "visual.blocks" in n} <= {
        name for name, _ in check.frozen
    }


def test_checkpointing_changes_no_gradient(sft_adapter: Path, tmp_path: Path) -> None:
    plain, checked = (
        grpo_start(tmp_path / str(on), sft_adapter, gradient_checkpointing=on)
        for on in (False, True)
    )
    for trainer in (plain, checked):
        trainer.train()
    [expected], [found] = plain.records.gradients, checked.records.gradients
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, atol=1e-6, rtol=1e-4)


def test_no_reference_is_kept_without_beta(sft_adapter: Path, tmp_path: Path) -> None:
    trainer = grpo_start(tmp_path, sft_adapter, beta=0.0)
    trainer.train()
    assert list(trainer.model.peft_config) == ["default"]
    assert "kl" not in trainer.records.logs[0]


def test_what_is_saved_is_one_adapter_on_the_first_base(
    starting_point: Path, tmp_path: Path
) -> None:
    trainer = grpo_start(tmp_path / "run", starting_point, **MOVING)
    trainer.train()
    final = tmp_path / "final"
    trainer.save_model(str(final))
    assert not (final / "ref").exists() and not list(final.glob("model*"))
    assert (final / ADAPTER_CONFIG_FILE).is_file() and (final / "tokenizer.json").is_file()
    loaded, _ = load_policy(final)
    assert adapter_config(loaded).base == str(checkpoint().resolve())
    expected, found = adapter_weights(trainer.model), adapter_weights(loaded)
    assert all(torch.equal(found[name], expected[name]) for name in expected)


def test_a_resumed_run_ends_as_one_that_was_not_stopped(
    starting_point: Path, tmp_path: Path
) -> None:
    """With the reference of the start, not with the adapter that the checkpoint holds."""
    settings = {"max_steps": 4, "learning_rate": 2e-2, "save_strategy": "steps", "save_steps": 2}
    whole = grpo_start(tmp_path / "whole", starting_point, **settings)
    whole.train()
    saved = tmp_path / "whole" / "checkpoint-2"
    assert not (saved / "ref").exists()
    resumed = grpo_start(tmp_path / "resumed", starting_point, **settings)
    begin = adapter_weights(resumed.model)
    resumed.train(resume_from_checkpoint=str(saved))
    for name in ("default", "ref"):
        expected, found = (adapter_weights(one.model, name) for one in (whole, resumed))
        assert all(torch.equal(found[key], expected[key]) for key in expected), name
    assert all(torch.equal(begin[key], found[key]) for key in found)
    texts = [
        [
            sampled.token_ids
            for sampling in one.records.samplings
            for sampled in sampling.completions
        ]
        for one in (whole, resumed)
    ]
    assert len(texts[0]) == 16 and texts[0][8:] == texts[1]
    logged = [
        [(log.get("loss"), log.get("kl")) for log in one.records.logs] for one in (whole, resumed)
    ]
    assert logged[0][2:4] == logged[1][:2]


def test_why_resuming_is_ours(sft_adapter: Path, tmp_path: Path) -> None:
    """With a reference saved beside it, the trainer's own way leaves the adapter as it was.

    Once this fails, the branch for adapters in train/resume.py may go.
    """
    trainer = grpo_start(tmp_path / "run", sft_adapter)
    saved = tmp_path / "checkpoint-1"
    super(type(trainer.model), trainer.model).save_pretrained(str(saved))  # PEFT's
    assert (saved / "ref" / ADAPTER_CONFIG_FILE).is_file()
    move_adapter(trainer.model, seed=9)
    moved = adapter_weights(trainer.model)
    type(trainer)._load_from_checkpoint(trainer, str(saved))
    found = adapter_weights(trainer.model)
    assert all(torch.equal(found[name], moved[name]) for name in moved)
