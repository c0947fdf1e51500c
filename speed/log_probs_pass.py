"""The policy and the pass that `speed.log_probs` measures.

Example: HeadPass(Shape(num_tokens=64)).run("ours")["mean_log_prob"]
"""

from typing import Any

import torch
from torch import Tensor
from trl.trainer.utils import add_fused_lm_head

from affect.model.packing import pack_groups
from affect.model.policy import causal_model, install_policy, model_positions
from affect.model.tiny import tiny_model, tiny_processor
from speed.log_probs import Shape
from train.log_probs import ScoredPrompt, shared_log_probs
from train.narrow_head import install_narrow_head

_GRID = (2, 8, 8)  # temporal, height and width patches: 32 video tokens
_NUM_TEXT_TOKENS = 16
OUTPUTS = ("log_probs", "entropy")


class HeadPass:
    """A random policy with a wide head, one prompt with a clip, and completions of equal length."""

    def __init__(self, shape: Shape) -> None:
        processor = tiny_processor(["Describe the viewer's emotion in this silent video."] * 4, 512)
        self.model = wide_policy(processor, shape.num_words, shape.hidden_size)
        chance = torch.Generator().manual_seed(1)
        config = self.model.config
        words = torch.randint(500, (_NUM_TEXT_TOKENS,), generator=chance)
        video = torch.full((_GRID[0] * _GRID[1] * _GRID[2] // 4,), config.video_token_id)
        ids = torch.cat([words[:4], video, words[4:]])
        grid = torch.tensor([_GRID])
        positions, deltas = model_positions(config, ids[None], None, grid, [1.0])
        features = torch.randn(int(grid.prod()), config.vision_config.hidden_size, generator=chance)
        next_position = len(ids) + int(deltas)
        self.prompt = ScoredPrompt(ids, positions[:, 0], next_position, features, grid)
        size = (shape.num_completions, shape.num_tokens // shape.num_completions)
        self._is_narrow = False
        # Past the special tokens, which lie behind the learned words.
        self.completions = torch.randint(512, shape.num_words, size, generator=chance)

    def run(self, contender: str) -> dict[str, float]:
        """One forward and backward; means of the outputs and the norm of the head's gradient."""
        assert contender != "wide tiles" or not self._is_narrow, "its head is narrow for good"
        self.model.zero_grad(set_to_none=True)
        if contender == "ours" and not self._is_narrow:
            install_narrow_head(self.model, outputs=OUTPUTS)
            self._is_narrow = True
        log_probs, entropies = self.plain() if contender == "plain" else self.fused()
        (log_probs.mean() + 0.1 * entropies.mean()).backward()  # type: ignore[no-untyped-call]
        return {
            "mean_log_prob": float(log_probs.detach().mean()),
            "mean_entropy": float(entropies.detach().mean()),
            "weight_gradient_norm": float(self.model.lm_head.weight.grad.norm()),
        }

    def fused(self) -> tuple[Tensor, Tensor]:
        """The trainer's pass."""
        rows = torch.zeros(len(self.completions), dtype=torch.long)
        mask = torch.ones_like(self.completions)
        log_probs, entropies = shared_log_probs(
            self.model, [self.prompt], rows, self.completions, mask
        )
        assert entropies is not None
        return log_probs, entropies

    def plain(self) -> tuple[Tensor, Tensor]:
        """The same forward with logits, (1, tokens, words), and log_softmax over them."""
        prompt = self.prompt
        packed = pack_groups(
            [prompt.input_ids], [prompt.positions], [prompt.next_position], [list(self.completions)]
        )
        logits = self.model(
            input_ids=packed.input_ids,
            position_ids=packed.position_ids,
            attention_mask={"full_attention": None},
            shared_prefix=packed.layout,
            pixel_values_videos=prompt.features,
            video_grid_thw=prompt.grid_thw,
            use_cache=False,
        ).logits
        log_probs = torch.log_softmax(logits, dim=-1)
        del logits
        chosen = log_probs.gather(-1, packed.labels[..., None])[..., 0]
        return chosen, -(log_probs.exp() * log_probs).sum(dim=-1)


def wide_policy(processor: Any, num_words: int, hidden_size: int) -> Any:
    """A one-layer policy with TRL's fused head, which alone learns at its end.

    The embedding is a matrix of its own and frozen: its gradient would be as large as the head's
    and hide what is measured.
    """
    model = tiny_model(processor, hidden_size=hidden_size, num_layers=1)
    embedding = model.get_input_embeddings().weight.detach()
    model.config.tie_word_embeddings = model.config.get_text_config().tie_word_embeddings = False
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model.lm_head = torch.nn.Linear(hidden_size, num_words, bias=False)
        wide = torch.nn.Embedding(num_words, hidden_size)
    with torch.no_grad():
        wide.weight.mul_(0.08)
        wide.weight[: len(embedding)] = embedding
    model.set_input_embeddings(wide.requires_grad_(False))
    model.config.get_text_config().vocab_size = num_words
    install_policy(model)
    add_fused_lm_head(causal_model(model), outputs=OUTPUTS)
    return model.train()
