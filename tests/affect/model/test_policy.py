"""The policy counts time by our rule only, remembers nothing, and else is the model it was."""

import copy
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor, nn
from transformers import Qwen2_5_VLForConditionalGeneration
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLModel

from affect.model.generation import generate
from affect.model.inputs import PromptInputs, banned_token_ids
from affect.model.policy import (
    PolicyBackbone,
    causal_model,
    install_policy,
    model_positions,
    tower_features,
)
from tests.tiny import (
    batch_inputs,
    plain_model,
    shared_processor,
    synthetic_clip,
    tiny_policy,
    tiny_prompt,
)


def ragged_prompts() -> list[PromptInputs]:
    """Three prompts of different length: two clips, text alone, one clip of another size."""
    processor = shared_processor()
    small = synthetic_clip(1, num_frames=4, duration_seconds=2.0)
    wide = synthetic_clip(2, num_frames=8, height=84, width=112, duration_seconds=12.0)
    return [
        tiny_prompt(processor, small, wide, text="Compare."),
        tiny_prompt(processor, text="No video here."),
        tiny_prompt(
            processor, synthetic_clip(3, num_frames=6, height=112), text="Describe it all."
        ),
    ]


def with_positions(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """The inputs with our positions passed and the seconds, which they already hold, left out."""
    positions, _ = model_positions(
        causal_model(model).config,
        inputs["input_ids"],
        inputs["attention_mask"],
        inputs.get("video_grid_thw"),
        inputs.get("second_per_grid_ts"),
    )
    rest = {key: value for key, value in inputs.items() if key != "second_per_grid_ts"}
    return {**rest, "position_ids": positions}


def token_types(input_ids: Tensor) -> Tensor:
    """What transformers' processor marks videos with: 2, and 0 for text."""
    return torch.where(input_ids == shared_processor().video_token_id, 2, 0)


def close(found: Tensor, expected: Tensor) -> None:
    """Equal up to the order of a sum, which depends on where in memory the numbers lie."""
    torch.testing.assert_close(found, expected, atol=2e-6, rtol=2e-6)


@pytest.fixture
def own_rule_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the model's own rule was used")

    monkeypatch.setattr(Qwen2_5_VLModel, "get_rope_index", refuse)
    monkeypatch.setattr(Qwen2_5_VLModel, "get_vision_position_ids", refuse)


@pytest.mark.usefixtures("own_rule_raises")
def test_without_the_policy_the_own_rule_is_asked() -> None:
    inputs = batch_inputs(ragged_prompts())
    with pytest.raises(AssertionError, match="own rule"):
        plain_model()(**inputs, mm_token_type_ids=token_types(inputs["input_ids"]))


@pytest.mark.usefixtures("own_rule_raises")
@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_forward_counts_by_our_rule_whether_positions_are_passed_or_not(side: str) -> None:
    model, _ = tiny_policy()
    inputs = batch_inputs(ragged_prompts(), side=side)
    explicit = model(**with_positions(model, inputs)).logits
    close(model(**inputs).logits, explicit)
    types = token_types(inputs["input_ids"])
    close(model(**inputs, mm_token_type_ids=types).logits, explicit)


@pytest.mark.usefixtures("own_rule_raises")
def test_both_ways_to_generate_count_by_our_rule() -> None:
    model, processor = tiny_policy()
    prompts = ragged_prompts()
    ours = generate(model, processor, prompts, max_new_tokens=12)
    inputs = batch_inputs(prompts)
    banned = banned_token_ids(processor)
    for extra in ({}, {"mm_token_type_ids": token_types(inputs["input_ids"])}):
        found = model.generate(
            **inputs, **extra, max_new_tokens=12, do_sample=False, suppress_tokens=banned
        )
        replies = found[:, inputs["input_ids"].shape[1] :].tolist()
        assert replies == [group[0].token_ids for group in ours]
        assert model.model.rope_deltas is None


@torch.no_grad()
def test_the_two_rules_differ_on_these_inputs() -> None:
    # Without this, the tests above could pass on inputs where either rule gives the same.
    inputs = batch_inputs(ragged_prompts())
    own = plain_model()(**inputs, mm_token_type_ids=token_types(inputs["input_ids"])).logits
    difference = (own - tiny_policy()[0](**inputs).logits)[:, -1].abs().amax(dim=-1)
    assert difference[1] < 1e-5  # text alone
    assert difference[0] > 0.01 and difference[2] > 0.01


@torch.no_grad()
def test_given_our_positions_the_plain_model_gives_the_same_logits() -> None:
    model, _ = tiny_policy()
    inputs = with_positions(model, batch_inputs(ragged_prompts()))
    expected = plain_model()(**inputs).logits
    torch.testing.assert_close(model(**inputs).logits, expected, atol=1e-5, rtol=0)
    features = tower_features(model, inputs["pixel_values_videos"], inputs["video_grid_thw"])
    inputs["pixel_values_videos"] = features
    torch.testing.assert_close(model(**inputs).logits, expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_logits_move_with_the_clips_time_and_with_its_frames() -> None:
    model, processor = tiny_policy()

    def last_logits(seed: int, duration_seconds: float) -> Tensor:
        clip = synthetic_clip(seed, duration_seconds=duration_seconds)
        return model(**batch_inputs([tiny_prompt(processor, clip)])).logits[0, -1]

    close(last_logits(1, 4.0), last_logits(1, 4.0))
    assert (last_logits(1, 4.0) - last_logits(1, 16.0)).abs().max() > 0.01
    assert (last_logits(1, 4.0) - last_logits(2, 4.0)).abs().max() > 0.01


@pytest.mark.parametrize("generator", ["ours", "transformers"])
@torch.no_grad()
def test_generation_on_one_batch_leaves_no_trace_on_a_forward_of_another(generator: str) -> None:
    model, processor = tiny_policy()
    batch_a = [tiny_prompt(processor, synthetic_clip(4, num_frames=30, duration_seconds=60.0))]
    if generator == "ours":
        generate(model, processor, batch_a, max_new_tokens=6, num_samples=2)
    else:
        inputs_a = batch_inputs(batch_a)
        types = token_types(inputs_a["input_ids"])
        model.generate(**inputs_a, mm_token_type_ids=types, max_new_tokens=6, do_sample=False)
    assert model.model.rope_deltas is None
    batch_b = batch_inputs(ragged_prompts())
    output = model(**batch_b)
    assert output.rope_deltas is None
    close(output.logits, tiny_policy()[0](**batch_b).logits)


@torch.no_grad()
def test_a_forward_that_continues_a_cache_needs_positions() -> None:
    model, processor = tiny_policy()
    inputs = batch_inputs([tiny_prompt(processor, synthetic_clip())])
    cache = model(**inputs, use_cache=True).past_key_values
    mask = torch.ones(1, inputs["input_ids"].shape[1] + 1, dtype=torch.long)
    step = {"input_ids": torch.tensor([[5]]), "attention_mask": mask, "past_key_values": cache}
    with pytest.raises(ValueError, match="continues a cache needs its position_ids"):
        model(**step)
    grown = torch.cat([inputs["input_ids"], torch.tensor([[5]])], dim=1)
    with pytest.raises(ValueError, match="continues a cache needs its position_ids"):
        model.generate(grown, attention_mask=mask, past_key_values=cache, max_new_tokens=2)


@torch.no_grad()
def test_a_step_on_the_cache_equals_a_forward_over_everything() -> None:
    model, processor = tiny_policy()
    inputs = batch_inputs([tiny_prompt(processor, synthetic_clip(duration_seconds=9.0))])
    _, deltas = model_positions(
        model.config,
        inputs["input_ids"],
        None,
        inputs["video_grid_thw"],
        inputs["second_per_grid_ts"],
    )
    num_tokens = inputs["input_ids"].shape[1]
    cache = model(**inputs, use_cache=True).past_key_values
    step = model(
        input_ids=torch.tensor([[5]]),
        attention_mask=torch.ones(1, num_tokens + 1, dtype=torch.long),
        position_ids=(num_tokens + deltas)[None].expand(3, -1, -1),
        past_key_values=cache,
    ).logits[:, -1]
    inputs["input_ids"] = torch.cat([inputs["input_ids"], torch.tensor([[5]])], dim=1)
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    torch.testing.assert_close(step, model(**inputs).logits[:, -1], atol=1e-5, rtol=0)


def test_embeddings_alone_need_positions() -> None:
    model, _ = tiny_policy()
    embeddings = torch.zeros(1, 3, 64)
    with pytest.raises(ValueError, match="embeddings needs its position_ids"):
        model(inputs_embeds=embeddings)
    with pytest.raises(ValueError, match="embeddings needs its position_ids"):
        model.generate(inputs_embeds=embeddings, max_new_tokens=2)


def test_a_video_without_its_seconds_raises() -> None:
    model, processor = tiny_policy()
    inputs = batch_inputs([tiny_prompt(processor, synthetic_clip())])
    del inputs["second_per_grid_ts"]
    with pytest.raises(ValueError, match="second_per_grid_ts"):
        model(**inputs)
    with pytest.raises(ValueError, match="second_per_grid_ts"):
        model.generate(**inputs, max_new_tokens=2)


def test_installing_twice_changes_nothing() -> None:
    model, _ = tiny_policy()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    attributes = set(model.__dict__), set(model.model.__dict__)
    assert install_policy(model) is model
    assert (set(model.__dict__), set(model.model.__dict__)) == attributes
    assert type(model.model) is PolicyBackbone
    assert type(model) is Qwen2_5_VLForConditionalGeneration
    after = model.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)


@torch.no_grad()
def test_a_deep_copy_is_a_policy_of_its_own() -> None:
    model, _ = tiny_policy()
    twin = copy.deepcopy(model)
    prompts = ragged_prompts()[:1]
    inputs = batch_inputs(prompts)
    expected = twin.generate(**inputs, max_new_tokens=5, do_sample=False)
    for parameter in model.parameters():
        parameter.zero_()
    assert torch.equal(twin.generate(**inputs, max_new_tokens=5, do_sample=False), expected)


@pytest.mark.usefixtures("own_rule_raises")
def test_it_installs_inside_peft() -> None:
    base, processor = tiny_policy()
    adapter = LoraConfig(
        r=4, target_modules=r".*language_model.*\.(q_proj|v_proj)", init_lora_weights=True
    )
    torch.manual_seed(0)
    model = get_peft_model(plain_model(), adapter)
    assert install_policy(model) is model
    assert type(causal_model(model).model) is PolicyBackbone
    prompts = ragged_prompts()
    inputs = batch_inputs(prompts)
    # A fresh adapter adds zero, so everything equals the model without one.
    logits = model(**inputs).logits
    torch.testing.assert_close(logits, base(**inputs).logits, atol=1e-6, rtol=0)
    expected = generate(base, processor, prompts, max_new_tokens=8)
    found = generate(model, processor, prompts, max_new_tokens=8)
    assert [group[0].token_ids for group in found] == [group[0].token_ids for group in expected]
    replies = model.generate(
        **inputs, max_new_tokens=8, do_sample=False, suppress_tokens=banned_token_ids(processor)
    )
    prompt_length = inputs["input_ids"].shape[1]
    assert replies[:, prompt_length:].tolist() == [group[0].token_ids for group in expected]
    logits.square().mean().backward()
    grads = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    assert len(grads) == 2 * 2 * 2  # A and B, two projections, two layers
    assert all(grad.abs().max() > 0 for name, grad in grads.items() if "lora_B" in name)
    assert all("language_model" in name and "lora_" in name for name in grads)


@pytest.mark.parametrize("other", [nn.Linear(2, 2), "a path", None])
def test_another_architecture_is_refused(other: Any) -> None:
    with pytest.raises(ValueError, match=f"expected a Qwen2.5-VL, got {type(other).__name__}"):
        install_policy(other)


def test_features_as_wide_as_a_patch_are_refused() -> None:
    # 3 colours x 2 frames x 4 x 4 pixels = 96 numbers in a patch.
    model = plain_model(tower_size=96)
    model.config.vision_config.patch_size = 4
    with pytest.raises(ValueError, match=r"hidden size equals its patch size \(96\)"):
        install_policy(model)
    assert type(model.model) is Qwen2_5_VLModel
