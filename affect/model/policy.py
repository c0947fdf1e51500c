"""Qwen2.5-VL with our time and a tower that runs without gradients, as a change of behaviour only.

`install_policy(model)` makes a loaded `Qwen2_5_VLForConditionalGeneration` (or one that is wrapped
by PEFT) use `mrope_positions`, forget positions between calls, and take a video either as patches
or as tower features that were computed before. Weights, config and class name of what is saved stay
as they were, so a checkpoint is an ordinary Qwen2.5-VL.

The tower is everything before the merger. It is frozen in both stages, so it runs under no_grad and
keeps no activations; the merger trains and therefore always runs inside the model's forward.

Example:
    features = tower_features(model, prompt.pixel_values_videos, prompt.video_grid_thw)
    model(input_ids=..., position_ids=..., pixel_values_videos=features, video_grid_thw=...)
"""

from dataclasses import dataclass
from types import MethodType
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, Qwen2_5_VLForConditionalGeneration
from transformers.modeling_outputs import BaseModelOutputWithPooling
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLModel
from transformers.vision_utils import get_vision_window_index

from affect.model.packing import PrefixLayout
from affect.model.positions import mrope_positions
from affect.model.shared_prefix_attention import install_shared_prefix


@dataclass(frozen=True)
class ClipFeatures:
    """One clip as the frozen tower sees it.

    `features` is (num_patches, tower hidden size), patches in the processor's order; `grid_thw` is
    (1, 3); `second_per_grid` is the length of one temporal grid in seconds.
    """

    features: Tensor
    grid_thw: Tensor
    second_per_grid: float


class PolicyBackbone(Qwen2_5_VLModel):
    """The backbone with our positions and a gradient-free tower; see the module's text."""

    def forward(  # type: ignore[override]
        self, *args: Any, shared_prefix: PrefixLayout | None = None, **kwargs: Any
    ) -> Any:
        """The backbone's forward; of a packed row, the hidden states that are scored, (1, N, D).

        What the head does not need is left out before it: a vocabulary is wide.
        """
        if shared_prefix is None:
            return super().forward(*args, **kwargs)
        output = super().forward(*args, shared_prefix=shared_prefix, **kwargs)
        output.last_hidden_state = output.last_hidden_state[:, shared_prefix.scored]
        return output

    def get_video_features(  # type: ignore[override]
        self, pixel_values_videos: Tensor, video_grid_thw: Tensor, **kwargs: Any
    ) -> BaseModelOutputWithPooling:
        """Merged video embeddings of patches (N, patch size) or of tower features (N, hidden)."""
        visual: Any = self.visual
        if pixel_values_videos.shape[-1] == visual.config.hidden_size:
            features = pixel_values_videos
        else:
            features = run_tower(visual, pixel_values_videos, video_grid_thw)
        features = features.to(visual.merger.mlp[0].weight.dtype)
        merged = visual.merger(features)
        num_tokens = (video_grid_thw.prod(-1) // visual.spatial_merge_size**2).tolist()
        return BaseModelOutputWithPooling(
            last_hidden_state=features, pooler_output=cast(Any, torch.split(merged, num_tokens))
        )

    def get_image_features(  # type: ignore[override]
        self, pixel_values: Tensor, image_grid_thw: Tensor, **kwargs: Any
    ) -> BaseModelOutputWithPooling:
        """Merged embeddings of still images, whose grids are one picture long."""
        return self.get_video_features(pixel_values, image_grid_thw)

    def get_rope_index(  # type: ignore[override]
        self,
        input_ids: Tensor,
        mm_token_type_ids: Tensor | None = None,
        image_grid_thw: Tensor | None = None,
        video_grid_thw: Tensor | None = None,
        second_per_grid_ts: Tensor | None = None,
        attention_mask: Tensor | None = None,
        **kwargs: Any,
    ) -> tuple[Tensor, Tensor]:
        """Our positions, for callers that ask the model for them."""
        return model_positions(
            self.config,
            input_ids,
            attention_mask,
            video_grid_thw,
            second_per_grid_ts,
            image_grid_thw=image_grid_thw,
        )

    def compute_3d_position_ids(  # type: ignore[override]
        self,
        input_ids: Tensor | None,
        image_grid_thw: Tensor | None,
        video_grid_thw: Tensor | None,
        inputs_embeds: Tensor | None,
        attention_mask: Tensor | None,
        past_key_values: Any,
        second_per_grid_ts: Tensor | None = None,
        mm_token_type_ids: Tensor | None = None,
    ) -> Tensor:
        """Positions for a forward that was given none; nothing is remembered for a later call."""
        if past_key_values is not None and past_key_values.get_seq_length() > 0:
            raise ValueError("a forward that continues a cache needs its position_ids passed")
        if input_ids is None:
            raise ValueError("a forward on embeddings needs its position_ids passed")
        positions, _ = self.get_rope_index(
            input_ids,
            image_grid_thw=image_grid_thw,
            video_grid_thw=video_grid_thw,
            second_per_grid_ts=second_per_grid_ts,
            attention_mask=attention_mask,
        )
        return positions


def model_positions(
    config: Any,
    input_ids: Tensor,
    attention_mask: Tensor | None,
    video_grid_thw: Tensor | None,
    second_per_grid_ts: Any,
    *,
    image_grid_thw: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`mrope_positions` with the ids and rates of a Qwen2.5-VL config."""
    return mrope_positions(
        input_ids,
        attention_mask,
        video_grid_thw,
        second_per_grid_ts,
        image_grid_thw=image_grid_thw,
        video_token_id=config.video_token_id,
        image_token_id=config.image_token_id,
        spatial_merge_size=config.vision_config.spatial_merge_size,
        tokens_per_second=config.vision_config.tokens_per_second,
    )


def _prepare_position_ids_for_generation(
    inner: Any, inputs_tensor: Tensor, model_kwargs: dict[str, Any]
) -> Tensor:
    """Positions for transformers' own `generate`: text positions over ours, (4, B, L).

    The class's method asks for a video's positions only if `mm_token_type_ids` were passed, and
    counts straight through the video otherwise; it also leaves `rope_deltas` on the model.
    """
    text = GenerationMixin._prepare_position_ids_for_generation(inner, inputs_tensor, model_kwargs)
    input_ids = model_kwargs.get("input_ids")
    if input_ids is None or input_ids.shape[1] == 0:  # the prompt came as the main input
        input_ids = inputs_tensor
    ours = inner.model.compute_3d_position_ids(
        input_ids=None if input_ids.is_floating_point() else input_ids,
        image_grid_thw=model_kwargs.get("image_grid_thw"),
        video_grid_thw=model_kwargs.get("video_grid_thw"),
        inputs_embeds=None,
        attention_mask=model_kwargs.get("attention_mask"),
        past_key_values=model_kwargs.get("past_key_values"),
        second_per_grid_ts=model_kwargs.get("second_per_grid_ts"),
    )
    return torch.cat([text[None].expand(1, *ours.shape[1:]), ours])


def install_policy(model: Any) -> Any:
    """Give a loaded Qwen2.5-VL (plain, or inside PEFT, DDP or DeepSpeed) our behaviour, in place.

    Raises:
        ValueError: another architecture, or a tower whose features could be taken for patches.
    """
    inner = causal_model(model)
    backbone = inner.model
    if isinstance(backbone, PolicyBackbone):
        return model
    vision = inner.config.vision_config
    patch_size = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
    if patch_size == vision.hidden_size:
        raise ValueError(
            f"the tower's hidden size equals its patch size ({patch_size}), so features can't be "
            "told from patches; choose another hidden size"
        )
    backbone.__class__ = PolicyBackbone
    backbone.rope_deltas = None
    install_shared_prefix(inner)
    # On the instance: a class of our own would change the `architectures` that a save writes.
    inner._prepare_position_ids_for_generation = MethodType(
        _prepare_position_ids_for_generation, inner
    )
    return model


def causal_model(model: Any) -> Qwen2_5_VLForConditionalGeneration:
    """The Qwen2.5-VL inside whatever wraps it.

    Raises:
        ValueError: there is none.
    """
    for module in model.modules() if isinstance(model, nn.Module) else ():
        if isinstance(module, Qwen2_5_VLForConditionalGeneration):
            return module
    raise ValueError(f"expected a Qwen2.5-VL, got {type(model).__name__}")


@torch.no_grad()
def run_tower(visual: Any, pixel_values: Tensor, grid_thw: Tensor) -> Tensor:
    """(N, hidden) features before the merger, in the order of the patches; no gradient is kept."""
    output = visual(pixel_values.type(visual.dtype), grid_thw=grid_thw)
    window_index, _ = get_vision_window_index(
        grid_thw,
        spatial_merge_size=visual.spatial_merge_size,
        window_size=visual.window_size,
        patch_size=visual.patch_size,
    )
    # The blocks work on windows; the merger takes groups of spatial_merge_unit rows, so putting the
    # groups back in order before it gives the same result as doing so after it.
    hidden = output.last_hidden_state
    groups = hidden.reshape(-1, visual.spatial_merge_unit, hidden.shape[-1])
    return cast(Tensor, groups[torch.argsort(window_index)].reshape(hidden.shape))


def tower_features(model: Any, pixel_values: Tensor, grid_thw: Tensor) -> Tensor:
    """Features (N, hidden) of the clips' patches (N, patch size), without gradient."""
    return run_tower(causal_model(model).model.visual, pixel_values, grid_thw)


def freeze_tower(model: Any) -> list[str]:
    """Freeze the vision tower and train the rest (merger and language model), as the paper does.

    Returns:
        the names of the trainable parameters.

    Raises:
        ValueError: the model carries an adapter, whose frozen base this would thaw.
    """
    inner = causal_model(model)
    if hasattr(inner, "peft_config"):
        raise ValueError("the model carries an adapter; freeze the tower before adding one")
    inner.requires_grad_(True)
    visual: Any = inner.model.visual
    visual.requires_grad_(False)
    visual.merger.requires_grad_(True)
    return [name for name, parameter in model.named_parameters() if parameter.requires_grad]
