"""Check every row of a file and its video, before anything trains on them.

    dar validate train.sft.jsonl --video-root videos
    dar validate train.sft.jsonl --config configs/sft/paper.yaml --model models/Qwen2.5-VL-3B
    dar validate train.grpo.jsonl --video-root videos --json > report.json

Reads SFT and GRPO rows, decodes every video whole, several at once, and lists all faults of all
rows: schema, labels, times, duration, frames, tokens. With --config the budget, prompt and limits
are a training run's. Exit code 0: no faults; 1: faults, in a table of row, field, found and
expected; 2: the command itself was wrong; 130: interrupted.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from affect.usable_cores import num_usable_cores
from affect.video import FrameBudget, GuardedReader
from data_prep.validate.check import check_file
from data_prep.validate.report import as_json, fault_table, summary
from data_prep.validate.settings import Settings, changed, read_training_settings

FAULTS, USER_MISTAKE, INTERRUPTED = 1, 2, 130
WIDTH_WITHOUT_TERMINAL = 160
BUDGET_FLAGS = ("fps", "min_frames", "max_frames", "min_pixels", "max_pixels")
SETTING_FLAGS = (
    "prompt", "model", "max_prompt_tokens", "max_tokens", "max_corrupt_frames",
    "decode_timeout_seconds",
)  # fmt: skip


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="dar validate",
        description="Check every row of a file and its video: all faults in one table.",
        allow_abbrev=False,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="JSONL of rows (SFT or GRPO)")
    parser.add_argument(
        "--video-root",
        type=Path,
        help="where the rows' video paths start (default: the configuration's, else FILE's folder)",
    )
    parser.add_argument(
        "--config", type=Path, help="a training configuration, or a run's config.yaml, to check by"
    )
    parser.add_argument(
        "--model", type=Path, help="model folder whose processor counts the text's tokens"
    )
    parser.add_argument(
        "--prompt", choices=("project", "row"), help="the text that is counted (default: project)"
    )
    for name, what in (
        ("max_prompt_tokens", "of a prompt with its video"),
        ("max_tokens", "of prompt and answer together"),
    ):
        default = Settings.model_fields[name].default
        parser.add_argument(_flag(name), type=int, help=f"{what} (default: {default})")
    for name in BUDGET_FLAGS:
        field = FrameBudget.model_fields[name]
        parser.add_argument(
            _flag(name),
            type=float if name == "fps" else int,
            help=f"{field.description} (default: {field.default})",
        )
    parser.add_argument(
        "--max-corrupt-frames",
        type=int,
        help="frames of a video that may have been patched after damage (default: any)",
    )
    parser.add_argument(
        "--require-answers", action="store_true", help="a row without an answer is a fault"
    )
    parser.add_argument("--decode-timeout-seconds", type=float, help="for one video (default: 120)")
    parser.add_argument(
        "--workers",
        type=int,
        default=num_usable_cores(),
        help="videos decoded at once (default: cores)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser.parse_args(argv)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _settings(options: argparse.Namespace) -> tuple[Settings, Path]:
    """What to check by, and where the videos are."""
    settings, video_root = Settings(), None
    if options.config is not None:
        settings, video_root = read_training_settings(options.config)
    given: dict[str, Any] = {
        name: getattr(options, name)
        for name in (*BUDGET_FLAGS, *SETTING_FLAGS)
        if getattr(options, name) is not None
    }
    if options.require_answers:
        given["needs_answer"] = True
    if options.video_root is not None:
        video_root = options.video_root
    return changed(settings, **given), options.file.parent if video_root is None else video_root


def validate(options: argparse.Namespace) -> int:
    """Run the command. Raises ValueError or OSError for what its user can put right."""
    if not options.file.is_file():
        raise ValueError(f"{options.file}: there is no such file")
    if options.workers < 1:
        raise ValueError(f"--workers must be 1 or more, not {options.workers}")
    settings, video_root = _settings(options)
    if not video_root.is_dir():
        raise ValueError(f"{video_root}: there is no such folder; name it with --video-root")
    with GuardedReader(settings.decode_timeout_seconds) as reader:
        report = check_file(options.file, video_root, settings, reader, num_workers=options.workers)
    if options.json:
        # ASCII only: half a character from a row could not be written otherwise.
        document = as_json(report, options.file, video_root)
        sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")
    else:
        if report.faults:
            console = Console()
            if not console.is_terminal:
                console = Console(width=WIDTH_WITHOUT_TERMINAL)
            console.print(fault_table(report))
        sys.stdout.write(summary(report, options.file))
    return FAULTS if report.faults else 0


def main(argv: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    options = _options(argv)
    try:
        return validate(options)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"dar validate: {error}\n")
        return USER_MISTAKE
    except KeyboardInterrupt:
        sys.stderr.write("dar validate: interrupted\n")
        return INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
