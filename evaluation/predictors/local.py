"""Answers from a checkpoint on this machine, through transformers.

Example:
    model = LocalModel(folder, budget, "segment", Sampling(400), video_root, GuardedReader(120.0))
    for answers in model.answer(rows): ...
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from affect.model import PromptInputs, encode_prompt, generate, load_policy
from affect.records import Row
from affect.video import FrameBudget, GuardedReader
from evaluation.predictions import Answer
from evaluation.predictors.row_clip import row_messages, sample_row
from evaluation.settings import Sampling, row_seed


@dataclass(frozen=True, slots=True)
class _Refused:
    """Why a row can't be asked."""

    error: str


class LocalModel:
    """A loaded checkpoint that answers rows, `batch_size` clips at once."""

    def __init__(
        self,
        folder: Path,
        budget: FrameBudget,
        prompt: str,
        sampling: Sampling,
        video_root: Path,
        reader: GuardedReader,
        *,
        dtype: str = "float32",
        device: str | None = None,
        base: Path | None = None,
        batch_size: int = 4,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"--batch-size must be 1 or more, not {batch_size}")
        self.model, self.processor = load_policy(folder, dtype=dtype, device=device, base=base)
        self.budget = budget
        self.prompt = prompt
        self.sampling = sampling
        self.video_root = video_root
        self.reader = reader
        self.batch_size = batch_size

    def answer(self, rows: Sequence[Row]) -> Iterator[Mapping[str, Answer]]:
        """A batch at a time, in the order of the rows."""
        for first in range(0, len(rows), self.batch_size):
            batch = rows[first : first + self.batch_size]
            answers = self.answer_batch(batch)
            yield {row.id: answer for row, answer in zip(batch, answers, strict=True)}

    def answer_batch(self, rows: Sequence[Row]) -> list[Answer]:
        """One answer per row, in order; a row whose video can't be used gets an error.

        What is wrong with the model or the machine is not a row's fault and raises.
        """
        prepared = [self._prepare(row) for row in rows]
        askable = [
            (row, prompt)
            for row, prompt in zip(rows, prepared, strict=True)
            if isinstance(prompt, PromptInputs)
        ]
        completions: dict[str, Any] = {}
        if askable:
            sampling = self.sampling
            groups = generate(
                self.model,
                self.processor,
                [prompt for _, prompt in askable],
                max_new_tokens=sampling.max_new_tokens,
                temperature=sampling.temperature,
                top_k=sampling.top_k,
                top_p=sampling.top_p,
                seeds=[[row_seed(sampling.seed, row.id)] for row, _ in askable],
            )
            completions = {
                row.id: group[0] for (row, _), group in zip(askable, groups, strict=True)
            }
        answers: list[Answer] = []
        for row, prompt in zip(rows, prepared, strict=True):
            if isinstance(prompt, _Refused):
                answers.append(Answer(text=None, error=prompt.error))
                continue
            completion = completions[row.id]
            answers.append(
                Answer(
                    text=completion.text,
                    num_tokens=len(completion.token_ids),
                    finished=completion.finished,
                )
            )
        return answers

    def _prepare(self, row: Row) -> PromptInputs | _Refused:
        try:
            video = sample_row(row, self.video_root, self.budget, self.reader)
            messages = row_messages(row, self.prompt, video.duration_seconds)
            return encode_prompt(self.processor, messages, [video], name=row.id)
        except (ValueError, OSError) as error:
            return _Refused(f"{type(error).__name__}: {error}")


def choose_device(wanted: str | None) -> str:
    """The wanted device, else the first GPU where there is one, else the CPU.

    Raises ValueError for one that is not here.
    """
    if wanted is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=wanted)
    except (RuntimeError, AssertionError) as error:  # AssertionError: torch built without it
        told = str(error).partition("\n")[0]
        raise ValueError(f"--device {wanted}: can't be used here: {told}") from error
    return wanted
