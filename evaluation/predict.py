"""Ask a checkpoint about every clip of a rows file and write down its replies.

    python -m evaluation.predict --run runs/demo/grpo \\
        --rows data/rendered/test.sft.jsonl --name test
    python -m evaluation.predict --model base --budget runs/demo/grpo/budget.json \\
        --rows data/rendered/test.sft.jsonl --name test --out runs/demo/base_model

Writes RUN/predictions/NAME.jsonl (`evaluation.predictions`). Frame budget, prompt and reply limit
are the ones the checkpoint was trained with. Stop it whenever you like: the same command goes on
where it stopped, and asks again what failed. Exit code 1 says that rows failed. A clip that takes
too long to decode fails too, and is not tried again (quarantine.jsonl beside predictions/).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from affect.file_hash import sha256_of_file
from affect.records import Row, read_rows, resolve_video
from affect.run_folder import RunFolder
from affect.trained_budget import TrainedBudget, read_budget
from affect.video import DECODE_TIMEOUT_SECONDS, FrameBudget, GuardedReader, Quarantine
from affect.weights_hash import sha256_of_weights
from evaluation.checkpoint import Checkpoint, choose_budget, find_checkpoint
from evaluation.command_line import make_parser, run_command
from evaluation.predicting import answer_rows
from evaluation.prediction_writer import PredictionWriter
from evaluation.predictions import PredictionHeader
from evaluation.settings import Sampling

PROG = "predict"
ROWS_FAILED = 1
DEFAULT_BUDGET = "default"


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = make_parser(PROG, "Ask a checkpoint about every clip of a rows file.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--run", type=Path, help="run folder; its final model is asked")
    which.add_argument("--model", type=Path, help="model folder, for one that is no run's")
    parser.add_argument(
        "--base", type=Path, help="an adapter's base model, if no longer where the adapter says"
    )
    parser.add_argument(
        "--checkpoint",
        type=int,
        help="step of the run's checkpoint to ask (default: its final model)",
    )
    parser.add_argument("--rows", type=Path, required=True, help="JSONL of rows (SFT or GRPO)")
    parser.add_argument(
        "--video-root",
        type=Path,
        help="where the rows' video paths start (default: the rows file's folder)",
    )
    parser.add_argument("--name", required=True, help="of the file of predictions")
    parser.add_argument(
        "--out", type=Path, help="folder that gets predictions/NAME.jsonl (default: the run)"
    )
    parser.add_argument(
        "--budget",
        help="a budget.json, or 'default' for 2 fps and 4 to 30 frames (default: the model's own)",
    )
    parser.add_argument(
        "--allow-other-budget",
        action="store_true",
        help="go on with another budget or prompt than the one trained with",
    )
    parser.add_argument(
        "--max-new-tokens", type=int, help="where a reply is cut off (default: the budget's limit)"
    )
    parser.add_argument("--batch-size", type=int, default=4, help="clips asked at once")
    parser.add_argument(
        "--decode-timeout-seconds",
        type=float,
        default=DECODE_TIMEOUT_SECONDS,
        help="for one clip; 0 decodes in this process, without a limit",
    )
    parser.add_argument("--temperature", type=float, default=0.0, help="0 is greedy")
    parser.add_argument("--top-k", type=int, default=0, help="0 means all tokens")
    parser.add_argument("--top-p", type=float, default=1.0, help="nucleus, in (0, 1]")
    parser.add_argument("--seed", type=int, default=0, help="of the replies above temperature 0")
    parser.add_argument(
        "--dtype", default="float32", choices=["float32", "bfloat16", "float16"], help="of weights"
    )
    parser.add_argument("--device", help="such as cpu or cuda:0 (default: a GPU, if there is one)")
    options = parser.parse_args(argv)
    if options.checkpoint is not None and options.run is None:
        parser.error("--checkpoint N needs --run RUN")
    if options.model is not None and options.out is None:
        parser.error("--model PATH needs --out FOLDER for its predictions")
    if not options.name or Path(options.name).name != options.name or options.name in {".", ".."}:
        parser.error(f"--name {options.name!r} must be a plain file name")
    return options


def _given_budget(text: str | None) -> TrainedBudget | None:
    if text is None:
        return None
    if text == DEFAULT_BUDGET:
        return TrainedBudget(video=FrameBudget())
    return read_budget(Path(text))


def _sampling(options: argparse.Namespace, budget: TrainedBudget) -> Sampling:
    max_new_tokens = options.max_new_tokens
    if max_new_tokens is None:
        max_new_tokens = budget.max_completion_tokens
    if max_new_tokens is None:
        raise ValueError("the budget names no limit for replies; give --max-new-tokens N")
    return Sampling(max_new_tokens, options.temperature, options.top_k, options.top_p, options.seed)


def _has_video(video_root: Path, row: Row) -> bool:
    try:
        return resolve_video(video_root, row.video).is_file()
    except ValueError:  # leads out of the root: the row fails when it is asked
        return False


def _read(rows_path: Path, video_root: Path) -> list[Row]:
    rows = read_rows(rows_path)
    if not rows:
        raise ValueError(f"{rows_path}: there is no row in it")
    # One missing clip is a row that fails; all of them missing is a wrong folder.
    if not any(_has_video(video_root, row) for row in rows):
        raise ValueError(
            f"{video_root}: holds none of the {len(rows)} videos (the first would be "
            f"{rows[0].video}); name their folder with --video-root"
        )
    return rows


def _header(
    options: argparse.Namespace,
    checkpoint: Checkpoint,
    budget: TrainedBudget,
    sampling: Sampling,
    video_root: Path,
) -> PredictionHeader:
    return PredictionHeader(
        model=str(checkpoint.folder),
        model_sha256=sha256_of_weights(
            checkpoint.folder, base=None if options.base is None else str(options.base)
        ),
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
    checkpoint = find_checkpoint(run=options.run, model=options.model, step=options.checkpoint)
    budget = choose_budget(
        checkpoint, _given_budget(options.budget), allow_other=options.allow_other_budget
    )
    sampling = _sampling(options, budget)
    if options.batch_size < 1:
        raise ValueError(f"--batch-size must be 1 or more, not {options.batch_size}")
    video_root = options.rows.parent if options.video_root is None else options.video_root
    rows = _read(options.rows, video_root)
    folder = RunFolder(options.out or options.run)
    path = folder.predictions(options.name)
    # Now, so that a limit that is none shows before a model is loaded.
    reader = GuardedReader(options.decode_timeout_seconds, Quarantine(folder.quarantine))
    header = _header(options, checkpoint, budget, sampling, video_root)
    with PredictionWriter(path, header) as output:
        if all(row.id in output.answered for row in rows):
            sys.stdout.write(f"{path}: all {len(rows)} rows are answered already\n")
            return 0
        # Only now: torch takes seconds to import, and a mistake above should show at once.
        from evaluation.predictors.local import LocalModel, choose_device

        model = LocalModel(
            checkpoint.folder,
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
        try:
            outcome = answer_rows(rows, output, model.answer)
        except KeyboardInterrupt:
            sys.stderr.write(
                f"\n{path}: stopped with {len(output.answered)} of {len(rows)} rows answered; "
                "the same command goes on from there\n"
            )
            raise
    sys.stdout.write(
        f"{path}: {outcome.num_answered} rows answered, {outcome.num_kept} kept from before, "
        f"{outcome.num_failed} failed\n"
    )
    return ROWS_FAILED if outcome.num_failed else 0


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    return run_command(PROG, lambda: predict(options))


if __name__ == "__main__":
    raise SystemExit(main())
