"""The predictor that the options of a command ask for, open for as long as it answers.

    with open_predictor(options, asked, budget, sampling, video_root, reader, folder) as predictor:
        answer_rows(rows, output, predictor.answer, notes=predictor.notes)
    predictor.summary()          # "412 replies bought, cost 3.1100"

What each engine needs is imported only here: torch takes seconds, and a mistake in the options is
to show at once.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from affect.llm.model_section import ModelSection
from affect.run_folder import RunFolder
from affect.trained_budget import TrainedBudget
from affect.video import GuardedReader
from evaluation.checkpoint import Checkpoint
from evaluation.predict_options import VLLM
from evaluation.predicting import AnswerRows
from evaluation.predictors.predictor import Predictor
from evaluation.settings import Sampling


@dataclass(frozen=True, slots=True)
class OpenPredictor:
    """notes: to show beside the progress. summary: for the end; "" where nothing is to be said."""

    answer: AnswerRows
    notes: Callable[[], Mapping[str, str]] = dict
    summary: Callable[[], str] = str


@contextmanager
def open_predictor(
    options: argparse.Namespace,
    asked: Checkpoint | ModelSection,
    budget: TrainedBudget,
    sampling: Sampling,
    video_root: Path,
    reader: GuardedReader,
    folder: RunFolder,
) -> Iterator[OpenPredictor]:
    """folder: gets the bought replies. Raises ValueError for a model that can't be used."""
    if isinstance(asked, ModelSection):
        with _open_server(options, asked, budget, sampling, video_root, reader, folder) as opened:
            yield opened
        return
    if options.engine == VLLM:
        from evaluation.predictors.vllm_offline import VllmModel

        engine: Predictor = VllmModel(
            asked.folder,
            budget.video,
            budget.prompt,
            sampling,
            video_root,
            reader,
            dtype=options.dtype,
            base=options.base,
            max_model_tokens=options.max_model_tokens,
            memory_share=options.memory_share,
            num_gpus=options.num_gpus,
            batch_size=options.batch_size,
            eager=options.eager,
        )
        yield OpenPredictor(engine.answer)
        return
    from evaluation.predictors.local import LocalModel, choose_device

    model: Predictor = LocalModel(
        asked.folder,
        budget.video,
        budget.prompt,
        sampling,
        video_root,
        reader,
        dtype=options.dtype,
        device=choose_device(options.device),
        base=options.base,
        batch_size=options.batch_size,
    )
    yield OpenPredictor(model.answer)


@contextmanager
def _open_server(
    options: argparse.Namespace,
    section: ModelSection,
    budget: TrainedBudget,
    sampling: Sampling,
    video_root: Path,
    reader: GuardedReader,
    folder: RunFolder,
) -> Iterator[OpenPredictor]:
    from affect.llm.reply_cache import SqliteReplyCache
    from evaluation.predictors.server import ServerModel

    cache = SqliteReplyCache(folder.replies)
    try:
        model = ServerModel(
            section,
            budget.video,
            budget.prompt,
            sampling,
            video_root,
            reader,
            cache=cache,
            max_cost=options.max_cost,
            spent_cost=cache.spent_cost(),
        )
        yield OpenPredictor(model.answer, lambda: {"cost": model.paid.text}, model.paid.summary)
    finally:
        cache.close()
