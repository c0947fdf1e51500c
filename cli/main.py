"""The `dar` command: one line per verb; a verb's code is imported when it is called.

    dar --help
    dar score --help
    dar predict --model runs/demo/grpo/final ...

Each target module offers `main(argv: list[str] | None = None) -> int`, the exit code.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple


class Verb(NamedTuple):
    """Where a verb's `main` lives, and what it does, in one line."""

    module: str
    meaning: str


VERBS = {
    "render": Verb(
        "data_prep.rendered.__main__", "draw the rendered world: clips and rows to try all on"
    ),
    "build": Verb(
        "data_prep.build.__main__", "build rows from raw videos: with models, or drafts without"
    ),
    "probe": Verb(
        "affect.video.__main__", "decode video files whole: frames, duration, size, or the fault"
    ),
    "validate": Verb(
        "data_prep.validate.__main__", "check every row of a file and its video, before training"
    ),
    "sft": Verb("train.sft", "cold start: train on rows with their answers"),
    "grpo": Verb("train.grpo", "train on the weighted reward of sampled answers"),
    "predict": Verb("evaluation.predict", "answer the rows of a file with a model"),
    "score": Verb("evaluation.score", "score predictions under the named protocols"),
    "compare": Verb("evaluation.compare", "set the scores of several runs side by side"),
    "publish": Verb("publish.__main__", "export a run's model with its card, and push it to a hub"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the verb that `argv` (default: the process's own arguments) begins with.

    Exit code 2 for no verb or an unknown one, else what the verb returns.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        sys.stderr.write(_usage())
        return 2
    name, *rest = arguments
    if name in {"-h", "--help", "help"}:
        sys.stdout.write(_usage())
        return 0
    if name not in VERBS:
        sys.stderr.write(f'dar: unknown verb "{name}"{_guess(name)}; see dar --help\n')
        return 2
    code: int = import_module(VERBS[name].module).main(rest)
    return code


def _usage() -> str:
    rows = "\n".join(f"  {name:<8} {verb.meaning}" for name, verb in VERBS.items())
    return f"usage: dar VERB [options]\n\n{rows}\n\nMore about one of them: dar VERB --help\n"


def _guess(name: str) -> str:
    import difflib  # only a mistake pays for it

    close = difflib.get_close_matches(name, VERBS, n=1)
    return f', did you mean "{close[0]}"?' if close else ""


if __name__ == "__main__":
    sys.exit(main())
