"""The GRPO trainer with rollouts from an engine, and an eye on the log-probs of whatever samples.

Each token's log-prob is known twice: from sampling, and from the first forward that trains on it,
with the same weights. They must agree; where they drift apart, the completions come from another
policy than the one that is trained (stale weights, other frames or positions, coarse precision).

Example: trainer = EngineGrpoTrainer(engine=engine, logp_alarm=0.1, clips=store, ...)
"""

import math
from typing import Any

import torch
from torch import Tensor

from affect.model.generation import Completion
from affect.model.inputs import PromptInputs
from train.grpo_trainer import VideoGrpoTrainer
from train.rollouts import GroupRequest, RolloutEngine, SamplingSettings
from train.run_start import warn
from train.stages import stage


class EngineGrpoTrainer(VideoGrpoTrainer):
    """See the module's text.

    Logs `sampling/logp_difference_mean` and `_max` (absolute, nats, over the tokens that count of
    all processes) for the first optimizer step of each sampling, and `completions/num_too_long`.

    Args:
        engine: what samples; None: the training model itself.
        logp_alarm: mean difference above which a warning is given; None: never.
        alarm_every_steps: at most one warning in so many steps.
        stop_on_alarm: end the run instead.

    Raises:
        ValueError: in training, if the alarm goes off and `stop_on_alarm` is set.
    """

    def __init__(
        self,
        *args: Any,
        engine: RolloutEngine | None = None,
        logp_alarm: float | None = None,
        alarm_every_steps: int = 10,
        stop_on_alarm: bool = False,
        **kwargs: Any,
    ) -> None:
        self.engine = engine
        self.logp_alarm = logp_alarm
        self.alarm_every_steps = alarm_every_steps
        self.stop_on_alarm = stop_on_alarm
        self._synced_step: int | None = None
        self._too_long: list[bool] = []
        self._sampled_step = -1
        self._warned_step: int | None = None
        self._sampling_log_probs: Tensor | None = None
        self._counted: Tensor | None = None
        self._differences: list[Tensor] = []
        super().__init__(*args, **kwargs)

    # --- sampling -------------------------------------------------------------------------------

    def _sample_groups(
        self, firsts: list[int], prompts: list[PromptInputs], seeds: list[list[int]]
    ) -> list[list[Completion]]:
        if self.engine is None:
            return super()._sample_groups(firsts, prompts, seeds)
        if self._synced_step != self.state.global_step:
            with stage("weights to the rollout engine"):
                self.engine.sync(self.model, self.accelerator)
            self._synced_step = self.state.global_step
        requests = [
            GroupRequest(prompt, self.clips.video(self._rows[first]), tuple(group))
            for first, prompt, group in zip(firsts, prompts, seeds, strict=True)
        ]
        settings = SamplingSettings(
            self.max_completion_length, self.temperature, self.top_k or 0, self.top_p
        )
        with stage("rollouts"):
            found = self.engine.sample(requests, settings, self.accelerator).groups
        self._too_long = [group is None for group in found for _ in seeds[0]]
        ends = self._tokenizer.eos_token_id
        nothing = Completion(token_ids=[ends], text="", finished=False, log_probs=[0.0])
        return [group or [nothing] * len(seeds[0]) for group in found]

    def _generate_single_turn(self, *args: Any, **kwargs: Any) -> Any:
        """As the trainer's; rows that the engine had no room for do not count."""
        self._too_long = []
        result = super()._generate_single_turn(*args, **kwargs)
        if self._too_long:
            pairs = zip(self._dropped, self._too_long, strict=True)
            self._dropped = [dropped or long for dropped, long in pairs]
        return result

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """As the trainer's, with the sampled tokens' log-probs among the tensors."""
        output = super()._generate_and_score_completions(inputs)
        device = self.accelerator.device
        if self.engine is not None:
            num_long = torch.tensor(sum(self._too_long), device=device)
            self._metrics[self._mode]["completions/num_too_long"].append(
                int(self.accelerator.reduce(num_long, "sum"))
            )
        width = output["completion_mask"].shape[1]
        known = torch.full((len(self._sampled), width), math.nan)
        for row, completion in enumerate(self._sampled):
            known[row, : len(completion.log_probs)] = torch.tensor(completion.log_probs)
        output["sampling_log_probs"] = known.to(device)
        if self._mode == "train":
            self._sampled_step = self.state.global_step
            self._differences = []
        return output

    # --- the same log-probs, twice --------------------------------------------------------------

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        """As the trainer's; the first step of a sampling is compared with it."""
        training = self._mode == "train" and self.state.global_step == self._sampled_step
        if not training:
            return super()._compute_loss(model, inputs)
        self._sampling_log_probs = inputs["sampling_log_probs"]
        self._counted = inputs["completion_mask"].bool()
        try:
            return super()._compute_loss(model, inputs)
        finally:
            self._sampling_log_probs = None
            if len(self._differences) == self.args.gradient_accumulation_steps:
                self._report(self._differences)
                self._differences = []

    def _get_per_token_logps_and_entropies(self, model: Any, *args: Any, **kwargs: Any) -> Any:
        result = super()._get_per_token_logps_and_entropies(model, *args, **kwargs)
        if self._sampling_log_probs is not None and model is not self.ref_model:
            assert self._counted is not None
            difference = (result[0].detach().float() - self._sampling_log_probs).abs()
            # Hand-made completions have no log-probs.
            counted = difference[self._counted & ~difference.isnan()]
            largest = counted.max() if len(counted) else counted.sum()
            self._differences.append(
                torch.stack([counted.sum(), torch.tensor(len(counted)).to(largest), largest])
            )
        return result

    def _report(self, differences: list[Tensor]) -> None:
        every = self.accelerator.gather(torch.stack(differences))
        count = float(every[:, 1].sum())
        if not count:
            return
        mean, largest = float(every[:, 0].sum()) / count, float(every[:, 2].max())
        self._metrics["train"]["sampling/logp_difference_mean"].append(mean)
        self._metrics["train"]["sampling/logp_difference_max"].append(largest)
        if self.logp_alarm is None or mean <= self.logp_alarm:
            return
        step = self.state.global_step + 1
        text = (
            f"step {step}: log-probs from sampling and from training differ by {mean:.3g} on "
            f"average (up to {largest:.3g}; rollout.logp_alarm is {self.logp_alarm}): completions "
            "come from another policy than the one that trains. Likely causes: the engine's "
            "precision (rollout.vllm.dtype), weights that were not synced, top_k or top_p with "
            "vLLM (its log-probs are those within the nucleus), another checkpoint's processor"
        )
        if self.stop_on_alarm:
            raise ValueError(text)
        if self._warned_step is None or step - self._warned_step >= self.alarm_every_steps:
            self._warned_step = step
            warn(text)
