"""Clips, rows and a `ServerModel` of them, for tests against scripted servers.

clips = write_clips(tmp_path, 3)
answers, model = ask(clips, server.base_url, model="small")
answers["a"].text
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from affect.llm.model_section import ModelSection
from affect.llm.retrying import RetryPolicy
from affect.records import Row, read_rows
from affect.video import FrameBudget, GuardedReader
from data_prep.rendered.encoding import write_clip
from evaluation.predictions import Answer
from evaluation.predictors.server import ServerModel
from evaluation.settings import Sampling
from tests.evaluation.files import write_rows

BUDGET = FrameBudget(fps=2.0, min_frames=4, max_frames=4, min_pixels=3136, max_pixels=3136)
QUICK = RetryPolicy(max_attempts=6, max_backoff_seconds=0.05, first_backoff_seconds=0.01)
PRICES = {"price_per_million_prompt_tokens": 1000.0, "price_per_million_completion_tokens": 2000.0}


def row_name(number: int) -> str:
    return f"row_{number:03d}"


def write_clips(folder: Path, num: int) -> list[Row]:
    """Rows of 2 s clips, each with other pictures: videos/row_000.mp4, ..., rows.jsonl."""
    for number in range(num):
        frames = np.random.default_rng(number).integers(0, 255, (20, 56, 56, 3), np.uint8)
        write_clip(folder / "videos" / f"{row_name(number)}.mp4", frames, 10)
    truths = {row_name(number): [[0, 2, "Joy"]] for number in range(num)}
    return read_rows(write_rows(folder / "rows.jsonl", truths, duration_seconds=2.0))


def server_model(
    folder: Path,
    base_url: str,
    *,
    prompt: str = "segment",
    sampling: Sampling | None = None,
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> ServerModel:
    """options: of `ServerModel`. settings: keys of the section."""
    section = ModelSection.model_validate({"model": "small", "base_url": base_url, **settings})
    return ServerModel(
        section,
        BUDGET,
        prompt,
        sampling or Sampling(50),
        folder,
        GuardedReader(None),
        policy=QUICK,
        **{"environ": {"A_KEY": "sk-secret-0123456789"}, **(options or {})},
    )


def ask(model: ServerModel, rows: Sequence[Row]) -> dict[str, Answer]:
    """All answers, each of which comes once."""
    answers: dict[str, Answer] = {}
    for piece in model.answer(rows):
        assert piece and not answers.keys() & piece.keys()
        answers |= piece
    return answers
