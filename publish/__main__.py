"""`dar publish model RUN`: a run's model as a folder that others load, and its push to a hub.

    dar publish model runs/mine/grpo
    dar publish model runs/mine/grpo --dtype bfloat16 --overwrite
    HF_TOKEN=... dar publish model runs/mine/grpo --push-to me/dar-3b --private

Full and LoRA runs alike; see docs/publish.md. Exit codes: 0 done, 1 the export is there but not its
push, 2 a mistake in the call or a checkpoint that can't be exported, 130 interrupted.
"""

import argparse
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from affect.run_folder import RunFolder
from publish.export import export_run
from publish.hub import PushFailed, check_repo_id, push_folder, read_token
from publish.pushed import write_pushed
from publish.record import ExportOptions, ExportRecord
from publish.source import find_source

PROG = "dar publish"
PUSH_FAILED, USER_MISTAKE, INTERRUPTED = 1, 2, 130
DTYPES = ("keep", "float32", "bfloat16", "float16")
_SIZE = re.compile(r"[1-9]\d*(KB|MB|GB)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    options = _parser().parse_args(argv)
    try:
        return publish_model(options)
    except (ValueError, OSError) as error:
        sys.stderr.write(f"{PROG}: {error}\n")
        return USER_MISTAKE
    except KeyboardInterrupt:
        sys.stderr.write(f"{PROG}: interrupted\n")
        return INTERRUPTED


def publish_model(options: argparse.Namespace) -> int:
    """Export, then push where that was asked for."""
    token = None
    if options.push_to is not None:
        # Before the work: an export may take minutes.
        check_repo_id(options.push_to)
        token = read_token()
    elif options.private:
        raise ValueError("--private says how to push; name the repository with --push-to")
    source = find_source(options.run, step=options.step, base=options.base)
    if options.base is not None:
        _refuse_absent_base(options.base)
    out = options.out or source.run.export
    record = export_run(
        source,
        out,
        ExportOptions(dtype=options.dtype, max_shard_size=options.max_shard_size),
        say=_say,
        license_keys=None if options.license is None else {"license": options.license},
        overwrite=options.overwrite,
        device=options.device,
        adapter_base=options.adapter_base,
    )
    return 0 if token is None else _push(options, source.run, out, record, token)


def _push(
    options: argparse.Namespace, run: RunFolder, out: Path, record: ExportRecord, token: str
) -> int:
    _say(f"pushing {out} to {options.push_to}")
    try:
        pushed = push_folder(out, options.push_to, token, private=options.private)
    except PushFailed as error:
        sys.stderr.write(
            f"{PROG}: the push failed: {error}\nThe export is whole in {out}; to push it again:\n"
            f"  {_again(options)}\n"
        )
        return PUSH_FAILED
    write_pushed(run, pushed, record.sha256)
    _say(f"pushed: {pushed.url} at {pushed.commit}")
    return 0


def _again(options: argparse.Namespace) -> str:
    """The command without what is done already, such as replacing an export."""
    words = ["dar", "publish", "model", str(options.run), "--push-to", options.push_to]
    defaults = ExportOptions().model_dump()
    for name in ("step", "base", "out", "dtype", "max_shard_size", "license", "adapter_base"):
        value = getattr(options, name)
        if value not in (None, defaults.get(name)):
            words += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*words, *(["--private"] if options.private else [])])


def _refuse_absent_base(base: str) -> None:
    from publish.base_model import find_base

    if find_base(base) is None:
        raise ValueError(f"--base {base}: is no folder here, and no model of the local cache")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROG, description="Publish what a run made.", allow_abbrev=False
    )
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    model = kinds.add_parser(
        "model",
        help="a run's model as a folder that others load",
        description="Write a run's model (full or LoRA) as a model folder with its card, load it "
        "back, compare, and push it where asked.",
        allow_abbrev=False,
    )
    model.add_argument(
        "run", type=Path, metavar="RUN", help="folder of a run, such as runs/demo/grpo"
    )
    model.add_argument("--out", type=Path, help="folder to write (default: RUN/export)")
    model.add_argument(
        "--step", type=int, help="export checkpoint-STEP instead of the finished model"
    )
    model.add_argument(
        "--dtype",
        choices=DTYPES,
        default="keep",
        help="precision of the weights (default: %(default)s)",
    )
    model.add_argument(
        "--max-shard-size",
        type=_size,
        default="5GB",
        metavar="SIZE",
        help="largest weights file, such as 500MB (default: %(default)s)",
    )
    model.add_argument(
        "--base",
        help="the base model, a folder or an id, where it is no longer what the first run's "
        "configuration says: its tensor names are compared, its licence is taken over",
    )
    model.add_argument(
        "--adapter-base", help="the model that a LoRA adapter belongs to, where it has moved"
    )
    model.add_argument(
        "--license", help="for the card (default: that of the base's card, else other)"
    )
    model.add_argument("--overwrite", action="store_true", help="replace an export that is there")
    model.add_argument("--device", help="to compare on (default: the first GPU, else the CPU)")
    model.add_argument(
        "--push-to", metavar="OWNER/NAME", help="push to this repository; HF_TOKEN must be set"
    )
    model.add_argument("--private", action="store_true", help="make the repository a private one")
    return parser


def _size(text: str) -> str:
    if not _SIZE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 5GB or 500MB")
    return text


if __name__ == "__main__":
    sys.exit(main())
