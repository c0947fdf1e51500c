"""Answers from a checkpoint on this machine, through vLLM's offline engine.

The same clips under the same frame budget and the same prompts as `predictors.local`, many times
faster on a GPU. It runs where vLLM is installed (`make vllm` for the CPU build), in this process:

    .venv-vllm/bin/python -m evaluation.predict --engine vllm --run runs/demo/grpo \\
        --rows data/rendered/test.sft.jsonl --name test

What the engine made of each prompt (ids, grid, positions) is compared with what the model was
trained on, and another prompt stops the command. An adapter is merged into its base first.

Example:
    model = VllmModel(folder, budget, "segment", Sampling(400), video_root, GuardedReader(120.0))
    for answers in model.answer(rows): ...
"""

import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affect.adapter_config import is_adapter
from affect.model.generation import declared_end_ids
from affect.model.inputs import banned_token_ids, prompt_text
from affect.model.loading import DTYPES, load_processor, read_model_config
from affect.model.merged_folder import MergedFolder
from affect.model.vllm_video import (
    BANNED_BIAS,
    engine_input,
    prepare_environment,
    seen_prompt,
    video_llm,
)
from affect.records import Row
from affect.video import FrameBudget, GuardedReader, SampledVideo
from evaluation.predictions import Answer
from evaluation.predictors.row_clip import row_messages, sample_row
from evaluation.predictors.vllm_prompt import check_seen, num_video_tokens, video_grid
from evaluation.settings import Sampling, row_seed

NUM_READERS = min(4, os.cpu_count() or 1)
"""Clips that are decoded at once, while the engine works on those before."""


@dataclass(frozen=True, slots=True)
class _Clip:
    """A row that is ready to be asked."""

    video: SampledVideo
    prompt_ids: list[int]
    """With one video token."""


class VllmModel:
    """An engine with a checkpoint that answers rows, `batch_size` of them at once.

    Args:
        folder: a whole model, or an adapter, which is merged in `dtype` in a temporary folder.
        dtype: "float32", "bfloat16" or "float16". base: an adapter's base model, if no longer
            where the adapter says. max_model_tokens: longest prompt with its reply; a longer row
            is a row with an error. memory_share: of the device's memory, in (0, 1].
        num_gpus: over which the weights are split (tensor parallel).
        batch_size: rows in the engine at once. A batch ends before the next begins, so that the
            same command has the same batches: what shares a batch may turn two equally good tokens.
        eager: no compilation and no CUDA graphs: slower steps, a start in seconds.

    Raises:
        ValueError: no vLLM here, a folder that holds no such model, or settings out of range.
    """

    def __init__(
        self,
        folder: Path,
        budget: FrameBudget,
        prompt: str,
        sampling: Sampling,
        video_root: Path,
        reader: GuardedReader,
        *,
        dtype: str = "bfloat16",
        base: Path | None = None,
        max_model_tokens: int = 8192,
        memory_share: float = 0.9,
        num_gpus: int = 1,
        batch_size: int = 64,
        eager: bool = False,
    ) -> None:
        _check_settings(sampling, dtype, max_model_tokens, memory_share, num_gpus, batch_size)
        require_vllm()
        self.budget, self.prompt, self.sampling = budget, prompt, sampling
        self.video_root, self.reader = video_root, reader
        self.max_model_tokens, self.batch_size = max_model_tokens, batch_size
        prepare_environment(eager)
        merged = None
        if is_adapter(folder):
            merged = MergedFolder(folder, dtype=dtype, base=base)
            folder = merged.path
        elif base is not None:
            raise ValueError(f"{folder}: is a whole model; --base goes with an adapter only")
        self.config = read_model_config(folder)
        self.processor = load_processor(folder)
        self.end_ids = declared_end_ids(folder, self.config, self.processor)
        self.llm = video_llm(
            str(folder),
            dtype=dtype,
            max_model_tokens=max_model_tokens,
            memory_share=memory_share,
            eager=eager,
            num_gpus=num_gpus,
            seed=0,  # each request has its own
        )
        if merged is not None:
            merged.drop_weights()
            self._merged = merged  # its processor files may still be asked for

    def answer(self, rows: Sequence[Row]) -> Iterator[Mapping[str, Answer]]:
        """The rows that a step of the engine finished, batch after batch.

        A clip that can't be used, or whose prompt leaves no room for a reply, is a row's error.
        Raises ValueError where the engine sees another prompt than the model was trained on.
        """
        batches = [
            rows[first : first + self.batch_size] for first in range(0, len(rows), self.batch_size)
        ]
        readers = ThreadPoolExecutor(NUM_READERS)
        try:
            ahead = self._read_ahead(readers, batches[0] if batches else [])
            for number, batch in enumerate(batches, 1):
                clips = {
                    row.id: self._ask_with(row, future.result())
                    for row, future in zip(batch, ahead, strict=True)
                }
                ahead = self._read_ahead(readers, batches[number] if number < len(batches) else [])
                yield from self._answer_batch(batch, clips)
        finally:
            readers.shutdown(wait=False, cancel_futures=True)

    def _read_ahead(
        self, readers: ThreadPoolExecutor, batch: Sequence[Row]
    ) -> "list[Future[SampledVideo | Answer]]":
        return [readers.submit(self._read, row) for row in batch]

    def _read(self, row: Row) -> SampledVideo | Answer:
        """The clip; an answer with the error where it can't be used. Runs in a reader's thread."""
        try:
            return sample_row(row, self.video_root, self.budget, self.reader)
        except (ValueError, OSError) as error:
            return _failed(error)

    def _ask_with(self, row: Row, video: SampledVideo | Answer) -> _Clip | Answer:
        """The clip with its prompt. Not in a thread: a tokenizer must not be shared by several."""
        if isinstance(video, Answer):
            return video
        try:
            messages = row_messages(row, self.prompt, video.duration_seconds)
            text = prompt_text(self.processor, messages, 1, name=row.id)
        except ValueError as error:
            return _failed(error)
        ids = self.processor.tokenizer(text, add_special_tokens=False)["input_ids"]
        grid = video_grid(self.processor, video)
        num_tokens = len(ids) - 1 + num_video_tokens(self.processor, grid)
        longest = self.max_model_tokens - self.sampling.max_new_tokens
        if num_tokens > longest:
            return Answer(
                text=None,
                error=f"the prompt has {num_tokens} tokens, and with {self.max_model_tokens} for "
                f"prompt and reply at most {longest} leave room for a reply of "
                f"{self.sampling.max_new_tokens}; raise --max-model-tokens",
            )
        return _Clip(video, list(ids))

    def _answer_batch(
        self, batch: Sequence[Row], clips: Mapping[str, _Clip | Answer]
    ) -> Iterator[Mapping[str, Answer]]:
        engine = self.llm.llm_engine
        waiting: set[str] = set()
        try:
            refused: dict[str, Answer] = {}
            for row in batch:
                clip = clips[row.id]
                if isinstance(clip, Answer):
                    refused[row.id] = clip
                    continue
                engine.add_request(row.id, self._request(row, clip), self._sampling_params(row))
                waiting.add(row.id)
            if refused:
                yield refused
            while waiting:
                finished = [output for output in engine.step() if output.finished]
                waiting -= {output.request_id for output in finished}
                if finished:
                    yield {output.request_id: self._answer(output) for output in finished}
        finally:
            if waiting:  # stopped, or an error: nothing may run on
                engine.abort_request(list(waiting))

    def _request(self, row: Row, clip: _Clip) -> Any:
        video = clip.video
        request = engine_input(
            self.llm,
            clip.prompt_ids,
            video.frames,
            fps=video.effective_fps,
            duration_seconds=video.duration_seconds,
            second_per_grid_seconds=video.second_per_grid_seconds,
        )
        seen = seen_prompt(self.llm, request)
        check_seen(row.id, seen, clip.prompt_ids, video, self.config, self.processor)
        return request

    def _sampling_params(self, row: Row) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        return SamplingParams(
            temperature=self.sampling.temperature,
            top_k=self.sampling.top_k,
            top_p=self.sampling.top_p,
            seed=row_seed(self.sampling.seed, row.id),
            max_tokens=self.sampling.max_new_tokens,
            stop_token_ids=self.end_ids,
            logit_bias=dict.fromkeys(banned_token_ids(self.processor), BANNED_BIAS),
            detokenize=False,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _answer(self, output: Any) -> Answer:
        reply = output.outputs[0]
        assert reply.finish_reason in ("stop", "length"), reply.finish_reason
        ids = list(reply.token_ids)
        return Answer(
            text=self.processor.tokenizer.decode(ids, skip_special_tokens=True),
            num_tokens=len(ids),
            finished=reply.finish_reason == "stop",
        )


def _failed(error: Exception) -> Answer:
    return Answer(text=None, error=f"{type(error).__name__}: {error}")


def require_vllm() -> None:
    """Raises ValueError saying how to get vLLM, where this Python has none."""
    if importlib.util.find_spec("vllm") is None:
        raise ValueError(
            "this Python has no vLLM. For a CPU, `make vllm` puts it into .venv-vllm, and the "
            "command starts with .venv-vllm/bin/python; for a GPU, install vllm for your CUDA into "
            "such an environment (requirements-vllm.txt names the version this was tested with). "
            "--engine transformers needs none"
        )


def _check_settings(
    sampling: Sampling,
    dtype: str,
    max_model_tokens: int,
    memory_share: float,
    num_gpus: int,
    batch_size: int,
) -> None:
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}; choose one of {', '.join(DTYPES)}")
    if batch_size < 1:
        raise ValueError(f"--batch-size must be 1 or more, not {batch_size}")
    if num_gpus < 1:
        raise ValueError(f"--num-gpus must be 1 or more, not {num_gpus}")
    if not 0 < memory_share <= 1:
        raise ValueError(f"--memory-share must lie in (0, 1], not {memory_share}")
    if max_model_tokens <= sampling.max_new_tokens:
        raise ValueError(
            f"--max-model-tokens {max_model_tokens} leaves no room for a prompt beside a reply of "
            f"{sampling.max_new_tokens}"
        )
