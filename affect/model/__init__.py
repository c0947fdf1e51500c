"""Qwen2.5-VL for us: inputs from rows, time in the positions, tower features, generation, loading.

The only part of `affect` that needs torch.

Example:
    model, processor = load_policy("runs/demo/sft/final")
    prompt = encode_prompt(processor, segment_messages(9.0), [sample_video("clip.mp4", budget)])
    [[completion]] = generate(model, processor, [prompt], max_new_tokens=400)
"""

from affect.model.generation import Completion, generate
from affect.model.inputs import PromptInputs, encode_prompt, segment_messages
from affect.model.loading import load_policy, load_processor
from affect.model.policy import ClipFeatures, freeze_tower, install_policy, tower_features
from affect.model.positions import mrope_positions

__all__ = [
    "ClipFeatures",
    "Completion",
    "PromptInputs",
    "encode_prompt",
    "freeze_tower",
    "generate",
    "install_policy",
    "load_policy",
    "load_processor",
    "mrope_positions",
    "segment_messages",
    "tower_features",
]
