"""GRPO on videos: a subclass of TRL 1.16.0's trainer.

What it changes, and nothing else: prompts get their clip (`_tokenize_prompts`), replies are sampled
with a seed of their own each (`_generate_single_turn`), rows come in an order that a resumed run
has too (`_get_train_sampler`), every log-prob pass sees the same tower features at the same
positions (`_get_per_token_logps_and_entropies`), and completions that must not count are left out
of rewards, advantages and loss. Rewards, advantages and the loss itself are TRL's. The methods
overridden are private; a test compares their signatures with the pinned release.

Letters: B prompts of a batch, G completions of a prompt, P prompt tokens, C completion tokens.

Example: trainer = VideoGrpoTrainer(model=model, clips=store, truncated="keep", args=args, ...)
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation

from affect.model.generation import Completion, generate
from affect.model.inputs import PromptInputs, banned_token_ids
from affect.model.policy import (
    ClipFeatures,
    causal_model,
    install_policy,
    model_positions,
    run_tower,
)
from train.clips import ClipStore
from train.completion_log import CompletionLog
from train.group_metrics import group_spread
from train.grpo_settings import check_batch_layout, check_num_rows, check_sampling
from train.repeat_sampler import EpochRepeatSampler
from train.repeatable import RepeatableTrainer

# Losses that average over sequences; bnpo averages over micro-batches, and the others already
# divide by the tokens that are kept.
_PER_SEQUENCE_LOSSES = ("grpo", "sapo", "dr_grpo", "luspo")


class VideoGrpoTrainer(RepeatableTrainer, GRPOTrainer):  # type: ignore[misc]
    """See the module's text.

    Args:
        clips: where a row's prompt and clip come from.
        truncated: "keep", "drop" or "trl", see `RolloutSection.truncated`.
        completion_log: receives each step's completions, or None.

    Raises:
        ValueError: batch settings under which a group would be split over processes or steps, and
            settings that would have no effect.
    """

    def __init__(
        self,
        *args: Any,
        clips: ClipStore,
        truncated: str = "keep",
        completion_log: CompletionLog | None = None,
        **kwargs: Any,
    ) -> None:
        self.clips = clips
        self.truncated = truncated
        self.completion_log = completion_log
        check_batch_layout(kwargs["args"])
        check_num_rows(kwargs["args"], len(kwargs["train_dataset"]))
        check_sampling(kwargs["args"], truncated)
        super().__init__(*args, **kwargs)
        if self.ref_model is not None:
            install_policy(self.ref_model)
        self._rows: list[dict[str, Any]] = []
        self._prompts: list[PromptInputs] = []
        self._clip_of_row: list[int] = []
        # By mode: an evaluation within a sampling's cycle must not touch the training rows' clips.
        self._clip_features: dict[str, list[ClipFeatures]] = {"train": [], "eval": []}
        self._active_clips: Tensor | None = None
        self._sampled: list[Completion] = []
        self._dropped: list[bool] = []
        self._rewards_per_func: Tensor | None = None
        self.num_tower_runs = 0

    # --- rows -----------------------------------------------------------------------------------

    def _get_train_sampler(self, dataset: Any = None) -> EpochRepeatSampler:
        """TRL's sampler, which also knows the order of a later epoch."""
        sampler = super()._get_train_sampler(dataset)
        # Neither adds state, so the class can be changed in place.
        sampler.__class__ = EpochRepeatSampler
        return sampler

    # --- from rows to prompts -------------------------------------------------------------------

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """TRL's step on one generation batch, with the rows kept for the parts that need them."""
        # A copy: reward columns are added below, and the data set's own rows stay as they are.
        self._rows = [dict(row) for row in inputs]
        self._active_clips = torch.arange(len(inputs))
        output: dict[str, Any] = super()._generate_and_score_completions(self._rows)
        device = self.accelerator.device
        kept = torch.tensor([not dropped for dropped in self._dropped], device=device)
        output["completion_mask"] = output["completion_mask"] * kept[:, None].long()
        for name in ("old_per_token_logps", "ref_per_token_logps"):
            if name in output:  # else a ratio against the masked row's 0 could overflow to inf * 0
                output[name] = output[name] * kept[:, None]
        output["num_items_in_batch"] = self.accelerator.gather(
            output["completion_mask"].sum()
        ).sum()
        output["kept"] = kept
        output["clip_index"] = torch.tensor(self._clip_of_row, device=device)
        self._log_drops(kept)
        if self.completion_log is not None and self._mode == "train":
            self.completion_log.write(
                self.accelerator,
                step=self.state.global_step + 1,
                rows=self._rows,
                completions=self._sampled,
                dropped=self._dropped,
                term_names=self.reward_func_names,
                terms=self._local(self._rewards_per_func),
                weights=self.reward_weights.tolist(),
                advantages=output["advantages"].tolist(),
            )
        return output

    def _tokenize_prompts(self, prompts: list[Any]) -> tuple[list[list[int]], None, dict[str, Any]]:
        """Prompt token ids per row, their clips laid in; runs the tower once per distinct clip."""
        by_id: dict[str, PromptInputs] = {}
        clip_index: dict[str, int] = {}
        patches: list[Tensor] = []
        grids: list[Tensor] = []
        seconds: list[float] = []
        for row in self._rows:
            if row["id"] in by_id:
                continue
            prompt = self.clips.prompt(row)
            by_id[row["id"]] = prompt
            if row["video"] not in clip_index:
                assert prompt.pixel_values_videos is not None
                clip_index[row["video"]] = len(clip_index)
                patches.append(prompt.pixel_values_videos)
                grids.append(prompt.video_grid_thw)
                seconds.extend(prompt.second_per_grid_ts)
        self._prompts = [by_id[row["id"]] for row in self._rows]
        self._clip_of_row = [clip_index[row["video"]] for row in self._rows]
        self._clip_features[self._mode] = self._run_tower(patches, grids, seconds)
        self._active_clips = torch.tensor(self._clip_of_row)
        return [prompt.input_ids.tolist() for prompt in self._prompts], None, {}

    def _run_tower(
        self, patches: list[Tensor], grids: list[Tensor], seconds: list[float]
    ) -> list[ClipFeatures]:
        """Frozen-tower features of the batch's distinct clips, in one call.

        One call whatever the number of clips: with sharded weights every process must enter the
        tower equally often.
        """
        device = self.accelerator.device
        all_grids = torch.cat(grids).to(device)
        visual = causal_model(self.model).model.visual
        with self.accelerator.autocast():
            features = run_tower(visual, torch.cat(patches).to(device), all_grids)
        self.num_tower_runs += len(patches)
        split = torch.split(features, [len(clip) for clip in patches])
        return [
            ClipFeatures(clip, grid[None], second)
            for clip, grid, second in zip(split, all_grids, seconds, strict=True)
        ]

    # --- sampling -------------------------------------------------------------------------------

    def _generate_single_turn(
        self,
        prompt_ids: list[list[int]],
        images: Any,
        multimodal_fields: dict[str, Any],
        num_generations: int,
        has_tool_images: bool = False,
    ) -> tuple[list[list[int]], None]:
        """Sample every row's completion; the G rows of a group share one pass over the prompt."""
        firsts = self._group_starts()
        size = len(self._rows) // len(firsts)
        prompts = [self._prompts[first] for first in firsts]
        seeds = [
            [
                completion_seed(
                    self.args.seed, self.state.global_step, self._rows[first]["id"], sample
                )
                for sample in range(size)
            ]
            for first in firsts
        ]
        clips = [self._clip_features[self._mode][self._clip_of_row[first]] for first in firsts]
        with (
            unwrap_model_for_generation(
                self.model_wrapped,
                self.accelerator,
                gather_deepspeed3_params=self.args.ds3_gather_for_generation,
                gradient_checkpointing_kwargs=self.args.gradient_checkpointing_kwargs,
            ) as unwrapped,
            self._dist.summon_full_params(self.model_wrapped, recurse=False),
            self.accelerator.autocast(),
        ):
            groups = generate(
                unwrapped,
                self.processing_class,
                prompts,
                num_samples=size,
                max_new_tokens=self.max_completion_length,
                temperature=self.temperature,
                top_k=self.top_k or 0,
                top_p=self.top_p,
                seeds=seeds,
                features=[clip.features for clip in clips],
            )
        self._sampled = [completion for group in groups for completion in group]
        banned = set(banned_token_ids(self.processing_class))
        pad_id = self._tokenizer.pad_token_id
        self._dropped = []
        completion_ids: list[list[int]] = []
        for completion in self._sampled:
            unreadable = not banned.isdisjoint(completion.token_ids)
            cut_off = self.truncated == "drop" and not completion.finished
            self._dropped.append(unreadable or cut_off)
            # A vision token would be taken for a picture by the forward; the row does not count.
            completion_ids.append([pad_id if t in banned else t for t in completion.token_ids])
        return completion_ids, None

    def _group_starts(self) -> list[int]:
        """Index of the first row of each group; rows of a group stand together."""
        ids = [row["id"] for row in self._rows]
        size = self._group_size
        starts = list(range(0, len(ids), size))
        if len(ids) % size or any(len(set(ids[s : s + size])) != 1 for s in starts):
            raise ValueError(
                f"a process got {len(ids)} rows that are not whole groups of {size}; make "
                "per_device_train_batch_size (or per_device_eval_batch_size) a multiple of it"
            )
        return starts

    # --- log-probs ------------------------------------------------------------------------------

    def _get_per_token_logps_and_entropies(
        self,
        model: Any,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        compute_aux_loss: bool = False,
        **other_modalities: Any,
    ) -> tuple[Tensor, Tensor | None, None]:
        """(B*G, C) log-probs of the completions, and their entropies, given the rows' clips.

        `self._active_clips` says which clip each row of `input_ids` belongs to.
        """
        assert self._active_clips is not None and len(self._active_clips) == len(input_ids)
        batch_size = batch_size or len(input_ids)
        config = causal_model(self.model).config
        features = self._clip_features[self._mode]
        all_log_probs: list[Tensor] = []
        all_entropies: list[Tensor] = []
        for start in range(0, len(input_ids), batch_size):
            rows = slice(start, start + batch_size)
            ids, mask = input_ids[rows], attention_mask[rows]
            clips = [features[index] for index in self._active_clips[rows].tolist()]
            grids = torch.cat([clip.grid_thw for clip in clips])
            # Positions follow the tokens that are there: a masked completion keeps its own.
            present = mask.clone()
            present[:, -logits_to_keep:] = 1
            positions, _ = model_positions(
                config, ids, present, grids, [clip.second_per_grid for clip in clips]
            )
            labels = ids.masked_fill(mask == 0, -100)
            labels[:, :-logits_to_keep] = -100
            with self.accelerator.autocast():
                outputs = model(
                    input_ids=ids,
                    attention_mask=mask,
                    position_ids=positions,
                    pixel_values_videos=torch.cat([clip.features for clip in clips]),
                    video_grid_thw=grids,
                    labels=labels,
                    fused_lm_head=True,
                )
            all_log_probs.append(outputs.log_probs[:, -logits_to_keep:])
            if compute_entropy:
                all_entropies.append(outputs.entropy[:, -logits_to_keep:])
        entropies = torch.cat(all_entropies) if compute_entropy else None
        return torch.cat(all_log_probs), entropies, None

    # --- rewards --------------------------------------------------------------------------------

    def _calculate_rewards(
        self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any
    ) -> Tensor:
        """TRL's rewards (all processes' rows), with dropped completions named to the terms."""
        for row, dropped in zip(inputs, self._dropped, strict=True):
            row["dropped"] = dropped
        rewards: Tensor = super()._calculate_rewards(
            inputs, prompts, completions, completion_ids_list
        )
        self._rewards_per_func = rewards
        weights = self.reward_weights.to(rewards.device)
        spreads = group_spread(rewards, weights, self._group_size)
        for name, value in zip([*self.reward_func_names, "total"], spreads, strict=True):
            self._metrics[self._mode][f"rewards/{name}/within_group_std"].append(value)
        return rewards

    def _local(self, gathered: Tensor | None) -> list[list[float]]:
        assert gathered is not None
        first = self.accelerator.process_index * len(self._rows)
        return [list(values) for values in gathered[first : first + len(self._rows)].tolist()]

    def _log_drops(self, kept: Tensor) -> None:
        cut = torch.tensor([not c.finished for c in self._sampled], device=kept.device)
        counts = torch.stack([(~kept).sum(), cut.sum()])
        num_dropped, num_truncated = self.accelerator.reduce(counts, "sum").tolist()
        self._metrics[self._mode]["completions/num_dropped"].append(num_dropped)
        self._metrics[self._mode]["completions/num_truncated"].append(num_truncated)

    @property
    def _mode(self) -> str:
        return "train" if self.model.training else "eval"

    @property
    def _group_size(self) -> int:
        size: int = self.num_generations if self._mode == "train" else self.num_generations_eval
        return size

    # --- loss -----------------------------------------------------------------------------------

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
        """TRL's micro-batch; after sampling, the weight that takes dropped rows out of the mean."""
        before = self._buffered_inputs
        inputs: dict[str, Any] = super()._prepare_inputs(generation_batch)
        if not self.model.training:
            inputs["kept_scale"] = self._kept_scale([inputs])
        elif self._buffered_inputs is not before:
            window = self.args.gradient_accumulation_steps
            for start in range(0, len(self._buffered_inputs), window):
                batches = self._buffered_inputs[start : start + window]
                scale = self._kept_scale(batches)
                for batch in batches:
                    batch["kept_scale"] = scale
        return inputs

    def _kept_scale(self, batches: Sequence[dict[str, Any]]) -> Tensor:
        """What turns TRL's mean over all of one optimizer step into one over what counts.

        All rows over those that count; for bnpo, whose parts are means already, all micro-batches
        over those that hold a row that counts; 1 for the losses that divide by kept tokens.
        """
        device = self.accelerator.device
        kept = [batch["kept"] for batch in batches]
        if self.loss_type in _PER_SEQUENCE_LOSSES:
            counts = [sum(len(rows) for rows in kept), sum(int(rows.sum()) for rows in kept)]
        elif self.loss_type == "bnpo":
            counts = [len(kept), sum(bool(rows.any()) for rows in kept)]
        else:
            return torch.ones((), device=device)
        counted = torch.tensor(counts, device=device)
        num_all, num_kept = self.accelerator.reduce(counted, "sum").tolist()
        return torch.tensor(num_all / max(num_kept, 1), device=device)

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Tensor:
        """TRL's loss on one micro-batch, for the rows that count."""
        self._active_clips = inputs["clip_index"]
        loss: Tensor = super()._compute_loss(model, inputs)
        return loss * inputs["kept_scale"]


def completion_seed(seed: int, step: int, row_id: str, sample: int) -> int:
    """The seed of one completion, in [0, 2**63): the same however rows are spread over processes.

    Args:
        step: optimizer steps done before this sampling. sample: place within the group, from 0.
    """
    key = f"{seed}/{step}/{row_id}/{sample}".encode()
    return int.from_bytes(hashlib.sha256(key).digest()[:8], "big") >> 1
