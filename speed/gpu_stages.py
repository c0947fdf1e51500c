"""The stages of `speed.gpu_check`, in the order in which they run.

Example: run_stages(Report(torch.device("cuda")), rollout_tokens=256)
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor
from trl.trainer.utils import add_fused_lm_head

from affect.model.decode_loop import decode
from affect.model.policy import ClipFeatures, tower_features
from affect.model.sampling import Sampler
from speed.gpu_check import SIZES, TINY_SIZES, Report
from speed.gpu_model import RELEASED_3B, TINY, draw_completions, draw_prompt, random_policy
from speed.grpo_floor import step_floor
from train.log_probs import LogProbPass, ScoredPrompt, log_prob_pass
from train.narrow_head import install_narrow_head

OUTPUTS = ("log_probs", "entropy")


def run_stages(report: Report, *, rollout_tokens: int) -> None:
    """All of them; those that need a model only where there is one."""
    on_gpu = report.device.type == "cuda"
    report.found["device"] = torch.cuda.get_device_name() if on_gpu else "cpu"
    report.found["torch"] = torch.__version__
    report.stage("matrix rate", partial(matrix_rate, report))
    step = Step(report, rollout_tokens)
    if report.stage("model", step.build) and report.stage("tower", step.run_tower):
        for way in ("plain", "ours", "shared sdpa"):
            report.stage(f"reference, {way}", partial(step.reference, way))
            report.stage(f"forward and backward, {way}", partial(step.update, way))
        report.stage("rollout, ours", step.our_rollout)
        report.stage("rollout, plain", step.plain_rollout)
    report.found["ratios"] = ratios(report.found)


def matrix_rate(report: Report) -> dict[str, Any]:
    """Operations per second of a product of large square matrices."""
    on_gpu = report.device.type == "cuda"
    side, repeats = (8192, 30) if on_gpu else (256, 3)
    dtype = torch.bfloat16 if on_gpu else torch.float32
    one, other = (torch.randn(side, side, device=report.device, dtype=dtype) for _ in range(2))
    figures = report.timed(lambda: [one @ other for _ in range(repeats)])
    rate = 2 * side**3 * repeats / figures["seconds"] if figures["seconds"] else None
    return {"side": side, "flops_per_second": rate}


class Step:
    """The parts of one step on one group, ours and plain."""

    def __init__(self, report: Report, rollout_tokens: int) -> None:
        self.report = report
        self.rollout_tokens = rollout_tokens
        self.on_gpu = report.device.type == "cuda"
        self.num_completions, self.num_tokens = (8, 512) if self.on_gpu else (3, 5)
        self.model: Any = None
        self.log_probs: dict[str, Tensor] = {}
        self.gradients: dict[str, Tensor] = {}
        self.drafts: list[list[int]] = []

    def build(self) -> dict[str, Any]:
        """The policy with TRL's fused head, prompt and completions."""
        device = self.report.device
        dtype = torch.bfloat16 if self.on_gpu else torch.float32
        self.model = random_policy(RELEASED_3B if self.on_gpu else TINY, device, dtype)
        add_fused_lm_head(self.model, outputs=OUTPUTS)
        install_narrow_head(self.model, outputs=OUTPUTS)
        self.model.gradient_checkpointing_enable({"use_reentrant": False})
        self.prompt = draw_prompt(self.model.config, **(SIZES if self.on_gpu else TINY_SIZES))
        self.completions = draw_completions(self.prompt, self.num_completions, self.num_tokens)
        self.completions = self.completions.to(device)
        self.floor = step_floor(
            self.model.config,
            grid_thw=self.prompt.inputs.video_grid_thw[0].tolist(),
            num_prompt=self.prompt.inputs.num_tokens,
            num_completion=self.num_tokens,
            num_completions=self.num_completions,
        )
        return {
            "parameters": sum(one.numel() for one in self.model.parameters()),
            "prompt_tokens": self.prompt.inputs.num_tokens,
            "completions": self.num_completions,
            "completion_tokens": self.num_tokens,
            "floor_flops": self.floor,
        }

    def run_tower(self) -> dict[str, Any]:
        """Features of the clip, once."""
        inputs, device = self.prompt.inputs, self.report.device
        assert inputs.pixel_values_videos is not None
        self.pixels = inputs.pixel_values_videos.to(device, self.model.dtype)
        self.grid = inputs.video_grid_thw.to(device)

        def work() -> None:
            self.features = tower_features(self.model, self.pixels, self.grid)

        figures = self._with_share(self.report.timed(work), ["tower"])
        clip = ClipFeatures(self.features, self.grid, inputs.second_per_grid_ts[0])
        self.scored = ScoredPrompt.of(self.model.config, inputs, clip, device)
        return figures

    def reference(self, way: str) -> dict[str, Any]:
        """Log-probs without gradient, in evaluation mode."""
        self.model.eval()

        def work() -> None:
            with torch.no_grad():
                self.log_probs[way] = self._pass(way)[0].float()

        figures = self._with_share(self.report.timed(work), ["reference"])
        if way == "plain":
            return figures
        difference = (self.log_probs[way] - self.log_probs["plain"]).abs()
        figures["log_probs_differ_mean"] = float(difference.mean())
        figures["log_probs_differ_most"] = float(difference.max())
        return figures

    def update(self, way: str) -> dict[str, Any]:
        """The policy's forward and backward, with gradient checkpointing."""
        self.model.train()
        chance = torch.Generator().manual_seed(3)
        weights = torch.randn(self.num_completions, 1, generator=chance).to(self.report.device)

        def work() -> None:
            self.model.zero_grad(set_to_none=True)
            log_probs, _ = self._pass(way)
            (weights * log_probs).mean().backward()  # type: ignore[no-untyped-call]

        try:
            parts = ["forward", "backward", "recomputed forward"]
            figures = self._with_share(self.report.timed(work), parts)
            found = {
                name: one.grad
                for name, one in self.model.named_parameters()
                if one.grad is not None
            }
            if way == "plain":
                self.gradients = {name: one.cpu() for name, one in found.items()}
            else:
                figures |= self._gradients_differ(found)
        finally:
            self.model.zero_grad(set_to_none=True)
        return figures

    def _gradients_differ(self, found: dict[str, Tensor]) -> dict[str, Any]:
        """Norm of the difference over the plain way's norm, of all and of the worst tensor."""
        if not self.gradients:
            raise RuntimeError("the plain way left no gradients to compare with")
        if set(found) != set(self.gradients):
            raise RuntimeError("the two ways gave gradients to different parameters")
        of_all = [0.0, 0.0]
        worst, worst_name = 0.0, ""
        for name, one in found.items():
            plain = self.gradients[name].to(one.device).float()
            squares = [float((one.float() - plain).square().sum()), float(plain.square().sum())]
            of_all = [total + part for total, part in zip(of_all, squares, strict=True)]
            if squares[1] and squares[0] / squares[1] > worst:
                worst, worst_name = squares[0] / squares[1], name
        return {
            "gradients_differ": (of_all[0] / of_all[1]) ** 0.5,
            "gradients_differ_most": worst**0.5,
            "gradients_differ_most_in": worst_name,
        }

    def our_rollout(self) -> dict[str, Any]:
        """Likeliest tokens of G replies, the prompt run once and kept once."""
        self.model.eval()

        def work() -> None:
            with torch.no_grad():
                drafts = decode(
                    self.model,
                    [self.prompt.inputs],
                    num_samples=self.num_completions,
                    max_new_tokens=self.rollout_tokens,
                    sampler=Sampler(0.0, 0, 1.0, banned=self._no_ids()),
                    uniforms=None,
                    end_ids=self._no_ids(),
                    features=[self.features],
                )
            self.drafts = [draft.token_ids for draft in drafts]

        return {"tokens": self.rollout_tokens, **self.report.timed(work, warm=not self.on_gpu)}

    def plain_rollout(self) -> dict[str, Any]:
        """transformers' generate on G copies of prompt and clip."""
        self.model.eval()
        count, inputs, device = self.num_completions, self.prompt.inputs, self.report.device
        sampled: list[list[int]] = []

        def work() -> None:
            ids = inputs.input_ids[None].repeat(count, 1).to(device)
            with torch.no_grad():
                output = self.model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    pixel_values_videos=self.pixels.repeat(count, 1),
                    video_grid_thw=self.grid.repeat(count, 1),
                    second_per_grid_ts=torch.tensor(inputs.second_per_grid_ts * count),
                    do_sample=False,
                    max_new_tokens=self.rollout_tokens,
                    min_new_tokens=self.rollout_tokens,
                )
            sampled[:] = output[:, ids.shape[1] :].tolist()

        figures = {"tokens": self.rollout_tokens, **self.report.timed(work, warm=not self.on_gpu)}
        agree = [
            next(
                (at for at, pair in enumerate(zip(*both, strict=True)) if pair[0] != pair[1]), None
            )
            for both in zip(self.drafts, sampled, strict=False)
        ]
        # With 16 bits the first near tie parts them, and they go on from there each for itself.
        figures["first_unlike_token"] = agree
        return figures

    def _pass(self, way: str) -> tuple[Tensor, Tensor | None]:
        rows = torch.zeros(self.num_completions, dtype=torch.long)
        run = self._log_prob_pass(way)
        return run(
            self.model, [self.scored], rows, self.completions, torch.ones_like(self.completions)
        )

    def _log_prob_pass(self, way: str) -> LogProbPass:
        if way == "plain":
            return log_prob_pass("plain", "sdpa", pad_id=0)
        attention = "flex" if way == "ours" and self.on_gpu else "sdpa"
        return log_prob_pass("shared", attention, pad_id=0)

    def _no_ids(self) -> Tensor:
        return torch.zeros(0, dtype=torch.long, device=self.report.device)

    def _with_share(self, figures: dict[str, Any], parts: list[str]) -> dict[str, Any]:
        """With the parts' least arithmetic over the seconds and the device's rate."""
        rate = self.report.found.get("matrix rate", {}).get("flops_per_second")
        flops = sum(self.floor[part] for part in parts)
        seconds = figures["seconds"]
        share = flops / seconds / rate if rate and seconds else None
        return {**figures, "share_of_matrix_rate": share}


def ratios(found: dict[str, Any]) -> dict[str, float | None]:
    """How many times less time (plain / ours), and what part of the memory (ours / plain)."""

    def quotient(one: str, other: str, key: str) -> float | None:
        values = [found.get(name, {}).get(key) for name in (one, other)]
        return values[0] / values[1] if all(values) else None

    report: dict[str, float | None] = {}
    for part in ("reference", "forward and backward", "rollout"):
        plain, ours = f"{part}, plain", f"{part}, ours"
        report[f"{part}: seconds"] = quotient(plain, ours, "seconds")
        report[f"{part}: memory"] = quotient(ours, plain, "peak_memory_bytes")
    return report
