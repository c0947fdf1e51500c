"""Ask a model about every clip of a rows file and write down its replies.

    python -m evaluation.predict --run runs/demo/grpo \\
        --rows data/rendered/test.sft.jsonl --name test
    python -m evaluation.predict --model base --budget runs/demo/grpo/budget.json \\
        --rows data/rendered/test.sft.jsonl --name test --out runs/demo/base_model
    python -m evaluation.predict --endpoint configs/endpoints/gemini.yaml --max-cost 20 \\
        --budget runs/demo/grpo/budget.json --rows data/rendered/test.sft.jsonl --name test \\
        --out runs/gemini

Writes RUN/predictions/NAME.jsonl (`evaluation.predictions`). Frame budget, prompt and reply limit
are the ones the checkpoint was trained with; a model on a server is told them. Stop it whenever you
like: the same command goes on where it stopped, and asks again what failed. A clip that takes too
long to decode fails too, and is not tried again (quarantine.jsonl beside predictions/).

Exit codes: 0 all rows are answered; 1 rows failed; 2 a mistake, or a server that is not there; 3
the money of --max-cost is spent; 130 Ctrl-C. Whatever came is kept.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from affect.file_hash import sha256_of_file
from affect.llm.chat import BudgetSpentError
from affect.llm.model_section import ModelSection
from affect.records import Row, read_rows
from affect.run_folder import RunFolder
from affect.trained_budget import TrainedBudget
from affect.video import GuardedReader, Quarantine
from affect.weights_hash import sha256_of_weights
from evaluation.checkpoint import (
    Checkpoint,
    choose_budget,
    find_checkpoint,
    given_budget,
    named_budget,
)
from evaluation.command_line import MONEY_SPENT, SOME_FAILED, USER_MISTAKE, run_command
from evaluation.predict_options import PROG, read_options
from evaluation.predicting import answer_rows
from evaluation.prediction_writer import PredictionWriter
from evaluation.predictions import PredictionHeader
from evaluation.predictors.opening import open_predictor
from evaluation.row_videos import require_videos
from evaluation.settings import Sampling

Asked = Checkpoint | ModelSection


def _asked(options: argparse.Namespace) -> Asked:
    if options.endpoint is not None:
        section: ModelSection = options.endpoint
        return section
    return find_checkpoint(run=options.run, model=options.model, step=options.checkpoint)


def _budget(options: argparse.Namespace, asked: Asked) -> TrainedBudget:
    given = None if options.budget is None else named_budget(options.budget)
    if isinstance(asked, Checkpoint):
        return choose_budget(asked, given, allow_other=options.allow_other_budget)
    return given_budget(asked.model, given, allow_other=options.allow_other_budget)


def _sampling(options: argparse.Namespace, budget: TrainedBudget, asked: Asked) -> Sampling:
    max_new_tokens = options.max_new_tokens
    if max_new_tokens is None:
        max_new_tokens = budget.max_completion_tokens
    if max_new_tokens is None:
        raise ValueError("the budget names no limit for replies; give --max-new-tokens N")
    temperature, top_p = (
        (asked.temperature, asked.top_p) if isinstance(asked, ModelSection) else (0.0, 1.0)
    )
    return Sampling(
        max_new_tokens,
        temperature if options.temperature is None else options.temperature,
        options.top_k,
        top_p if options.top_p is None else options.top_p,
        options.seed,
    )


def _read(rows_path: Path, video_root: Path) -> list[Row]:
    rows = read_rows(rows_path)
    if not rows:
        raise ValueError(f"{rows_path}: there is no row in it")
    require_videos(video_root, rows, "--video-root")
    return rows


def _header(
    options: argparse.Namespace,
    asked: Asked,
    budget: TrainedBudget,
    sampling: Sampling,
    video_root: Path,
) -> PredictionHeader:
    if isinstance(asked, ModelSection):
        model, weights, endpoint = asked.model, None, asked.identity
    else:
        base = None if options.base is None else str(options.base)
        model, endpoint = str(asked.folder), None
        weights = sha256_of_weights(asked.folder, base=base)
    return PredictionHeader(
        model=model,
        model_sha256=weights,
        engine=options.engine,
        endpoint=endpoint,
        budget=budget.video.model_dump(mode="json"),
        prompt=budget.prompt,
        prompt_hash=budget.prompt_hash,
        max_new_tokens=sampling.max_new_tokens,
        temperature=sampling.temperature,
        top_k=sampling.top_k,
        top_p=sampling.top_p,
        seed=sampling.seed,
        dtype=options.dtype,
        rows=str(options.rows),
        rows_sha256=sha256_of_file(options.rows),
        video_root=str(video_root),
    )


def predict(options: argparse.Namespace) -> int:
    """Run the command; ValueError for whatever its user can put right."""
    asked = _asked(options)
    budget = _budget(options, asked)
    sampling = _sampling(options, budget, asked)
    if isinstance(asked, ModelSection):
        from evaluation.predictors.server_question import asked_section, require_prices

        asked = asked_section(asked, sampling)
        require_prices(asked, options.max_cost)
    video_root = options.rows.parent if options.video_root is None else options.video_root
    rows = _read(options.rows, video_root)
    folder = RunFolder(options.out or options.run)
    path = folder.predictions(options.name)
    # Now, so that a limit that is none shows before a model is loaded.
    reader = GuardedReader(options.decode_timeout_seconds, Quarantine(folder.quarantine))
    header = _header(options, asked, budget, sampling, video_root)
    with PredictionWriter(path, header) as output:
        if all(row.id in output.answered for row in rows):
            sys.stdout.write(f"{path}: all {len(rows)} rows are answered already\n")
            return 0
        opened = open_predictor(options, asked, budget, sampling, video_root, reader, folder)
        with opened as predictor:
            try:
                outcome = answer_rows(rows, output, predictor.answer, notes=predictor.notes)
            except (KeyboardInterrupt, BudgetSpentError) as error:
                paid = predictor.summary()
                sys.stderr.write(
                    f"\n{path}: stopped with {len(output.answered)} of {len(rows)} rows answered"
                    f"{f' ({paid})' if paid else ''}; the same command goes on from there\n"
                )
                if isinstance(error, KeyboardInterrupt):
                    raise
                sys.stderr.write(f"{PROG}: {error}\n")
                return MONEY_SPENT
            paid = predictor.summary()
    sys.stdout.write(
        f"{path}: {outcome.num_answered} rows answered, {outcome.num_kept} kept from before, "
        f"{outcome.num_failed} failed{f'; {paid}' if paid else ''}\n"
    )
    return SOME_FAILED if outcome.num_failed else 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    try:
        options = read_options(argv)
    except ValueError as error:
        sys.stderr.write(f"{PROG}: {error}\n")
        return USER_MISTAKE
    return run_command(PROG, lambda: predict(options))


if __name__ == "__main__":
    raise SystemExit(main())
