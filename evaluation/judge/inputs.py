"""What a judging needs before anybody is asked: replies, rows, budget, and whether it may be.

inputs = read_inputs(config)
inputs.clips[0].reply, inputs.header.prompt_hash, inputs.path
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import ValidationError

from affect.file_hash import sha256_of_file
from affect.first_fault import first_fault
from affect.llm.model_section import ModelSection
from affect.run_folder import RunFolder
from affect.video import FrameBudget
from evaluation.checkpoint import named_budget
from evaluation.clips import Truth, load_clips, read_truths
from evaluation.judge.config import JudgeConfig
from evaluation.judge.judge import Judge
from evaluation.judge.judgements import JudgeHeader, judge_label
from evaluation.judge.judges import find_judge
from evaluation.metrics import Clip
from evaluation.predictions import PredictionHeader
from evaluation.run_results import find_answered


@dataclass(frozen=True)
class JudgingInputs:
    """path: of the file of judgements, `header` its first line. truths, clips: in the order of the
    rows, one or more."""

    judge: Judge
    folder: RunFolder
    path: Path
    header: JudgeHeader
    truths: Sequence[Truth]
    clips: Sequence[Clip]
    video_root: Path
    budget: FrameBudget


def read_inputs(config: JudgeConfig) -> JudgingInputs:
    """Raises ValueError for whatever the user can put right."""
    if config.run is None:
        raise ValueError("which run's replies? Give --run FOLDER")
    folder = RunFolder(config.run)
    predictions, rows_path, video_root = find_answered(
        folder, config.name, config.rows, config.video_root
    )
    if not config.allow_self_judging:
        refuse_self_judging(config.model, predictions.header)
    truths = read_truths(rows_path)
    judge = find_judge(config.judge)
    budget = _budget(config.budget, predictions.header, predictions.path)
    header = JudgeHeader(
        judge=judge.name,
        model=config.model.identity,
        samples=config.samples,
        prompt_hash=judge.prompt_hash,
        budget=budget.model_dump(mode="json"),
        predictions_sha256=sha256_of_file(predictions.path),
        rows_sha256=sha256_of_file(rows_path),
    )
    return JudgingInputs(
        judge=judge,
        folder=folder,
        path=folder.judgements(config.name, judge_label(judge.name, config.model.model)),
        header=header,
        truths=truths,
        clips=load_clips(truths, predictions),
        video_root=video_root,
        budget=budget,
    )


def refuse_self_judging(model: ModelSection, predictions: PredictionHeader) -> None:
    """Raises ValueError where the judge is called like who wrote the replies, owner and folder
    aside: `Qwen/Qwen2.5-VL-3B-Instruct` and `models/Qwen2.5-VL-3B-Instruct` are one model."""
    authors = [predictions.model]
    endpoint: dict[str, Any] = predictions.endpoint or {}
    if isinstance(endpoint.get("model"), str):
        authors.append(endpoint["model"])
    for author in authors:
        if _last_name(author) == _last_name(model.model):
            raise ValueError(
                f"model {model.model!r} wrote these replies ({author}) and would judge itself; "
                "name another, or say --allow_self_judging true"
            )


def _last_name(model: str) -> str:
    return PurePosixPath(model.replace("\\", "/")).name.casefold()


def _budget(given: str | None, header: PredictionHeader, path: Path) -> FrameBudget:
    if given is not None:
        return named_budget(given).video
    if header.budget is None:
        raise ValueError(
            f"{path}: does not say which frames its model was shown; name what the judge is to be "
            "shown: --budget FILE (a budget.json), or --budget default for 2 fps and 4 to 30 frames"
        )
    try:
        return FrameBudget.model_validate(header.budget)
    except ValidationError as error:
        raise ValueError(
            f"{path}: header field budget.{first_fault(error)}; name another with --budget FILE"
        ) from error
