"""The options of `evaluation.predict`, and which of them belong to which engine.

options = read_options(["--run", "runs/demo/grpo", "--rows", "test.jsonl", "--name", "test"])
options.engine, options.batch_size          # "transformers", 4
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from affect.video import DECODE_TIMEOUT_SECONDS
from evaluation.command_line import file_name, make_parser
from evaluation.endpoint_options import (
    OPTION,
    describe_endpoint_options,
    load_endpoint,
    split_endpoint_options,
)

PROG = "predict"
TRANSFORMERS, VLLM, ENDPOINT = "transformers", "vllm", "endpoint"

DEFAULTS: dict[str, dict[str, Any]] = {
    "base": {TRANSFORMERS: None, VLLM: None},
    "batch_size": {TRANSFORMERS: 4, VLLM: 64},
    "dtype": {TRANSFORMERS: "float32", VLLM: "bfloat16"},
    "device": {TRANSFORMERS: None},
    "memory_share": {VLLM: 0.9},
    "max_model_tokens": {VLLM: 8192},
    "num_gpus": {VLLM: 1},
    "eager": {VLLM: False},
    "max_cost": {ENDPOINT: None},
}
"""Options that not every engine has: the default with each that does."""


def read_options(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Exits with 2 for an argument that is wrong by itself or does not fit the others.

    `engine` is `endpoint` for a model on a server, and `endpoint` then its ModelSection, else None.

    Raises ValueError for a wrong endpoint or batch size.
    """
    rest, given = split_endpoint_options(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    options = parser.parse_args(rest)
    is_endpoint = options.endpoint is not None or bool(given)
    named = [f"--{name}" for name in ("run", "model") if getattr(options, name) is not None]
    if is_endpoint:
        named.append(f"--{OPTION}")
    if len(named) != 1:
        parser.error(
            "who is asked? Give one of --run RUN, --model FOLDER and --endpoint FILE"
            + (f", not {' and '.join(named)}" if named else "")
        )
    if options.checkpoint is not None and options.run is None:
        parser.error("--checkpoint N needs --run RUN")
    if options.run is None and options.out is None:
        parser.error(f"{named[0]} needs --out FOLDER for its predictions")
    if is_endpoint and options.engine is not None:
        parser.error(f"--engine {options.engine} is for a checkpoint, not for an endpoint")
    options.engine = ENDPOINT if is_endpoint else options.engine or TRANSFORMERS
    for name, defaults in DEFAULTS.items():
        if options.engine not in defaults:
            if getattr(options, name) is not None:
                told = ", ".join("an endpoint" if one == ENDPOINT else one for one in defaults)
                parser.error(f"--{name.replace('_', '-')} is for {told}")
        elif getattr(options, name) is None:
            setattr(options, name, defaults[options.engine])
    if options.batch_size is not None and options.batch_size < 1:
        raise ValueError(f"--batch-size must be 1 or more, not {options.batch_size}")
    options.endpoint = load_endpoint(options.endpoint, given) if is_endpoint else None
    return options


def _parser() -> argparse.ArgumentParser:
    parser = make_parser(PROG, "Ask a model about every clip of a rows file.")
    parser.usage = (
        f"{parser.prog} (--run RUN | --model FOLDER | --endpoint FILE) --rows ROWS --name NAME "
        "[options]"
    )
    who = parser.add_argument_group("who is asked (one of them)")
    who.add_argument("--run", type=Path, help="run folder; its final model is asked")
    who.add_argument("--model", type=Path, help="model folder, for one that is no run's")
    who.add_argument("--endpoint", type=Path, metavar="FILE", help="YAML of a model on a server")
    what = parser.add_argument_group("what is asked")
    what.add_argument("--rows", type=Path, required=True, help="JSONL of rows (SFT or GRPO)")
    what.add_argument(
        "--video-root",
        type=Path,
        help="where the rows' video paths start (default: the rows file's folder)",
    )
    what.add_argument("--name", type=file_name, required=True, help="of the file of predictions")
    what.add_argument(
        "--out", type=Path, help="folder that gets predictions/NAME.jsonl (default: the run)"
    )
    what.add_argument(
        "--budget",
        help="a budget.json, or 'default' for 2 fps and 4 to 30 frames (default: the model's own; "
        "an endpoint has none)",
    )
    what.add_argument(
        "--allow-other-budget",
        action="store_true",
        help="go on with another budget or prompt than the one trained with",
    )
    what.add_argument(
        "--decode-timeout-seconds",
        type=float,
        default=DECODE_TIMEOUT_SECONDS,
        help="for one clip; 0 decodes in this process, without a limit",
    )
    how = parser.add_argument_group("how replies are drawn")
    how.add_argument(
        "--max-new-tokens", type=int, help="where a reply is cut off (default: the budget's limit)"
    )
    how.add_argument(
        "--temperature", type=float, help="0 is greedy (default: 0, or the endpoint's)"
    )
    how.add_argument("--top-k", type=int, default=0, help="0 means all tokens")
    how.add_argument(
        "--top-p", type=float, help="nucleus, in (0, 1] (default: 1, or the endpoint's)"
    )
    how.add_argument("--seed", type=int, default=0, help="of the replies above temperature 0")
    _add_engines(parser)
    describe_endpoint_options(parser)
    return parser


def _add_engines(parser: argparse.ArgumentParser) -> None:
    local = parser.add_argument_group("a checkpoint on this machine")
    local.add_argument(
        "--engine", choices=[TRANSFORMERS, VLLM], help="what runs it (default: transformers)"
    )
    local.add_argument(
        "--checkpoint", type=int, help="step of the run's checkpoint (default: its final model)"
    )
    local.add_argument(
        "--base", type=Path, help="an adapter's base model, if no longer where the adapter says"
    )
    local.add_argument("--batch-size", type=int, help=f"clips asked at once {_shown('batch_size')}")
    local.add_argument(
        "--dtype",
        choices=["float32", "bfloat16", "float16"],
        help=f"of weights {_shown('dtype')}",
    )
    local.add_argument(
        "--device", help="transformers: such as cpu or cuda:0 (default: a GPU, if there is one)"
    )
    local.add_argument(
        "--memory-share",
        type=float,
        help=f"of the device's memory, in (0, 1] {_shown('memory_share')}",
    )
    local.add_argument(
        "--max-model-tokens",
        type=int,
        help=f"longest prompt with its reply {_shown('max_model_tokens')}",
    )
    local.add_argument(
        "--num-gpus", type=int, help=f"over which weights are split {_shown('num_gpus')}"
    )
    local.add_argument(
        "--eager",
        action="store_true",
        default=None,
        help="vllm: no compilation, so slower steps and a start in seconds",
    )
    server = parser.add_argument_group("a model on a server")
    server.add_argument(
        "--max-cost",
        type=float,
        help="in the prices' currency, all that was ever paid in this folder; reaching it ends the "
        "command with exit code 3 (default: no limit)",
    )


def _shown(name: str) -> str:
    told = ", ".join(f"{value} with {engine}" for engine, value in DEFAULTS[name].items())
    return f"(default: {told})"
