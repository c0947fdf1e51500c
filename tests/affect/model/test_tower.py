"""The frozen tower: run without gradient, once, and worth the same as inside the plain model."""

from typing import Any

import pytest
import torch
from torch import Tensor

from affect.model.policy import (
    causal_model,
    freeze_tower,
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

# (height, width, frames): windows are 56 pixels, so these have 1, 2 x 2 with a ragged edge, 3 x 2
# and 1 x 4 of them.
CLIPS = [(56, 56, 4), (84, 112, 8), (168, 112, 2), (56, 196, 6)]


def clip_inputs(clips: list[tuple[int, int, int]]) -> dict[str, Any]:
    """A batch of one prompt per clip, with our positions."""
    processor = shared_processor()
    prompts = [
        tiny_prompt(
            processor,
            synthetic_clip(seed, num_frames=num_frames, height=height, width=width),
            text="word " * seed,
        )
        for seed, (height, width, num_frames) in enumerate(clips)
    ]
    inputs = batch_inputs(prompts)
    seconds = inputs.pop("second_per_grid_ts")
    inputs["position_ids"], _ = model_positions(
        plain_model().config,
        inputs["input_ids"],
        inputs["attention_mask"],
        inputs["video_grid_thw"],
        seconds,
    )
    return inputs


def frozen_plain_model() -> Any:
    """No policy: the tower is frozen by hand, the rest trains."""
    model = plain_model()
    model.model.visual.requires_grad_(False)
    model.model.visual.merger.requires_grad_(True)
    return model


def gradients(model: Any, inputs: dict[str, Any]) -> dict[str, Tensor]:
    """Gradients of the mean loss of telling each token from those before, by parameter."""
    model.zero_grad()
    labels = inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)
    model(**inputs, labels=labels).loss.backward()
    found = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return {name: grad.clone() for name, grad in found.items()}


@pytest.mark.parametrize("clips", [CLIPS[:1], CLIPS[1:2], CLIPS[2:3], CLIPS[3:], CLIPS])
@torch.no_grad()
def test_merged_embeddings_equal_those_of_the_plain_model(clips: list[Any]) -> None:
    inputs = clip_inputs(clips)
    patches, grids = inputs["pixel_values_videos"], inputs["video_grid_thw"]
    plain = frozen_plain_model().get_video_features(patches, grids).pooler_output
    model, _ = tiny_policy()
    features = tower_features(model, patches, grids)
    assert features.shape == (len(patches), 64)
    for given in (patches, features):
        merged = model.get_video_features(given, grids).pooler_output
        num_tokens = [(height // 28) * (width // 28) * num // 2 for height, width, num in clips]
        assert [len(part) for part in merged] == num_tokens
        for part, expected in zip(merged, plain, strict=True):
            torch.testing.assert_close(part, expected, atol=1e-5, rtol=0)


def test_the_features_of_a_clip_do_not_depend_on_its_neighbours() -> None:
    model, _ = tiny_policy()
    inputs = clip_inputs(CLIPS)
    together = tower_features(model, inputs["pixel_values_videos"], inputs["video_grid_thw"])
    sizes = inputs["video_grid_thw"].prod(dim=-1).tolist()
    clips = zip(inputs["pixel_values_videos"].split(sizes), inputs["video_grid_thw"], strict=True)
    alone = [tower_features(model, patches, grid[None]) for patches, grid in clips]
    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=0)


def test_tower_features_have_no_history() -> None:
    model, _ = tiny_policy()  # nothing frozen: the tower's weights ask for a gradient
    inputs = clip_inputs(CLIPS)
    features = tower_features(model, inputs["pixel_values_videos"], inputs["video_grid_thw"])
    assert features.grad_fn is None and not features.requires_grad
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("given", ["patches", "features"])
@pytest.mark.parametrize("checkpointing", [False, True])
def test_gradients_equal_those_of_the_plain_model(given: str, checkpointing: bool) -> None:
    inputs = clip_inputs(CLIPS)
    expected = gradients(frozen_plain_model(), inputs)
    model, _ = tiny_policy()
    model.train()
    freeze_tower(model)
    if checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    if given == "features":
        inputs["pixel_values_videos"] = tower_features(
            model, inputs["pixel_values_videos"], inputs["video_grid_thw"]
        )
    found = gradients(model, inputs)
    assert found.keys() == expected.keys()
    assert sum("merger" in name for name in found) == 5
    for name, grad in found.items():
        assert grad.abs().max() > 0, name
        torch.testing.assert_close(grad, expected[name], atol=1e-6, rtol=1e-4, msg=name)


def test_the_tower_keeps_no_activations_and_gets_no_gradient_even_unfrozen() -> None:
    model, _ = tiny_policy()
    inputs = clip_inputs(CLIPS[1:2])
    features = tower_features(model, inputs["pixel_values_videos"], inputs["video_grid_thw"])

    def num_saved(pixel_values_videos: Tensor) -> int:
        saved: list[Tensor] = []

        def keep(tensor: Tensor) -> Tensor:
            saved.append(tensor)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            found = gradients(model, {**inputs, "pixel_values_videos": pixel_values_videos})
        tower = [name for name in found if "visual" in name and "merger" not in name]
        assert tower == []
        return len(saved)

    assert num_saved(inputs["pixel_values_videos"]) == num_saved(features) > 0


def test_freezing_leaves_merger_and_language_model() -> None:
    model, _ = tiny_policy()
    model.requires_grad_(False)
    trainable = freeze_tower(model)
    assert trainable == [name for name, p in model.named_parameters() if p.requires_grad]
    language_layer = [
        *(f"self_attn.{name}_proj.{kind}" for name in "qkv" for kind in ("weight", "bias")),
        "self_attn.o_proj.weight",
        "mlp.gate_proj.weight",
        "mlp.up_proj.weight",
        "mlp.down_proj.weight",
        "input_layernorm.weight",
        "post_attention_layernorm.weight",
    ]
    assert sorted(trainable) == sorted(
        [
            "model.visual.merger.ln_q.weight",
            *(f"model.visual.merger.mlp.{n}.{kind}" for n in (0, 2) for kind in ("weight", "bias")),
            "model.language_model.embed_tokens.weight",
            "model.language_model.norm.weight",
            *(f"model.language_model.layers.{n}.{name}" for n in (0, 1) for name in language_layer),
        ]
    )
    # The output layer is the embedding, so it trains without a name of its own.
    assert model.lm_head.weight is model.model.language_model.embed_tokens.weight


def test_freezing_again_after_the_tower_was_thawed() -> None:
    model, _ = tiny_policy()
    first = freeze_tower(model)
    model.model.visual.requires_grad_(True)
    assert freeze_tower(model) == first


@pytest.mark.parametrize("kept", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("weights", [torch.float32, torch.bfloat16])
def test_features_of_another_precision_go_through_the_merger(
    kept: torch.dtype, weights: torch.dtype
) -> None:
    model, _ = tiny_policy()
    inputs = clip_inputs(CLIPS[:2])
    grids = inputs["video_grid_thw"]
    features = tower_features(model, inputs["pixel_values_videos"], grids)
    expected = torch.cat(model.get_video_features(features, grids).pooler_output)
    merged = torch.cat(model.to(weights).get_video_features(features.to(kept), grids).pooler_output)
    assert merged.dtype == weights
    assert (merged - expected).abs().max() < 0.03 * expected.abs().max()


def test_features_are_taken_inside_a_wrapper_too() -> None:
    model, _ = tiny_policy()
    wrapped = torch.nn.ModuleDict({"module": model})
    assert install_policy(wrapped) is wrapped and causal_model(wrapped) is model
    inputs = clip_inputs(CLIPS[:1])
    arguments = inputs["pixel_values_videos"], inputs["video_grid_thw"]
    torch.testing.assert_close(
        tower_features(wrapped, *arguments), tower_features(model, *arguments), atol=1e-6, rtol=0
    )
