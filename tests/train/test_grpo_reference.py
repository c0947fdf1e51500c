"""The reference policy is the checkpoint that training starts from; it sees what policies see."""

from pathlib import Path

import pytest
import torch

from affect.model.policy import PolicyBackbone
from tests.train.grpo_fixtures import (
    ScriptedReward,
    SyntheticClipStore,
    build_trainer,
    clips,
    fresh_policy,
    perturb,
    rows,
)
from tests.train.slow_grpo import plain_log_probs


def test_kl_is_zero_at_the_start_and_grows_when_the_policy_moves(tmp_path: Path) -> None:
    trainer = build_trainer(
        tmp_path,
        rows("abcd"),
        rewards=[ScriptedReward("scripted", {name: [1.0, 0.0] for name in "abcd"})],
        per_device_train_batch_size=4,
        max_steps=2,
        learning_rate=1e-2,
    )
    trainer.train()
    first, second = (log["kl"] for log in trainer.records.logs[:2])
    assert abs(first) < 1e-4
    assert second > 1e-3


def test_the_reference_is_the_start_and_is_never_trained(tmp_path: Path) -> None:
    trainer = build_trainer(tmp_path, rows("ab"), attach=perturb, max_steps=2, num_iterations=2)
    start = fresh_policy().state_dict()
    trainer.train()
    assert isinstance(trainer.ref_model.model, PolicyBackbone)
    found = trainer.ref_model.state_dict()
    assert start.keys() == found.keys()
    assert all(torch.equal(start[name], found[name]) for name in start)
    assert all(weight.grad is None for weight in trainer.ref_model.parameters())


def test_reference_log_probs_equal_plain_forwards_of_the_checkpoint(tmp_path: Path) -> None:
    store = SyntheticClipStore(clips(rows("ab")))
    trainer = build_trainer(tmp_path, rows("ab"), store=store, attach=perturb)
    trainer.train()
    [sampling] = trainer.records.samplings
    reference = fresh_policy()
    found = sampling.output["ref_per_token_logps"]
    for index, (one, sampled) in enumerate(zip(sampling.rows, sampling.completions, strict=True)):
        with torch.no_grad():
            expected = plain_log_probs(reference, store.prompt(one), sampled.token_ids, 0.8)
        assert torch.allclose(found[index, : len(expected)], expected, atol=1e-5)


@pytest.mark.parametrize("beta", [0.0, 0.04])
def test_no_reference_is_loaded_without_beta(
    beta: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import trl.trainer.grpo_trainer as trl_trainer

    loaded = []
    load = trl_trainer.create_model_from_path

    def noted(path: str, **settings: object) -> object:
        loaded.append(path)
        return load(path, **settings)

    monkeypatch.setattr(trl_trainer, "create_model_from_path", noted)
    trainer = build_trainer(tmp_path, rows("ab"), beta=beta)
    trainer.train()
    assert len(loaded) == (1 if beta else 0)
    assert (trainer.ref_model is None) == (beta == 0.0)
    assert ("kl" in trainer.records.logs[0]) == (beta != 0.0)
    names = {one.name for one in trainer.records.passes}
    assert names == ({"reference", "policy"} if beta else {"policy"})
