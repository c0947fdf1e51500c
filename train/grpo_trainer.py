"""GRPO on videos: a subclass of TRL 1.16.0's trainer.

What it changes, and nothing else: prompts get their clip (`_tokenize_prompts`), replies are sampled
with a seed of their own each (`_generate_single_turn`), rows come in an order that a resumed run
has too (`_get_train_sampler`) and group by group (`_prepare_inputs`), every log-prob pass sees the
same tower features at the same positions, each prompt once for its group
(`_get_per_token_logps_and_entropies`), and completions that must not count are left out
of rewards, advantages and loss. Rewards, advantages and the loss itself are TRL's. The methods
overridden are private; a test compares their signatures with the pinned release.

Letters: B prompts of a batch, G completions of a prompt, P prompt tokens, C completion tokens.

Example: trainer = VideoGrpoTrainer(model=model, clips=store, truncated="keep", args=args, ...)
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from trl import GRPOTrainer
from trl.models import unwrap_model_for_generation

from affect.model.generation import Completion, generate
from affect.model.inputs import PromptInputs, banned_token_ids
from affect.model.policy import ClipFeatures, causal_model, install_policy
from train.bad_clips import ClipReplacer
from train.clips import ClipStore
from train.completion_log import CompletionLog
from train.completion_seed import completion_seed, seed_id
from train.group_metrics import group_spread
from train.group_order import whole_groups
from train.grpo_settings import check_batch_layout, check_num_rows, check_sampling
from train.log_probs import LogProbPass, ScoredPrompt, shared_log_probs
from train.narrow_head import install_narrow_head
from train.repeat_sampler import EpochRepeatSampler
from train.repeatable import RepeatableTrainer
from train.stages import in_stage, note_rows, stage
from train.tower import ClipInputs, ClipTower

# Losses that average over sequences; bnpo averages over micro-batches, and the others already
# divide by the tokens that are kept.
_PER_SEQUENCE_LOSSES = ("grpo", "sapo", "dr_grpo", "luspo")


class VideoGrpoTrainer(RepeatableTrainer, GRPOTrainer):  # type: ignore[misc]
    """See the module's text.

    Args:
        clips: where a row's prompt and clip come from.
        truncated: "keep", "drop" or "trl", see `RolloutSection.truncated`.
        completion_log: receives each step's completions, or None.
        log_prob_pass: how log-probs are computed, `train.log_probs.log_prob_pass(...)`.
        replacer: puts another row in the place of one whose clip can't be read, in all of its
            group; None stops there, and so does an evaluation.

    Raises:
        ValueError: batch settings under which a group would be split over processes or steps, and
            settings that would have no effect.
    """

    _buffered_inputs: Any  # the micro-batches of a sampling, TRL's

    def __init__(
        self,
        *args: Any,
        clips: ClipStore,
        truncated: str = "keep",
        completion_log: CompletionLog | None = None,
        log_prob_pass: LogProbPass = shared_log_probs,
        replacer: ClipReplacer | None = None,
        **kwargs: Any,
    ) -> None:
        self.clips = clips
        self.truncated = truncated
        self.completion_log = completion_log
        self.replacer = replacer
        self._read_prompts: dict[str, PromptInputs] = {}
        check_batch_layout(kwargs["args"])
        check_num_rows(kwargs["args"], len(kwargs["train_dataset"]))
        check_sampling(kwargs["args"], truncated)
        super().__init__(*args, **kwargs)
        head: dict[str, Any] = {
            "temperature": self.temperature,
            "cast_lm_head_to_fp32": self.args.cast_lm_head_to_fp32,
        }
        install_narrow_head(causal_model(self.model), outputs=("log_probs", "entropy"), **head)
        if self.ref_model is not None:
            install_policy(self.ref_model)
            install_narrow_head(causal_model(self.ref_model), **head)
        self._log_prob_pass = log_prob_pass
        self._rows: list[dict[str, Any]] = []
        self._prompts: list[PromptInputs] = []
        # By mode: an evaluation within a sampling's cycle must not touch the training rows' clips.
        self._scored_prompts: dict[str, list[ScoredPrompt]] = {"train": [], "eval": []}
        self._prompt_of_row: list[int] = []
        # Which of the scored prompts each row of the next log-prob pass belongs to.
        self._active_prompts: Tensor | None = None
        self._sampled: list[Completion] = []
        self._dropped: list[bool] = []
        self._rewards_per_func: Tensor | None = None
        self.tower = ClipTower(self.accelerator, clips.tower_cache)

    # --- rows -----------------------------------------------------------------------------------

    def _get_train_sampler(self, dataset: Any = None) -> EpochRepeatSampler:
        """TRL's sampler, which also knows the order of a later epoch."""
        sampler = super()._get_train_sampler(dataset)
        # Neither adds state, so the class can be changed in place.
        sampler.__class__ = EpochRepeatSampler
        return sampler

    # --- from rows to prompts -------------------------------------------------------------------

    @in_stage("sampling")
    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """TRL's step on one generation batch, with the rows kept for the parts that need them."""
        # A copy: reward columns are added below, and the data set's own rows stay as they are.
        self._rows = self._read_rows(inputs)
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
        output["prompt_index"] = torch.tensor(self._prompt_of_row, device=device)
        output["group_index"] = torch.arange(len(inputs), device=device) // self._group_size
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

    def _read_rows(self, inputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Copies of the rows; a group whose clip can't be read becomes another row's as a whole."""
        note_rows([row["id"] for row in inputs])
        self._read_prompts = {}
        if self.replacer is None or self._mode == "eval":
            return [dict(row) for row in inputs]
        distinct = {row["id"]: row for row in inputs}
        read = {row_id: self.replacer.ready(row) for row_id, row in distinct.items()}
        self._read_prompts = {one.row["id"]: one.prompt for one in read.values()}
        rows = [read[row["id"]] for row in inputs]
        return [{**one.row, "replaces": one.replaces} for one in rows]

    def _tokenize_prompts(self, prompts: list[Any]) -> tuple[list[list[int]], None, dict[str, Any]]:
        """Prompt token ids per row, their clips laid in; runs the tower once per distinct clip."""
        prompts_by_id: dict[str, PromptInputs] = {}
        clips: dict[str, ClipInputs] = {}
        video_of: dict[str, str] = {}
        for row in self._rows:
            if row["id"] in prompts_by_id:
                continue
            prompt = self._read_prompts.get(row["id"]) or self.clips.prompt(row)
            prompts_by_id[row["id"]] = prompt
            video_of[row["id"]] = row["video"]
            clips.setdefault(row["video"], ClipInputs.of(prompt))
        features = dict(zip(clips, self._run_tower(list(clips.values())), strict=True))
        config = causal_model(self.model).config
        device = self.accelerator.device
        self._scored_prompts[self._mode] = [
            ScoredPrompt.of(config, prompt, features[video_of[row_id]], device)
            for row_id, prompt in prompts_by_id.items()
        ]
        place = {row_id: index for index, row_id in enumerate(prompts_by_id)}
        self._prompt_of_row = [place[row["id"]] for row in self._rows]
        self._active_prompts = torch.tensor(self._prompt_of_row)
        self._prompts = [prompts_by_id[row["id"]] for row in self._rows]
        return [prompt.input_ids.tolist() for prompt in self._prompts], None, {}

    @in_stage("tower")
    def _run_tower(self, clips: list[ClipInputs]) -> list[ClipFeatures]:
        """Frozen-tower features of the batch's distinct clips, each computed or read once."""
        device = self.accelerator.device
        return [
            ClipFeatures(features, clip.grid_thw.to(device), clip.second_per_grid)
            for clip, features in zip(clips, self.tower.features(self.model, clips), strict=True)
        ]

    @property
    def num_tower_runs(self) -> int:
        """How many clips went through the tower on this process so far."""
        return self.tower.num_runs

    # --- sampling -------------------------------------------------------------------------------

    @in_stage("rollout")
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
                    self.args.seed, self.state.global_step, seed_id(self._rows[first]), sample
                )
                for sample in range(size)
            ]
            for first in firsts
        ]
        groups = self._sample_groups(firsts, prompts, seeds)
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

    def _sample_groups(
        self, firsts: list[int], prompts: list[PromptInputs], seeds: list[list[int]]
    ) -> list[list[Completion]]:
        """A group of completions per prompt, one per seed; `firsts` are the groups' first rows."""
        scored = self._scored_prompts[self._mode]
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
            return generate(
                unwrapped,
                self.processing_class,
                prompts,
                num_samples=len(seeds[0]),
                max_new_tokens=self.max_completion_length,
                temperature=self.temperature,
                top_k=self.top_k or 0,
                top_p=self.top_p,
                seeds=seeds,
                features=[scored[self._prompt_of_row[first]].features for first in firsts],
            )

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
        """(B*G, C) log-probs of the completions, and their entropies, given prompts and clips.

        `self._active_prompts` says which prompt each row of `input_ids` belongs to; the prompts'
        own padded tokens in `input_ids` are not read.
        """
        assert self._active_prompts is not None and len(self._active_prompts) == len(input_ids)
        batch_size = batch_size or len(input_ids)
        if not torch.is_grad_enabled():
            # No activations are kept, so a group need not be split as in the policy's pass.
            batch_size = max(batch_size, self._group_size)
        prompts = self._scored_prompts[self._mode]
        completion_ids = input_ids[:, -logits_to_keep:]
        completion_mask = attention_mask[:, -logits_to_keep:]
        all_log_probs: list[Tensor] = []
        all_entropies: list[Tensor] = []
        for start in range(0, len(input_ids), batch_size):
            rows = slice(start, start + batch_size)
            with stage(self._pass_name(model)), self.accelerator.autocast():
                log_probs, entropies = self._log_prob_pass(
                    model,
                    prompts,
                    self._active_prompts[rows],
                    completion_ids[rows],
                    completion_mask[rows],
                )
            all_log_probs.append(log_probs)
            if compute_entropy:
                assert entropies is not None
                all_entropies.append(entropies)
        return (
            torch.cat(all_log_probs),
            torch.cat(all_entropies) if compute_entropy else None,
            None,
        )

    def _pass_name(self, model: Any) -> str:
        if torch.is_grad_enabled():
            return "policy log-probs"
        return "reference log-probs" if model is self.ref_model else "old log-probs"

    # --- rewards --------------------------------------------------------------------------------

    @in_stage("rewards")
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
        groups = [self._rows[first] for first in self._group_starts()]
        replaced = torch.tensor([bool(row.get("replaces")) for row in groups], device=kept.device)
        counts = torch.stack([(~kept).sum(), cut.sum(), replaced.sum()])
        num_dropped, num_truncated, num_replaced = self.accelerator.reduce(counts, "sum").tolist()
        self._metrics[self._mode]["data/num_replaced"].append(num_replaced)
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
            self._buffered_inputs = whole_groups(self._buffered_inputs)
            inputs = self._buffered_inputs[self._step % self.args.steps_per_generation]
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
        self._active_prompts = inputs["prompt_index"]
        loss: Tensor = super()._compute_loss(model, inputs)
        return loss * inputs["kept_scale"]
