"""The real vLLM engine against transformers on the same weights: prompts, replies, log-probs.

One engine serves all tests; each gives it the weights that it needs.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from affect.model.adapter import add_adapter, merge_adapter
from affect.model.generation import generate
from affect.model.inputs import PromptInputs, banned_token_ids
from affect.model.loading import load_policy
from affect.model.policy import model_positions
from affect.video import SampledVideo
from tests.tiny import synthetic_clip, tiny_prompt
from tests.train.drawn_rows import BUDGET
from tests.train.launching import Places, make_places
from tests.train.vllm_rollouts import (
    GREEDY,
    MAX_MODEL_TOKENS,
    SAMPLED,
    needs_vllm,
    request,
    sampling_log_probs,
    start_engine,
    sync,
)
from train.clips import ClipStore
from train.rollouts import SamplingSettings
from train.row_data import load_rows
from train.sections import DataSection
from train.vllm_rollouts import VllmRollouts

pytestmark = [pytest.mark.slow, needs_vllm]

Clips = list[tuple[PromptInputs, SampledVideo]]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("vllm"))


@pytest.fixture(scope="module")
def loaded(places: Places) -> tuple[Any, Any]:
    return load_policy(places.started)


@pytest.fixture(scope="module")
def engine(places: Places, loaded: tuple[Any, Any]) -> Iterator[VllmRollouts]:
    started = start_engine(*loaded, places.started, places.folder)
    yield started
    started.close()
    assert started.process is not None and started.process.process.poll() is not None


@pytest.fixture
def policy(places: Places, engine: VllmRollouts) -> Any:
    """The trained policy, fresh, and the engine with its weights."""
    model, _ = load_policy(places.started)
    model.eval()
    sync(engine, model)
    return model


@pytest.fixture(scope="module")
def clips(places: Places, loaded: tuple[Any, Any]) -> Clips:
    data = DataSection(rows=places.world / "rows.jsonl", video_root=places.world, prompt="row")
    store = ClipStore(loaded[1], data, BUDGET)
    # The last one is longer than a block of the engine's prefix cache, which has 128 tokens.
    return [*((store.prompt(row), store.video(row)) for row in load_rows(data)), long(loaded[1])]


def long(processor: Any, duration_seconds: float = 30.0) -> tuple[PromptInputs, SampledVideo]:
    clip = synthetic_clip(5, num_frames=60, width=84, duration_seconds=duration_seconds)
    prompt = tiny_prompt(processor, clip, text="Describe what a viewer feels.")
    assert prompt.num_tokens > 128
    return prompt, clip


# --- what the engine makes of a prompt -----------------------------------------------------------


@pytest.mark.parametrize("fps", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(
    ("num_frames", "height", "width"), [(4, 56, 56), (7, 56, 112), (30, 84, 56)]
)
def test_ids_grid_and_positions_are_ours(
    engine: VllmRollouts,
    loaded: tuple[Any, Any],
    fps: float,
    num_frames: int,
    height: int,
    width: int,
) -> None:
    model, processor = loaded
    clip = synthetic_clip(
        3, num_frames=num_frames, height=height, width=width, duration_seconds=num_frames / fps
    )
    check_prompt(engine, model, processor, clip)


# Grids of .7 and .29 s: their float32 is below, and a whole position would be rounded down. The
# last two are 2 * duration / frames of odd durations.
@pytest.mark.parametrize("seconds_per_grid", [0.7, 0.29, 0.55, 1.056, 4.0, 2 / 3, 2 * 7.01 / 15])
def test_positions_are_ours_where_a_product_is_nearly_whole(
    engine: VllmRollouts, loaded: tuple[Any, Any], seconds_per_grid: float
) -> None:
    model, processor = loaded
    clip = synthetic_clip(4, num_frames=60, duration_seconds=60 * seconds_per_grid / 2)
    check_prompt(engine, model, processor, clip)


def check_prompt(engine: VllmRollouts, model: Any, processor: Any, clip: SampledVideo) -> None:
    prompt = tiny_prompt(processor, clip, text="What does a viewer feel?")
    frames = {"clip_0": clip.frames}
    settings = {"max_new_tokens": 1, "temperature": 0.0, "top_k": 0, "top_p": 1.0}
    group = engine._group(0, request(prompt, clip, 1))
    assert len(group["prompt_ids"]) < prompt.num_tokens
    answer = engine.client.rollout(
        {"groups": [group], "end_ids": [], "banned_ids": [], **settings}, frames
    )[0]
    assert answer["prompt_ids"] == prompt.input_ids.tolist()
    assert [answer["grid_thw"]] == prompt.video_grid_thw.tolist()
    assert answer["second_per_grid_seconds"] == pytest.approx(
        clip.second_per_grid_seconds, rel=2e-7
    )
    positions, deltas = model_positions(
        model.config, prompt.input_ids[None], None, prompt.video_grid_thw, prompt.second_per_grid_ts
    )
    assert answer["positions"] == positions[:, 0].tolist()
    assert answer["next_position"] == prompt.num_tokens + int(deltas)


def test_another_prompt_than_ours_is_an_error_that_names_the_row(
    engine: VllmRollouts, policy: Any, clips: Clips
) -> None:
    prompt, clip = clips[0]
    longer = synthetic_clip(1, num_frames=6, height=56, width=56, duration_seconds=4.0)
    with pytest.raises(ValueError, match=rf"row {prompt.name}: .* tokens, the trainer's \d+"):
        engine.roll_out([request(prompt, longer, 1)], GREEDY)
    assert clip.frames.shape != longer.frames.shape


# --- greedy replies and log-probs ----------------------------------------------------------------


def check_greedy(engine: VllmRollouts, model: Any, processor: Any, clips: Clips) -> int:
    """Replies are those of transformers, or part where two tokens are as good; the number equal."""
    rolled = engine.roll_out([request(*one, 0) for one in clips], GREEDY).groups
    ours = generate(
        model, processor, [prompt for prompt, _ in clips], max_new_tokens=GREEDY.max_new_tokens
    )
    num_equal = 0
    for (prompt, _), theirs, (expected,) in zip(clips, rolled, ours, strict=True):
        assert theirs is not None
        ids, wanted = theirs[0].token_ids, expected.token_ids
        parted = next(
            (at for at, (a, b) in enumerate(zip(ids, wanted, strict=False)) if a != b), None
        )
        if parted is None:
            assert ids == wanted and theirs[0].finished == expected.finished
            assert theirs[0].text == expected.text
            num_equal += 1
        else:
            logits = sampling_log_probs(model, processor, prompt, ids, 1.0)[parted]
            top = logits.topk(2).values
            assert float(top[0] - top[1]) < 1e-3
        table = sampling_log_probs(model, processor, prompt, ids, 1.0)
        own = table[range(len(ids)), ids]
        assert torch.allclose(torch.tensor(theirs[0].log_probs), own, atol=1e-4)
    return num_equal


def test_greedy_replies_of_a_trained_model_are_those_of_transformers(
    engine: VllmRollouts, policy: Any, loaded: tuple[Any, Any], clips: Clips
) -> None:
    assert check_greedy(engine, policy, loaded[1], clips) >= 3


def test_the_same_frames_at_another_rate_are_another_clip(
    engine: VllmRollouts, policy: Any, loaded: tuple[Any, Any]
) -> None:
    """Keys and values hang on the positions, so the engine may not take the first clip's."""
    slow, fast = long(loaded[1], 60.0), long(loaded[1], 20.0)
    assert torch.equal(slow[0].input_ids, fast[0].input_ids)
    check_greedy(engine, policy, loaded[1], [slow, fast])
    # One after the other, so that the first one's are there.
    check_greedy(engine, policy, loaded[1], [fast])
    check_greedy(engine, policy, loaded[1], [slow])


def test_log_probs_are_those_at_the_sampling_temperature(
    engine: VllmRollouts, policy: Any, loaded: tuple[Any, Any], clips: Clips
) -> None:
    groups = engine.roll_out([request(*one, 1, 2) for one in clips], SAMPLED).groups
    for (prompt, _), group in zip(clips, groups, strict=True):
        assert group is not None
        for one in group:
            table = sampling_log_probs(policy, loaded[1], prompt, one.token_ids, 0.8)
            expected = table[range(len(one.token_ids)), one.token_ids]
            assert torch.allclose(torch.tensor(one.log_probs), expected, atol=1e-4)


def test_a_sample_depends_on_its_seed_and_not_on_what_is_beside_it(
    engine: VllmRollouts, policy: Any, clips: Clips
) -> None:
    hot = SamplingSettings(max_new_tokens=12, temperature=2.0, top_k=0, top_p=1.0)
    seeds = (2**63 - 1, 2**62 + 1, 5)
    together = engine.roll_out([request(*one, *seeds) for one in clips], hot).groups
    for one, expected in zip(clips, together, strict=True):
        alone = [engine.roll_out([request(*one, seed)], hot).groups[0] for seed in seeds]
        assert expected is not None
        assert [c.token_ids for c in expected] == [c[0].token_ids for c in alone if c is not None]
        assert len({tuple(c.token_ids) for c in expected}) == 3


def test_vision_tokens_are_never_sampled(
    engine: VllmRollouts, policy: Any, loaded: tuple[Any, Any], clips: Clips
) -> None:
    banned = banned_token_ids(loaded[1])
    with torch.no_grad():
        # The tied output layer now prefers them: along the hidden state after this prompt.
        embedding = policy.get_input_embeddings().weight
        head = sampling_log_probs(policy, loaded[1], clips[0][0], [1], 1.0)
        best = int(head[0].argmax())
        embedding[banned] = 3 * embedding[best]
    sync(engine, policy)
    for settings in (GREEDY, SAMPLED):
        groups = engine.roll_out([request(*clips[0], 1, 2, 3)], settings).groups
        assert groups[0] is not None
        assert all(set(banned).isdisjoint(one.token_ids) for one in groups[0])


def test_a_row_without_room_is_left_out_and_the_others_are_not(
    engine: VllmRollouts, policy: Any, loaded: tuple[Any, Any], clips: Clips
) -> None:
    endless = tiny_prompt(loaded[1], clips[0][1], text="a viewer " * MAX_MODEL_TOKENS)
    groups = engine.roll_out(
        [request(endless, clips[0][1], 1), request(*clips[1], 1)], SAMPLED
    ).groups
    assert groups[0] is None and groups[1] is not None
    exact = SamplingSettings(MAX_MODEL_TOKENS - clips[0][0].num_tokens, 0.0, 0, 1.0)
    assert engine.roll_out([request(*clips[0], 1)], exact).groups[0] is not None


# --- new weights ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "scale"),
    [
        ("visual.merger", 0.05),
        ("embed_tokens", 0.05),
        ("language_model.layers", 0.05),
        ("visual.blocks", 0.5),
    ],
)
def test_each_part_reaches_the_engine_and_nothing_old_is_left(
    engine: VllmRollouts,
    policy: Any,
    loaded: tuple[Any, Any],
    clips: Clips,
    part: str,
    scale: float,
) -> None:
    """The embedding is the output layer too; merger and tower feed the engine's encoder cache."""
    before = engine.roll_out([request(*one, 0) for one in clips], GREEDY).groups
    generator = torch.Generator().manual_seed(1)
    changed = 0
    with torch.no_grad():
        for name, weight in policy.named_parameters():
            if part in name:
                weight += scale * torch.randn(weight.shape, generator=generator)
                changed += 1
    assert changed
    sync(engine, policy)
    after = engine.roll_out([request(*one, 0) for one in clips], GREEDY).groups
    for old, new in zip(before, after, strict=True):
        assert old is not None and new is not None
        pairs = zip(old[0].log_probs, new[0].log_probs, strict=False)
        assert max(abs(a - b) for a, b in pairs) > 1e-4
    check_greedy(engine, policy, loaded[1], clips)


def test_an_adapter_is_merged_on_the_way_and_stays_as_it_is(
    engine: VllmRollouts, policy: Any, places: Places, loaded: tuple[Any, Any], clips: Clips
) -> None:
    adapted = add_adapter(policy, base=str(places.started), rank=2, alpha=4)
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if ".lora_B." in name:
                weight += 0.1 * torch.randn(weight.shape, generator=generator)
    before = {name: weight.clone() for name, weight in adapted.state_dict().items()}
    sync(engine, adapted)
    after = adapted.state_dict()
    assert all(torch.equal(weight, after[name]) for name, weight in before.items())
    check_greedy(engine, merge_adapter(adapted).eval(), loaded[1], clips)


def test_weights_that_do_not_fit_are_refused_and_the_old_ones_stay(
    engine: VllmRollouts, policy: Any, clips: Clips
) -> None:
    from safetensors.torch import save_file

    before = engine.roll_out([request(*clips[0], 0)], GREEDY).groups
    weights = {name: weight.detach() for name, weight in policy.named_parameters()}
    folder = engine.sync_folder / "broken"
    folder.mkdir(parents=True)
    first = next(iter(weights))
    del weights["model.visual.merger.mlp.0.bias"]
    save_file({**weights, "model.odd": torch.zeros(1)}, folder / "a.safetensors")
    save_file({first: weights[first]}, folder / "b.safetensors")
    with pytest.raises(ValueError) as refused:
        engine.client.load_weights("broken")
    for told in (
        "1 missing (model.visual.merger.mlp.0.bias)",
        "1 unknown",
        "1 given more than once",
    ):
        assert told in str(refused.value)
    assert engine.roll_out([request(*clips[0], 0)], GREEDY).groups == before


@pytest.mark.parametrize("name", ["../sync", "/tmp", "", "nothing_there"])
def test_only_folders_of_the_sync_root_are_read(engine: VllmRollouts, name: str) -> None:
    with pytest.raises(ValueError, match=r"load_weights|sees no folder"):
        engine.client.load_weights(name)


def test_a_broken_request_is_answered_and_the_engine_goes_on(
    engine: VllmRollouts, policy: Any, clips: Clips, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="refused /rollout"):
        engine.client.rollout({"groups": [{}]}, {})
    with pytest.raises(ValueError, match="not a message"):
        engine.client._ask("POST", "/rollout", b"\x80\x04K\x01.")  # a pickle
    with pytest.raises(ValueError, match="no such page"):
        engine.client._ask("GET", "/nowhere", b"")
    assert engine.roll_out([request(*clips[0], 0)], GREEDY).groups[0] is not None
