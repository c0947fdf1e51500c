"""Runs the offline vLLM predictor where vLLM is installed, and writes what it answered.

    PYTHON -m tests.evaluation.predictors.vllm_answers MODEL WORLD OUT greedy stopped hot small

Files in OUT: for each way of asking one file of predictions, and its replies' token ids.
"""

import json
import sys
from pathlib import Path
from typing import Any

from affect.records import read_rows
from affect.video import GuardedReader
from evaluation.predicting import answer_rows
from evaluation.prediction_writer import PredictionWriter
from evaluation.predictions import Answer, PredictionHeader
from evaluation.predictors.vllm_offline import VllmModel
from evaluation.settings import Sampling
from tests.train.drawn_rows import BUDGET

MAX_NEW_TOKENS, MAX_MODEL_TOKENS = 60, 400
GREEDY = Sampling(MAX_NEW_TOKENS)
HOT = Sampling(12, temperature=2.0, seed=5)
# Name: how replies are drawn, rows at once.
WAYS = {"greedy": (GREEDY, 3), "stopped": (GREEDY, 2), "hot": (HOT, 4), "small": (HOT, 1)}


class NotingModel(VllmModel):
    """Keeps the token ids of each reply."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.token_ids: dict[str, list[int]] = {}

    def _answer(self, output: Any) -> Answer:
        self.token_ids[output.request_id] = list(output.outputs[0].token_ids)
        return super()._answer(output)


def main(folder: Path, world: Path, out: Path, ways: list[str]) -> None:
    """Ask in each way; `stopped` is stopped after its first answers and started again."""
    model = NotingModel(
        folder,
        BUDGET,
        "row",
        GREEDY,
        world,
        GuardedReader(60.0),
        dtype="float32",
        max_model_tokens=MAX_MODEL_TOKENS,
        memory_share=0.1,
        eager=True,
    )
    rows = read_rows(world / "asked.jsonl")
    for name in ways:
        model.sampling, model.batch_size = WAYS[name]
        model.token_ids = {}
        header = PredictionHeader(model=str(folder))
        if name == "stopped":
            with PredictionWriter(out / f"{name}.jsonl", header) as output:
                pieces = model.answer(rows)
                output.write(next(pieces))
                pieces.close()
                assert not model.llm.llm_engine.has_unfinished_requests()
            model.token_ids = {}
        with PredictionWriter(out / f"{name}.jsonl", header) as output:
            answer_rows(rows, output, model.answer, show_progress=False)
        (out / f"{name}.ids.json").write_text(json.dumps(model.token_ids), encoding="utf-8")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:4]), sys.argv[4:])
