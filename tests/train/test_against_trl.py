"""The shared pass against TRL as it comes, with a clip's frames given as still images.

TRL knows no videos, but it does know images, whose positions transformers and this project agree
on. Both trainers below are TRL's own in all but two points: completions are given instead of
sampled, and the second computes log-probs with the shared pass.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from PIL import Image
from torch import Tensor
from transformers import Qwen2_5_VLForConditionalGeneration, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from affect.model.loading import load_processor
from affect.model.policy import (
    causal_model,
    freeze_tower,
    install_policy,
    model_positions,
    run_tower,
)
from tests.train.grpo_fixtures import checkpoint, completion, perturb
from tests.train.recording_trainer import gradients
from tests.train.test_shared_log_probs import assert_close_gradients
from train.log_probs import ScoredPrompt, shared_log_probs

REPLIES = {
    "Describe a.": ["Joy and Fear", "a bright ball", "Fear", "a dark shape rushes in"],
    "Describe b, in as few words as you can.": ["Joy", "emotion in this", "Anger", "Fear and Joy"],
}
UNFINISHED = ("a bright ball", "a dark shape rushes in")
REWARDS = {
    text: index / 3 for index, text in enumerate(one for group in REPLIES.values() for one in group)
}


def frames(seed: int) -> list[Image.Image]:
    """Three still pictures, the last one wider."""
    generator = np.random.default_rng(seed)
    return [
        Image.fromarray(generator.integers(0, 256, (56, width, 3), dtype=np.uint8))
        for width in (56, 56, 84)
    ]


def score(completions: list[Any], **columns: Any) -> list[float]:
    return [REWARDS[one[0]["content"]] for one in completions]


class StockTrainer(GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer with completions that are given."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.policy_passes: list[Tensor] = []
        self.first_gradients: dict[str, Tensor] = {}
        self.losses: list[float] = []
        super().__init__(*args, **kwargs)
        self.add_callback(_KeepGradients(self))

    def _generate_single_turn(self, prompt_ids: list[list[int]], *args: Any, **kwargs: Any) -> Any:
        given = []
        seen: dict[str, int] = {}
        for ids in prompt_ids:
            [text] = [text for text in REPLIES if text in self.processing_class.decode(ids)]
            sample = seen.get(text, 0)
            seen[text] = sample + 1
            reply = REPLIES[text][sample]
            given.append(completion(reply, finished=reply not in UNFINISHED).token_ids)
        return given, None

    def _compute_loss(self, model: Any, inputs: Any) -> Any:
        loss = super()._compute_loss(model, inputs)
        self.losses.append(float(loss.detach()))
        return loss

    def _get_per_token_logps_and_entropies(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        result = self._log_probs(model, *args, **kwargs)
        if torch.is_grad_enabled():
            self.policy_passes.append(result[0].detach().clone())
        return result

    def _log_probs(self, *args: Any, **kwargs: Any) -> Any:
        return super()._get_per_token_logps_and_entropies(*args, **kwargs)


class SharedTrainer(StockTrainer):
    """The same with the shared pass."""

    def _log_probs(
        self,
        model: Any,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **kwargs: Any,
    ) -> Any:
        if self.ref_model is not None:
            install_policy(self.ref_model)
        prompt_part = slice(None, -logits_to_keep)
        inner = causal_model(model)
        images = torch.split(kwargs["image_grid_thw"], kwargs["num_images"])
        pixels = torch.split(
            kwargs["pixel_values"], [int(grids.prod(dim=1).sum()) for grids in images]
        )
        prompts: dict[tuple[int, ...], ScoredPrompt] = {}
        keys = []
        for ids, mask, grids, patches in zip(
            input_ids[:, prompt_part], attention_mask[:, prompt_part], images, pixels, strict=True
        ):
            own = ids[mask.bool()]
            keys.append(tuple(own.tolist()))
            if keys[-1] not in prompts:
                positions, deltas = model_positions(
                    inner.config, own[None], None, None, None, image_grid_thw=grids
                )
                features = run_tower(inner.model.visual, patches, grids)
                next_position = len(own) + int(deltas)
                prompts[keys[-1]] = ScoredPrompt(
                    own, positions[:, 0], next_position, features, grids, is_still=True
                )
        places = list(prompts)
        log_probs, entropies = shared_log_probs(
            model,
            list(prompts.values()),
            torch.tensor([places.index(key) for key in keys]),
            input_ids[:, -logits_to_keep:],
            attention_mask[:, -logits_to_keep:],
        )
        return log_probs, entropies if compute_entropy else None, None


class _KeepGradients(TrainerCallback):  # type: ignore[misc]
    def __init__(self, trainer: StockTrainer) -> None:
        self.trainer = trainer

    def on_pre_optimizer_step(self, *args: Any, model: Any, **kwargs: Any) -> None:
        self.trainer.first_gradients = self.trainer.first_gradients or gradients(model)


def trained(kind: type[StockTrainer], folder: Path, **overrides: Any) -> StockTrainer:
    """One or more steps on two prompts of three pictures."""
    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(checkpoint(), dtype=torch.float32)
    freeze_tower(model)
    if kind is SharedTrainer:
        install_policy(model)
    # TRL pads prompts on the left, and takes the rest from the processor as it is.
    processor = load_processor(checkpoint())
    assert processor.tokenizer.padding_side == "left"
    rows = [
        {"prompt": [{"role": "user", "content": text}], "images": frames(seed)}
        for seed, text in enumerate(REPLIES)
    ]
    settings = {
        "output_dir": str(folder),
        "use_cpu": True,
        "bf16": False,
        "report_to": "none",
        "disable_tqdm": True,
        "save_strategy": "no",
        "remove_unused_columns": False,
        "seed": 5,
        "max_steps": 1,
        "learning_rate": 1e-3,
        "max_grad_norm": 0.0,
        "num_generations": 4,
        "per_device_train_batch_size": 8,
        "max_completion_length": 8,
        "temperature": 0.8,
        "beta": 0.04,
        **overrides,
    }
    trainer = kind(
        model=model,
        reward_funcs=score,
        args=GRPOConfig(**settings),
        train_dataset=Dataset.from_list(rows),
        processing_class=processor,
    )
    perturb(trainer.model)
    trainer.train()
    return trainer


CASES: dict[str, dict[str, Any]] = {
    "grpo": {"loss_type": "grpo"},
    "dapo": {"loss_type": "dapo"},
    "dr_grpo": {"loss_type": "dr_grpo"},
    "bnpo": {"loss_type": "bnpo"},
    "sequence level": {"loss_type": "grpo", "importance_sampling_level": "sequence"},
    "no reference": {"loss_type": "grpo", "beta": 0.0},
    "truncated masked": {"loss_type": "grpo", "mask_truncated_completions": True},
    "checkpointing": {"loss_type": "grpo", "gradient_checkpointing": True},
    "micro-batches that split a group": {
        "loss_type": "grpo",
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 4,
    },
    "several iterations": {"loss_type": "grpo", "num_iterations": 2, "max_steps": 2},
}


@pytest.mark.parametrize("case", CASES)
def test_loss_and_gradients_are_those_of_trl(case: str, tmp_path: Path) -> None:
    stock = trained(StockTrainer, tmp_path / "stock", **CASES[case])
    shared = trained(SharedTrainer, tmp_path / "shared", **CASES[case])
    # The first sampling's passes; later ones start from weights that differ by rounding.
    assert stock.policy_passes[0].abs().sum() > 1
    assert torch.allclose(shared.policy_passes[0], stock.policy_passes[0], atol=1e-5)
    assert shared.losses[0] == pytest.approx(stock.losses[0], abs=1e-6)
    assert_close_gradients(shared.first_gradients, stock.first_gradients, 1e-5)
    moved = (shared.policy_passes[-1] - stock.policy_passes[-1]).abs().max()
    assert moved < 1e-3
