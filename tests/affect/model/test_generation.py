"""Replies: what a forward would give, the same whoever shares the batch, and never a picture."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from affect.model.generation import Completion, end_token_ids, generate
from affect.model.inputs import PromptInputs, banned_token_ids
from affect.model.policy import model_positions, tower_features
from tests.tiny import batch_inputs, shared_processor, synthetic_clip, tiny_policy, tiny_prompt


def shape_logits(model: Any, change: Callable[[Tensor], Tensor]) -> None:
    """Change the logits of every forward from now on."""
    model.lm_head.register_forward_hook(lambda module, arguments, logits: change(logits))


def talkative_policy(end_bias: float = 3.5) -> tuple[Any, Any]:
    """A random policy that is less than uniform and whose replies end after about ten tokens."""
    model, processor = tiny_policy()
    end_ids = end_token_ids(model, processor)

    def change(logits: Tensor) -> Tensor:
        bias = torch.zeros(logits.shape[-1])
        bias[end_ids] = end_bias
        return 3 * logits + bias

    shape_logits(model, change)
    return model, processor


def ragged_prompts() -> list[PromptInputs]:
    """Prompts of different length, with other clips, two clips and none."""
    processor = shared_processor()
    small = synthetic_clip(1, num_frames=4, duration_seconds=2.0)
    wide = synthetic_clip(2, num_frames=8, height=84, width=112, duration_seconds=12.0)
    tall = synthetic_clip(3, num_frames=6, height=112, duration_seconds=30.0)
    return [
        tiny_prompt(processor, small, text="Describe."),
        tiny_prompt(processor, text="No video here."),
        tiny_prompt(processor, wide, tall, text="Compare the two of them, segment by segment."),
    ]


def grid_of_seeds(num_prompts: int, num_samples: int, start: int = 0) -> list[list[int]]:
    return [
        [start + 1000 * prompt + sample for sample in range(num_samples)]
        for prompt in range(num_prompts)
    ]


def same(found: Completion, expected: Completion) -> None:
    assert (found.token_ids, found.text, found.finished) == (
        expected.token_ids,
        expected.text,
        expected.finished,
    )
    assert found.log_probs == pytest.approx(expected.log_probs, abs=1e-5)


@torch.no_grad()
def recomputed_log_probs(
    model: Any, prompt: PromptInputs, completion: Completion, temperature: float
) -> list[float]:
    """One forward over prompt and completion, without a cache."""
    inputs = batch_inputs([prompt])
    num_prompt = inputs["input_ids"].shape[1]
    completion_ids = torch.tensor(completion.token_ids)
    ids = torch.cat([inputs["input_ids"][0], completion_ids])[None]
    inputs.update(input_ids=ids, attention_mask=torch.ones_like(ids))
    inputs["position_ids"], _ = model_positions(
        model.config,
        ids,
        None,
        inputs.get("video_grid_thw"),
        inputs.pop("second_per_grid_ts", None),
    )
    logits = model(**inputs).logits[0, num_prompt - 1 : -1].float() / temperature
    log_probs = torch.log_softmax(logits, dim=-1)
    picked: list[float] = log_probs.gather(1, completion_ids[:, None])[:, 0].tolist()
    return picked


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0, 1.3])
def test_log_probs_equal_those_of_a_forward(temperature: float) -> None:
    model, processor = talkative_policy()
    prompts = ragged_prompts()
    groups = generate(
        model,
        processor,
        prompts,
        num_samples=3,
        max_new_tokens=24,
        temperature=temperature,
        top_k=50,
        top_p=0.95,
        seeds=grid_of_seeds(3, 3),
    )
    lengths = set()
    for prompt, group in zip(prompts, groups, strict=True):
        for completion in group:
            expected = recomputed_log_probs(model, prompt, completion, temperature or 1.0)
            assert completion.log_probs == pytest.approx(expected, abs=1e-5)
            lengths.add(len(completion.token_ids))
    assert len(lengths) > 1 or temperature == 0.0  # else rows that end early were not covered


def test_a_reply_does_not_depend_on_its_neighbours() -> None:
    model, processor = talkative_policy()
    prompts = ragged_prompts()
    settings: dict[str, Any] = {"max_new_tokens": 24, "temperature": 1.0, "top_k": 100}
    seeds = grid_of_seeds(3, 4)
    together = generate(model, processor, prompts, num_samples=4, seeds=seeds, **settings)
    backwards = generate(
        model, processor, prompts[::-1], num_samples=4, seeds=seeds[::-1], **settings
    )
    for index, prompt in enumerate(prompts):
        for sample in range(4):
            same(backwards[2 - index][sample], together[index][sample])
        [alone] = generate(
            model, processor, [prompt], num_samples=2, seeds=[seeds[index][1:3]], **settings
        )
        same(alone[0], together[index][1])
        same(alone[1], together[index][2])
    assert len({tuple(reply.token_ids) for group in together for reply in group}) == 12


def test_a_shorter_limit_gives_the_beginning_of_the_same_reply() -> None:
    model, processor = talkative_policy(end_bias=0.0)
    prompts = ragged_prompts()
    seeds = grid_of_seeds(3, 1)
    short, long = (
        generate(model, processor, prompts, max_new_tokens=limit, temperature=1.0, seeds=seeds)
        for limit in (5, 40)
    )
    for [first], [whole] in zip(short, long, strict=True):
        assert len(first.token_ids) == 5 and not first.finished
        assert first.token_ids == whole.token_ids[:5]


def test_the_same_seed_gives_the_same_reply_and_another_seed_another() -> None:
    model, processor = talkative_policy(end_bias=0.0)
    [prompt] = ragged_prompts()[:1]
    settings: dict[str, Any] = {"max_new_tokens": 10, "temperature": 1.0}
    [group] = generate(model, processor, [prompt], num_samples=3, seeds=[[7, 7, 8]], **settings)
    same(group[0], group[1])
    assert group[0].token_ids != group[2].token_ids


def test_sampling_leaves_the_global_random_numbers_alone() -> None:
    model, processor = talkative_policy()
    torch.manual_seed(5)
    before = torch.get_rng_state()
    generate(
        model, processor, ragged_prompts(), max_new_tokens=4, temperature=1.0, seeds=[[1], [2], [3]]
    )
    assert torch.equal(torch.get_rng_state(), before)


def test_greedy_equals_the_librarys_own_decoding() -> None:
    model, processor = talkative_policy()
    prompts = ragged_prompts()
    groups = generate(model, processor, prompts, max_new_tokens=30)
    inputs = batch_inputs(prompts)
    found = model.generate(
        **inputs,
        max_new_tokens=30,
        do_sample=False,
        suppress_tokens=banned_token_ids(processor),
    )
    pad_id = processor.tokenizer.pad_token_id
    assert {completion.finished for [completion] in groups} == {True, False}
    for row, [completion] in zip(found[:, inputs["input_ids"].shape[1] :], groups, strict=True):
        num_tokens = len(completion.token_ids)
        assert row[:num_tokens].tolist() == completion.token_ids
        assert (row[num_tokens:] == pad_id).all()


def test_features_computed_before_give_the_same_replies() -> None:
    model, processor = talkative_policy()
    prompts = ragged_prompts()
    settings: dict[str, Any] = {"num_samples": 2, "max_new_tokens": 12, "temperature": 1.0}
    settings["seeds"] = grid_of_seeds(3, 2)
    features = [
        tower_features(model, prompt.pixel_values_videos, prompt.video_grid_thw)
        for prompt in prompts
        if prompt.pixel_values_videos is not None
    ]

    def refuse(*arguments: Any) -> None:
        raise AssertionError("the tower ran again")

    expected = generate(model, processor, prompts, **settings)
    handle = model.model.visual.register_forward_pre_hook(refuse)
    found = generate(model, processor, prompts, features=features, **settings)
    handle.remove()
    for group, expected_group in zip(found, expected, strict=True):
        for completion, other in zip(group, expected_group, strict=True):
            same(completion, other)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_vision_tokens_are_never_sampled_where_the_logits_favour_them(temperature: float) -> None:
    model, processor = tiny_policy()
    names = ["<|video_pad|>", "<|image_pad|>", "<|vision_pad|>"]
    names += ["<|vision_start|>", "<|vision_end|>"]
    vision_ids = processor.tokenizer.convert_tokens_to_ids(names)
    bias = torch.zeros(len(processor.tokenizer))
    bias[vision_ids] = 20.0
    shape_logits(model, lambda logits: logits + bias)
    groups = generate(
        model,
        processor,
        ragged_prompts(),
        num_samples=4,
        max_new_tokens=20,
        temperature=temperature,
        seeds=grid_of_seeds(3, 4),
    )
    replies = [completion for group in groups for completion in group]
    assert not {token for reply in replies for token in reply.token_ids} & set(vision_ids)
    # The log-probs are the model's own, before the ban: nearly all its mass lies on the five.
    assert max(value for reply in replies for value in reply.log_probs) < -15


@pytest.mark.parametrize("token", ["<|im_end|>", "<|endoftext|>"])
def test_an_end_token_ends(token: str) -> None:
    model, processor = tiny_policy()
    end_id = processor.tokenizer.convert_tokens_to_ids(token)
    bias = torch.zeros(len(processor.tokenizer))
    bias[end_id] = 100.0
    shape_logits(model, lambda logits: logits + bias)
    for [completion] in generate(model, processor, ragged_prompts(), max_new_tokens=8):
        assert completion.token_ids == [end_id]
        assert completion.finished and completion.text == ""
        assert completion.log_probs == pytest.approx([0.0], abs=1e-6)


def test_the_end_token_is_known_without_a_generation_config() -> None:
    model, processor = tiny_policy()
    ids = processor.tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
    assert end_token_ids(model, processor) == sorted(ids)
    model.generation_config.eos_token_id = None
    assert end_token_ids(model, processor) == [ids[0]]
    model.generation_config.eos_token_id = 7
    assert end_token_ids(model, processor) == [7, ids[0]]


def test_a_reply_cut_by_the_limit_is_unfinished_and_one_that_just_fits_is_finished() -> None:
    model, processor = talkative_policy()
    prompts = ragged_prompts()[:1]
    seeds = grid_of_seeds(1, 8)
    settings: dict[str, Any] = {"num_samples": 8, "temperature": 1.0, "seeds": seeds}
    [whole] = generate(model, processor, prompts, max_new_tokens=60, **settings)
    ended = [reply for reply in whole if reply.finished and len(reply.token_ids) > 2]
    length = len(ended[0].token_ids)
    sample = whole.index(ended[0])
    [fits] = generate(model, processor, prompts, max_new_tokens=length, **settings)
    [cut] = generate(model, processor, prompts, max_new_tokens=length - 1, **settings)
    same(fits[sample], ended[0])
    assert cut[sample].token_ids == ended[0].token_ids[:-1] and not cut[sample].finished


def test_a_finished_row_leaves_the_batch_at_once_and_nothing_changes() -> None:
    model, processor = talkative_policy()
    batch_sizes: list[int] = []
    model.model.language_model.layers[1].register_forward_hook(
        lambda module, arguments, output: batch_sizes.append(len(output))
    )
    settings: dict[str, Any] = {"max_new_tokens": 40, "temperature": 1.0}
    seeds = grid_of_seeds(3, 5)
    found = generate(model, processor, ragged_prompts(), num_samples=5, seeds=seeds, **settings)
    assert batch_sizes[:3] == [1, 1, 1]  # the prompts, once each
    lengths = [len(reply.token_ids) for group in found for reply in group]
    alive = [sum(length > step for length in lengths) for step in range(1, max(lengths))]
    assert batch_sizes[3:] == alive and len(set(alive)) > 5
    for index, (prompt, group) in enumerate(zip(ragged_prompts(), found, strict=True)):
        for sample, completion in enumerate(group):
            [[alone]] = generate(
                model, processor, [prompt], seeds=[[seeds[index][sample]]], **settings
            )
            same(alone, completion)


def test_the_prompt_and_its_video_go_through_the_model_once() -> None:
    model, processor = talkative_policy()
    lengths: list[tuple[int, int]] = []
    model.model.language_model.layers[0].register_forward_hook(
        lambda module, arguments, output: lengths.append(tuple(output.shape[:2]))
    )
    num_tower = [0]

    def count(*arguments: Any) -> None:
        num_tower[0] += 1

    model.model.visual.register_forward_hook(count)
    prompts = ragged_prompts()[:1]
    generate(
        model,
        processor,
        prompts,
        num_samples=6,
        max_new_tokens=3,
        temperature=1.0,
        seeds=grid_of_seeds(1, 6),
    )
    assert lengths[0] == (1, prompts[0].num_tokens)
    assert [length for _, length in lengths[1:]] == [1, 1]
    assert num_tower == [1]


def test_modes_are_put_back() -> None:
    model, processor = tiny_policy()
    model.train()
    model.model.visual.eval()
    before = [module.training for module in model.modules()]
    generate(model, processor, ragged_prompts(), max_new_tokens=2)
    assert [module.training for module in model.modules()] == before

    def fail(*arguments: Any) -> None:
        assert not model.training
        raise RuntimeError("out of memory")

    model.lm_head.register_forward_hook(fail)
    with pytest.raises(RuntimeError, match="out of memory"):
        generate(model, processor, ragged_prompts(), max_new_tokens=2)
    assert [module.training for module in model.modules()] == before
    assert torch.is_grad_enabled()


def test_gradient_checkpointing_does_not_slow_or_change_replies() -> None:
    # In training mode checkpointing would turn the cache off.
    model, processor = talkative_policy()
    expected = generate(model, processor, ragged_prompts(), max_new_tokens=6)
    model.train()
    model.gradient_checkpointing_enable({"use_reentrant": False})
    lengths: list[int] = []
    model.model.language_model.layers[0].register_forward_hook(
        lambda module, arguments, output: lengths.append(output.shape[1])
    )
    found = generate(model, processor, ragged_prompts(), max_new_tokens=6)
    for [completion], [other] in zip(found, expected, strict=True):
        same(completion, other)
    assert set(lengths[3:]) == {1}
    assert model.config.text_config.use_cache is True


def test_bfloat16() -> None:
    model, processor = talkative_policy()
    model.to(torch.bfloat16)
    prompts = ragged_prompts()
    groups = generate(
        model,
        processor,
        prompts,
        num_samples=2,
        max_new_tokens=12,
        temperature=0.8,
        top_k=50,
        seeds=grid_of_seeds(3, 2),
    )
    for prompt, group in zip(prompts, groups, strict=True):
        for completion in group:
            expected = recomputed_log_probs(model, prompt, completion, 0.8)
            assert completion.log_probs == pytest.approx(expected, abs=0.15)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 1.0}, "one seed for each of 3 prompts x 1 samples"),
        ({"temperature": 1.0, "seeds": [[1], [2]]}, "one seed for each of 3 prompts"),
        ({"temperature": 1.0, "seeds": [[1], [2], [3, 4]]}, "one seed for each"),
        ({"temperature": 1.0, "num_samples": 2, "seeds": [[1], [2], [3]]}, "3 prompts x 2 samples"),
        ({"temperature": -0.1}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": float("inf"), "seeds": [[1], [2], [3]]}, "temperature"),
        ({"top_k": -1}, "top_k"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_p": 1.01}, "top_p"),
        ({"top_p": float("nan")}, "top_p"),
        ({"num_samples": 0}, "at least 1"),
        ({"max_new_tokens": 0}, "at least 1"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, Any], message: str) -> None:
    model, processor = tiny_policy()
    with pytest.raises(ValueError, match=message):
        generate(model, processor, ragged_prompts(), **{"max_new_tokens": 3, **settings})


def test_no_prompts_are_refused() -> None:
    model, processor = tiny_policy()
    with pytest.raises(ValueError, match="no prompts"):
        generate(model, processor, [], max_new_tokens=3)
