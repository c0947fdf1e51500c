"""The video reaches generation and every log-prob pass, at the same positions, once per clip."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLModel

from tests.train.grpo_fixtures import (
    SyntheticClipStore,
    build_trainer,
    clips,
    completion,
    fresh_policy,
    row,
    rows,
    script_completions,
)
from tests.train.recording_trainer import RecordingTrainer, Sampling
from tests.train.slow_grpo import plain_log_probs, row_positions

# Two updates per sampling, so that TRL asks for old log-probs.
OFF_POLICY = {
    "num_generations": 2,
    "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 1,
    "steps_per_generation": 2,
    "learning_rate": 0.0,
    "max_steps": 2,
}
REPLIES = {
    "a": {0: completion("Joy and Fear"), 1: completion("a bright ball", finished=False)},
    "b": {0: completion("Fear"), 1: completion("a dark shape rushes in")},
}


class ForwardLog:
    """What the backbone of a model was given, call by call."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.prefill_logits: list[Tensor] = []

    def attach(self, model: Any) -> None:
        model.model.register_forward_pre_hook(self._note, with_kwargs=True)
        model.lm_head.register_forward_hook(self._note_logits)

    def _note(self, module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        self.calls.append(kwargs)

    def _note_logits(self, module: Any, args: Any, output: Tensor) -> None:
        # The fused head reads the weight and does not pass here: this is generation.
        self.prefill_logits.append(output.detach().clone())

    def with_video(self) -> list[dict[str, Any]]:
        return [call for call in self.calls if call.get("pixel_values_videos") is not None]


def by_row(sampling: Sampling, name: str) -> list[int]:
    return [index for index, one in enumerate(sampling.rows) if one["id"] == name]


def run_off_policy(
    folder: Path, monkeypatch: pytest.MonkeyPatch, store: SyntheticClipStore
) -> tuple[RecordingTrainer, ForwardLog]:
    script_completions(monkeypatch, REPLIES)
    log = ForwardLog()
    # The micro-batches are shuffled with torch's generator: let both rows be in each of the two.
    trainer = build_trainer(folder, rows("ab"), store=store, attach=log.attach, **OFF_POLICY)
    trainer.train()
    return trainer, log


def test_changed_frames_change_generation_old_reference_and_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = clips(rows("ab"))
    redrawn = {**drawn, "clip_b": clips(rows("ab"), first_seed=50)["clip_b"]}
    assert redrawn["clip_b"].frames.shape == drawn["clip_b"].frames.shape
    first, log = run_off_policy(tmp_path, monkeypatch, SyntheticClipStore(drawn))
    second, second_log = run_off_policy(tmp_path, monkeypatch, SyntheticClipStore(redrawn))
    sampling = first.records.samplings[0]
    assert [one["id"] for one in sampling.rows] == [
        one["id"] for one in second.records.samplings[0].rows
    ]
    same, changed = by_row(sampling, "a"), by_row(sampling, "b")

    before, after = (
        torch.cat([logits[:, -1] for logits in one.prefill_logits[:2]]) for one in (log, second_log)
    )
    places = {sampling.rows[0]["id"]: 0, sampling.rows[2]["id"]: 1}  # one prompt of each group
    assert torch.equal(before[places["a"]], after[places["a"]])
    assert (before[places["b"]] - after[places["b"]]).abs().max() > 1e-2

    pairs = {
        name: (
            first.records.samplings[0].output[f"{name}_per_token_logps"],
            second.records.samplings[0].output[f"{name}_per_token_logps"],
        )
        for name in ("old", "ref")
    }
    pairs["policy"] = (first.policy_log_probs(), second.policy_log_probs())
    for name, (before, after) in pairs.items():
        assert torch.allclose(before[same], after[same], atol=1e-6), name
        real = sampling.output["completion_mask"][changed].bool()
        assert ((before - after)[changed][real].abs() > 1e-6).all(), name


def test_every_pass_sees_the_features_and_positions_of_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SyntheticClipStore(clips(rows("ab")))
    script_completions(monkeypatch, REPLIES)
    policy_log, reference_log = ForwardLog(), ForwardLog()
    trainer = build_trainer(
        tmp_path, rows("ab"), store=store, attach=policy_log.attach, **OFF_POLICY
    )
    reference_log.attach(trainer.ref_model)
    trainer.train()
    assert len(trainer.records.samplings) == 1
    names = [one.name for one in trainer.records.passes]
    assert names == ["old", "reference", "policy", "policy"]  # old and reference in chunks of 2
    # A prefill of each prompt, two chunks of old, two micro-batches; two chunks of reference.
    calls = [*policy_log.with_video(), *reference_log.with_video()]
    assert len(policy_log.with_video()) == 6 and len(reference_log.with_video()) == 2

    policy = fresh_policy()
    video_token = policy.config.video_token_id
    prompts = [store.prompt(row(name)) for name in "ab"]
    num_checked = 0
    for call in calls:
        [ids], positions = call["input_ids"], call["position_ids"][:, 0]
        features = call["pixel_values_videos"]
        assert features.shape == (4 * int((ids == video_token).sum()), 64)
        for prefix, branch in stretches(call):
            tokens = torch.cat([ids[slice(*prefix)], ids[slice(*branch)]])
            prompt = next(p for p in prompts if p.input_ids.equal(tokens[: p.num_tokens]))
            expected = row_positions(policy.config, prompt, tokens[prompt.num_tokens :].tolist())
            found = torch.cat([positions[:, slice(*prefix)], positions[:, slice(*branch)]], dim=1)
            assert torch.equal(found, expected)
            assert torch.allclose(features, tower_of(policy, prompt), atol=1e-5)
            num_checked += 1
    assert num_checked == 2 + 3 * 4  # each prompt alone; each completion in three passes


def stretches(call: dict[str, Any]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """(start, end) of the prefix and of what follows it, for each completion of a forward."""
    layout = call.get("shared_prefix")
    if layout is None:  # a prefill
        return [((0, call["input_ids"].shape[1]), (0, 0))]
    return [(group.prefix, branch) for group in layout.groups for branch in group.branches]


def tower_of(policy: Any, prompt: Any) -> Tensor:
    """Tower features of one clip alone, caught where the model hands them to its merger."""
    caught: list[Tensor] = []
    handle = policy.model.visual.merger.register_forward_pre_hook(
        lambda module, args: caught.append(args[0])
    )
    with torch.no_grad():
        policy.model.get_video_features(prompt.pixel_values_videos, prompt.video_grid_thw)
    handle.remove()
    return caught[-1]  # the tower itself runs the merger before, on windows


@pytest.mark.parametrize("layout", ["one step", "two micro-batches", "two updates"])
def test_each_row_gets_its_own_clip_after_shuffle_and_split(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "abcd"
    same_prompt = [row(name, text="Describe.") for name in names]
    reply = {0: completion("Joy and Fear"), 1: completion("Fear", finished=False)}
    script_completions(monkeypatch, dict.fromkeys(names, reply))
    store = SyntheticClipStore(clips(same_prompt))
    settings = {
        "one step": {},
        "two micro-batches": {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 2},
        "two updates": {
            "per_device_train_batch_size": 4,
            "steps_per_generation": 2,
            "max_steps": 2,
        },
    }[layout]
    trainer = build_trainer(tmp_path, same_prompt, store=store, learning_rate=0.0, **settings)
    trainer.train()
    found = trainer.policy_log_probs()
    order = [index for one in trainer.records.micro_batches for index in one.row_index]
    assert sorted(order) == list(range(8)) and order != list(range(8))
    # Groups change places, their rows stay together.
    assert [first // 2 for first in order[::2]] == [second // 2 for second in order[1::2]]

    policy = fresh_policy()
    sampling = trainer.records.samplings[0]
    results: dict[str, Tensor] = {}
    for index, (one, sampled) in enumerate(zip(sampling.rows, sampling.completions, strict=True)):
        with torch.no_grad():
            expected = plain_log_probs(policy, store.prompt(one), sampled.token_ids, 0.8)
        assert torch.allclose(found[index, : len(expected)], expected, atol=1e-5)
        assert not found[index, len(expected) :].any()
        results.setdefault(one["video"], expected)
    # The same words about another clip have another probability, so a swap would have shown.
    values = torch.stack(list(results.values()))
    assert torch.pdist(values).min() > 1e-3


def test_swapped_clips_swap_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = [row(name, text="Describe.") for name in "ab"]
    reply = {0: completion("Joy and Fear"), 1: completion("a dark shape")}
    script_completions(monkeypatch, {"a": reply, "b": reply})
    drawn = clips(pair)
    swapped = {"clip_a": drawn["clip_b"], "clip_b": drawn["clip_a"]}
    results = []
    for given in (drawn, swapped):
        trainer = build_trainer(tmp_path, pair, store=SyntheticClipStore(given), learning_rate=0.0)
        trainer.train()
        found = trainer.policy_log_probs()
        sampling = trainer.records.samplings[0]
        results.append({name: found[by_row(sampling, name)] for name in "ab"})
    assert torch.allclose(results[0]["a"], results[1]["b"], atol=1e-5)
    assert torch.allclose(results[0]["b"], results[1]["a"], atol=1e-5)
    assert (results[0]["a"] - results[0]["b"]).abs().max() > 1e-3


def test_log_probs_recomputed_for_sampled_tokens_equal_those_of_sampling(tmp_path: Path) -> None:
    trainer = build_trainer(tmp_path, rows("ab"), **{**OFF_POLICY, "top_k": 50})
    trainer.train()
    sampling = trainer.records.samplings[0]
    for index, one in enumerate(sampling.completions):
        expected = torch.tensor(one.log_probs)
        for name in ("old", "ref"):
            found = sampling.output[f"{name}_per_token_logps"][index, : len(expected)]
            assert torch.allclose(found, expected, atol=1e-5), name


def test_an_evaluation_within_a_cycle_leaves_the_training_rows_their_clips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = {0: completion("Joy and Fear"), 1: completion("a dark shape")}
    script_completions(monkeypatch, dict.fromkeys("abxy", reply))
    results = []
    for eval_rows in (None, rows("xy")):
        given = rows("ab")
        trainer = build_trainer(
            tmp_path,
            given,
            store=SyntheticClipStore(clips([*given, *rows("xy")])),
            eval_rows=eval_rows,
            per_device_eval_batch_size=4,
            eval_strategy="no" if eval_rows is None else "steps",
            eval_steps=1,
            **OFF_POLICY,
        )
        trainer.train()
        policy = [one.log_probs for one in trainer.records.passes if one.name == "policy"]
        results.append(torch.cat(policy))
        if eval_rows is not None:  # after each of the two updates
            assert [one.rows[0]["id"] in "xy" for one in trainer.records.samplings] == [
                False,
                True,
                True,
            ]
            assert "eval_rewards/total/within_group_std" in trainer.records.logs[1]
    assert torch.allclose(results[0], results[1], atol=1e-6)


def refuse(name: str) -> Callable[..., Any]:
    def raising(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"the model's own {name} was asked")

    return raising


@pytest.mark.parametrize("checkpointing", [False, True])
def test_the_models_own_position_rule_is_never_asked(
    checkpointing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("get_rope_index", "get_vision_position_ids", "compute_3d_position_ids"):
        monkeypatch.setattr(Qwen2_5_VLModel, name, refuse(name))
    trainer = build_trainer(
        tmp_path, rows("ab"), **{**OFF_POLICY, "gradient_checkpointing": checkpointing}
    )
    trainer.train()
    assert trainer.state.global_step == 2
    assert trainer.model.model.rope_deltas is None
