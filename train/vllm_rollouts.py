"""Rollouts by vLLM: colocated, an engine beside each training process, or one server for all.

The engine gets decoded frames and the prompt's ids, and tells what it made of them. Ids, grid and
positions are compared with the trainer's at every rollout: log-probs of another prompt than the one
that was sampled from would train on noise without a word.

Example:
    engine = VllmRollouts(processor, model.config, dtype, folder / "vllm_sync", client, process)
    engine.sync(model, accelerator)
"""

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from affect.model.generation import Completion
from affect.model.inputs import banned_token_ids
from affect.model.loading import DTYPES
from affect.model.policy import model_positions
from affect.model.vllm_video import fold_video_tokens
from train.rollouts import GroupRequest, Rollouts, SamplingSettings, together
from train.vllm_client import EngineClient
from train.vllm_process import EngineProcess
from train.vllm_sync import write_weights


class VllmRollouts:
    """See the module's text and `train.rollouts.RolloutEngine`.

    Args:
        end_ids: token ids that end a reply.
        client: the engine of this process, or the one server that all processes share.
        process: the engine's process where it is colocated; None: a server that others started.
    """

    def __init__(
        self,
        processor: Any,
        config: Any,
        end_ids: Sequence[int],
        sync_folder: Path,
        client: EngineClient,
        process: EngineProcess | None,
    ) -> None:
        self.processor, self.config, self.end_ids = processor, config, list(end_ids)
        self.sync_folder, self.client, self.process = sync_folder, client, process
        self.num_syncs = 0
        described = client.describe()
        self.dtype = DTYPES[described["dtype"]]
        self.max_model_tokens = int(described["max_model_tokens"])

    def sync(self, model: Any, accelerator: Any) -> None:
        """Write the weights, let every engine load them, take the files away."""
        name = f"sync_{self.num_syncs:06d}"
        folder = self.sync_folder / name
        self.num_syncs += 1
        is_main = accelerator.is_main_process

        def write() -> None:
            if is_main:
                # What a killed run left there.
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
            write_weights(model, folder, dtype=self.dtype, is_main=is_main)

        def load() -> None:
            if is_main or self.process is not None:
                self.client.load_weights(name)

        try:
            together(accelerator, write)
            together(accelerator, load)
        finally:
            if is_main:
                shutil.rmtree(folder, ignore_errors=True)

    def sample(
        self, requests: Sequence[GroupRequest], settings: SamplingSettings, accelerator: Any
    ) -> Rollouts:
        """See `train.rollouts`.

        Raises:
            ValueError: the engine can't be reached, or saw another prompt than the trainer.
        """
        return together(accelerator, lambda: self.roll_out(requests, settings))

    def roll_out(self, requests: Sequence[GroupRequest], settings: SamplingSettings) -> Rollouts:
        """`sample` for this process alone."""
        longest = self.max_model_tokens - settings.max_new_tokens
        fitting = [one for one in requests if one.prompt.num_tokens <= longest]
        frames = {f"clip_{index}": one.clip.frames for index, one in enumerate(fitting)}
        answers = self.client.rollout(
            {
                "groups": [self._group(index, one) for index, one in enumerate(fitting)],
                "max_new_tokens": settings.max_new_tokens,
                "temperature": settings.temperature,
                "top_k": settings.top_k,
                "top_p": settings.top_p,
                "end_ids": self.end_ids,
                "banned_ids": banned_token_ids(self.processor),
            },
            frames,
        )
        for one, answer in zip(fitting, answers, strict=True):
            self._check_prompt(one, answer)
        found = iter([self._completions(answer["samples"]) for answer in answers])
        return Rollouts(
            [next(found) if one.prompt.num_tokens <= longest else None for one in requests]
        )

    def close(self) -> None:
        """End the colocated engine; a server is left to who started it."""
        if self.process is not None:
            self.process.close()
        # Only if empty: others may use it too, and another process may have removed it already.
        with contextlib.suppress(OSError):
            self.sync_folder.rmdir()

    def _group(self, index: int, request: GroupRequest) -> dict[str, Any]:
        ids = request.prompt.input_ids.tolist()
        return {
            "prompt_ids": fold_video_tokens(ids, self.config.video_token_id),
            "frames": f"clip_{index}",
            "fps": request.clip.effective_fps,
            "duration_seconds": request.clip.duration_seconds,
            "second_per_grid_seconds": request.clip.second_per_grid_seconds,
            "seeds": list(request.seeds),
        }

    def _check_prompt(self, request: GroupRequest, answer: dict[str, Any]) -> None:
        prompt = request.prompt
        ours, theirs = prompt.input_ids.tolist(), answer["prompt_ids"]
        if ours != theirs:
            raise ValueError(
                f"row {prompt.name}: the rollout engine's prompt has {len(theirs)} tokens, the "
                f"trainer's {len(ours)}, and they differ; do both have the same processor files?"
            )
        grid = prompt.video_grid_thw.flatten().tolist()
        if grid != answer["grid_thw"]:
            raise ValueError(
                f"row {prompt.name}: the rollout engine's video grid is {answer['grid_thw']}, the "
                f"trainer's {grid}"
            )
        positions, _ = model_positions(
            self.config,
            prompt.input_ids[None],
            None,
            prompt.video_grid_thw,
            prompt.second_per_grid_ts,
        )
        if not torch.equal(positions[:, 0], torch.tensor(answer["positions"])):
            raise ValueError(
                f"row {prompt.name}: the rollout engine's positions reach "
                f"{answer['next_position']}, the trainer's {int(positions.max()) + 1}, and they "
                "differ; is the engine's model of another version?"
            )

    def _completions(self, samples: Sequence[dict[str, Any]]) -> list[Completion]:
        texts = self.processor.tokenizer.batch_decode(
            [sample["token_ids"] for sample in samples], skip_special_tokens=True
        )
        return [
            Completion(
                token_ids=sample["token_ids"],
                text=text,
                finished=sample["finished"],
                log_probs=sample["log_probs"],
            )
            for sample, text in zip(samples, texts, strict=True)
        ]
