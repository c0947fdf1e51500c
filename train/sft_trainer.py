"""TRL's SFT trainer on rows with a video: collator and loss.

The loss is the mean over an optimizer step's rows of each row's mean token loss, on answer tokens
only. So one batch of four clips, four batches of one with accumulation, four processes with one
each, and the mean of four single losses are the same, and a long answer does not outweigh a short
one. In an epoch's last step, too: what accelerate adds there, so that all processes have full
batches, does not count.

Example: trainer = VideoSftTrainer(model=model, args=args, clips=store, train_dataset=dataset, ...)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from trl import SFTTrainer

from affect.model.inputs import pad_rows
from affect.model.policy import model_positions
from train.bad_clips import ClipReplacer, ReadyRow
from train.clips import ClipStore
from train.repeatable import RepeatableTrainer
from train.stages import note_rows
from train.tower import ClipInputs, ClipTower

IGNORED_LABEL = -100


class VideoSftCollator:
    """Rows to one batch: tokens, labels on the answer, positions and patches of all clips.

    replacer: puts another row in the place of one whose clip can't be read; None stops there.
    """

    def __init__(
        self,
        clips: ClipStore,
        model_config: Any,
        end_token_id: int,
        replacer: ClipReplacer | None = None,
    ) -> None:
        self.clips = clips
        self.config = model_config
        self.end_token_id = end_token_id
        self.replacer = replacer

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        tokenizer = self.clips.processor.tokenizer
        note_rows([str(row["id"]) for row in rows])
        ready = [self._ready(row) for row in rows]
        rows, prompts = [one.row for one in ready], [one.prompt for one in ready]
        answers = [
            torch.tensor(
                [
                    *tokenizer(row["solution"], add_special_tokens=False)["input_ids"],
                    self.end_token_id,
                ]
            )
            for row in rows
        ]
        ids, mask = pad_rows(
            [torch.cat([p.input_ids, a]) for p, a in zip(prompts, answers, strict=True)],
            tokenizer.pad_token_id,
            side="right",
        )
        labels = torch.full_like(ids, IGNORED_LABEL)
        for index, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
            labels[index, prompt.num_tokens : prompt.num_tokens + len(answer)] = answer
        grids = torch.cat([prompt.video_grid_thw for prompt in prompts])
        seconds = [value for prompt in prompts for value in prompt.second_per_grid_ts]
        positions, _ = model_positions(self.config, ids, mask, grids, seconds)
        clips = [ClipInputs.of(prompt) for prompt in prompts]
        video: dict[str, Any] = (
            {"pixel_values_videos": torch.cat([clip.pixels for clip in clips])}
            if self.clips.tower_cache is None
            # Patches, or stored features: the trainer makes all of them features.
            else {"clips": clips}
        )
        return {
            "input_ids": ids,
            "attention_mask": mask,
            "labels": labels,
            "position_ids": positions,
            **video,
            "video_grid_thw": grids,
            "is_replaced": torch.tensor([one.replaces is not None for one in ready]),
        }

    def _ready(self, row: Mapping[str, Any]) -> ReadyRow:
        if self.replacer is None:
            return ReadyRow(dict(row), self.clips.prompt(row))
        return self.replacer.ready(row)


class VideoSftTrainer(RepeatableTrainer, SFTTrainer):  # type: ignore[misc]
    """SFT on videos; the collator brings the positions, so the model never makes its own."""

    loss_is_scaled_for_ga = True  # by `compute_loss`, below

    def __init__(self, *args: Any, clips: ClipStore, **kwargs: Any) -> None:
        self.clips = clips
        super().__init__(*args, **kwargs)
        self.tower = ClipTower(self.accelerator, clips.tower_cache)

    def _get_num_items_in_batch(
        self, batch_samples: list[dict[str, Any]], device: torch.device
    ) -> Tensor:
        """Rows that count in one optimizer step, in all its micro-batches and processes."""
        self._take_labels_from_added_rows(batch_samples)
        counts = torch.zeros(2, dtype=torch.long, device=device)
        for batch in batch_samples:
            counted = _has_labels(batch["labels"])
            counts[0] += counted.sum()
            counts[1] += (counted & batch["is_replaced"]).sum()
        total: Tensor = self.accelerator.reduce(counts, "sum")
        self._metrics["train"]["data/num_replaced"].append(float(total[1]))
        return total[0]

    def _take_labels_from_added_rows(self, batch_samples: list[dict[str, Any]]) -> None:
        """Leave out of the loss what fills an epoch's last step up: rows from the epoch's start.

        accelerate deals the epoch's batches to the processes in turn, so each row's place in the
        epoch is known, and those past the last row were added.
        """
        size, num_processes = self.args.train_batch_size, self.args.world_size
        step = self.state.global_step % self.steps_per_epoch
        first_batch = step * self.args.gradient_accumulation_steps
        for index, batch in enumerate(batch_samples):
            place = (first_batch + index) * num_processes + self.args.process_index
            num_counted = max(0, len(self.train_dataset) - place * size)
            batch["labels"][num_counted:] = IGNORED_LABEL

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, Any],
        return_outputs: bool = False,
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """Mean over rows of the mean negative log-likelihood of their answer tokens (nats).

        In training, this batch's share of the mean over `num_items_in_batch` rows.
        """
        mode = "train" if self.model.training else "eval"
        inputs = {name: value for name, value in inputs.items() if name != "is_replaced"}
        if "clips" in inputs:
            features = self.tower.features(self.model, inputs.pop("clips"))
            inputs["pixel_values_videos"] = torch.cat(features)
        outputs = model(**inputs, use_cache=False, fused_lm_head=True)
        num_tokens = outputs.label_mask.sum(dim=1)
        row_losses = -outputs.log_probs.sum(dim=1) / num_tokens.clamp(min=1)
        if num_items_in_batch is None:
            loss = row_losses.mean()
        else:  # Gradients are averaged over processes afterwards.
            loss = row_losses.sum() * self.accelerator.num_processes / num_items_in_batch
        counted = inputs["attention_mask"] * _has_labels(inputs["labels"])[:, None]
        self._log_token_metrics(mode, outputs, counted)
        return (loss, outputs) if return_outputs else loss

    def _log_token_metrics(self, mode: str, outputs: Any, attention_mask: Tensor) -> None:
        sums = torch.stack(
            [
                outputs.label_mask.sum().float(),
                outputs.entropy.detach().sum().float(),
                outputs.is_top1.sum().float(),
                attention_mask.sum().float(),
            ]
        )
        num_answer, entropy, correct, num_all = self.accelerator.reduce(sums, "sum").tolist()
        self._metrics[mode]["entropy"].append(entropy / max(num_answer, 1))
        self._metrics[mode]["mean_token_accuracy"].append(correct / max(num_answer, 1))
        if mode == "train":
            # In the state, as TRL's GRPO does, so that a resumed run counts on.
            self.state.num_input_tokens_seen += int(num_all)
        self._metrics[mode]["num_tokens"] = [self.state.num_input_tokens_seen]


def _has_labels(labels: Tensor) -> Tensor:
    """(B,) whether a row of the batch counts."""
    return (labels != IGNORED_LABEL).any(dim=1)
