"""TRL's private methods are still those that are overridden; any new release fails here first."""

import importlib.metadata
import inspect
import re
from typing import Any

import pytest
import transformers
import trl
from trl import GRPOTrainer, SFTTrainer
from trl.models import unwrap_model_for_generation
from trl.trainer.utils import add_fused_lm_head

from train.grpo_trainer import VideoGrpoTrainer
from train.repeatable import RepeatableTrainer

METHODS = {
    "_get_train_sampler": ["self", "dataset"],
    "_tokenize_prompts": ["self", "prompts"],
    "_generate_single_turn": [
        "self", "prompt_ids", "images", "multimodal_fields", "num_generations", "has_tool_images",
    ],
    "_get_per_token_logps_and_entropies": [
        "self", "model", "input_ids", "attention_mask", "logits_to_keep", "batch_size",
        "compute_entropy", "compute_aux_loss", "pixel_values", "image_grid_thw", "num_images",
        "pixel_attention_mask", "spatial_shapes", "num_tiles", "image_sizes", "token_type_ids",
        "mm_token_type_ids", "image_position_ids",
    ],
    "_prepare_inputs": ["self", "generation_batch"],
    "_generate_and_score_completions": ["self", "inputs"],
    "_compute_loss": ["self", "model", "inputs"],
    "_calculate_rewards": ["self", "inputs", "prompts", "completions", "completion_ids_list"],
}  # fmt: skip


def names(function: Any) -> list[str]:
    return list(inspect.signature(function).parameters)


def test_the_pinned_releases_are_installed() -> None:
    assert trl.__version__ == importlib.metadata.version("trl") == "1.16.0"
    assert transformers.__version__ == "5.19.0"


@pytest.mark.parametrize("name", METHODS)
def test_an_overridden_method_has_the_parameters_that_are_expected(name: str) -> None:
    assert names(getattr(GRPOTrainer, name)) == METHODS[name]


@pytest.mark.parametrize("name", METHODS)
def test_the_override_takes_the_same_ones(name: str) -> None:
    ours = inspect.signature(getattr(VideoGrpoTrainer, name)).parameters
    named = [key for key, one in ours.items() if one.kind is not one.VAR_KEYWORD]
    assert METHODS[name][: len(named)] == named
    if len(named) < len(METHODS[name]):
        assert any(one.kind is one.VAR_KEYWORD for one in ours.values())


def test_nothing_else_of_trl_is_overridden_without_being_listed() -> None:
    ours = {name for name, value in vars(VideoGrpoTrainer).items() if callable(value)}
    assert {name for name in ours if hasattr(GRPOTrainer, name)} == {*METHODS, "__init__"}


OF_EVERY_TRAINER = {
    "_save_checkpoint": ["self", "model", "trial"],
    "_run_epoch": [
        "self", "model", "epoch", "train_dataloader", "steps_in_epoch",
        "num_update_steps_per_epoch", "trial", "ignore_keys_for_eval", "start_time",
        "resume_from_checkpoint", "epochs_trained", "steps_trained_in_current_epoch",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", OF_EVERY_TRAINER)
@pytest.mark.parametrize("trainer", [GRPOTrainer, SFTTrainer])
def test_what_both_trainers_override(trainer: Any, name: str) -> None:
    assert name in vars(RepeatableTrainer)
    assert names(getattr(trainer, name)) == OF_EVERY_TRAINER[name]


def test_an_epoch_is_run_with_named_arguments() -> None:
    """As the override of `_run_epoch` takes them."""
    loop = inspect.getsource(transformers.Trainer._inner_training_loop)
    [call] = re.findall(r"self\._run_epoch\(([^)]*)\)", loop)
    given = [part.strip() for part in call.split(",") if part.strip()]
    assert [part.partition("=")[0] for part in given] == OF_EVERY_TRAINER["_run_epoch"][1:]
    assert all("=" in part for part in given)


def test_no_attribute_of_trl_is_shadowed() -> None:
    for name in ("_mode", "_group_size", "_local", "_kept_scale", "_run_tower", "_group_starts"):
        assert hasattr(VideoGrpoTrainer, name) and not hasattr(GRPOTrainer, name)


def test_functions_of_trl_that_are_called() -> None:
    assert names(unwrap_model_for_generation) == [
        "model",
        "accelerator",
        "gather_deepspeed3_params",
        "generation_kwargs",
        "gradient_checkpointing_kwargs",
    ]
    assert names(add_fused_lm_head) == ["model", "temperature", "cast_lm_head_to_fp32", "outputs"]


@pytest.mark.parametrize(
    "text",
    [
        # Scores, then shuffles and splits: `prompt_index` and `kept` travel with their rows.
        "generation_batch = shuffle_sequence_dict(generation_batch)",
        "split_tensor_dict(generation_batch, self.args.steps_per_generation)",
        "inputs = self._buffered_inputs[self._step % self.args.steps_per_generation]",
    ],
)
def test_micro_batches_are_made_as_expected(text: str) -> None:
    assert text in inspect.getsource(GRPOTrainer._prepare_inputs)


@pytest.mark.parametrize(
    "text",
    [
        "((per_token_loss * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)).mean()",
        "(per_token_loss * mask).sum() / (per_token_loss.size(0) * self.max_completion_length)",
        "(per_token_loss * mask).sum() / mask.sum().clamp(min=1.0)",
        'normalizer = inputs["num_items_in_batch"].clamp(min=1.0)',
    ],
)
def test_losses_are_averaged_as_expected(text: str) -> None:
    """The scale that takes dropped rows out of a mean rests on these four."""
    assert text in inspect.getsource(GRPOTrainer._compute_loss)
