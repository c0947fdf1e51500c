"""A command with verbs: one line per verb, its module imported when it is called.

    VERBS = {"score": Verb("evaluation.score", "score predictions under the named protocols")}
    run_verb("dar", VERBS, ["score", "--help"])

Each module offers `main(argv: list[str] | None = None) -> int`, the exit code.
"""

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import NamedTuple

USER_MISTAKE = 2
INTERRUPTED = 130


class Verb(NamedTuple):
    """Where a verb's `main` lives, what it does, in one line, and arguments it always gets."""

    module: str
    meaning: str
    arguments: tuple[str, ...] = ()


def run_verb(prog: str, verbs: Mapping[str, Verb], argv: Sequence[str] | None = None) -> int:
    """Run the verb that `argv` (default: the process's own arguments) begins with.

    Exit code 2 for no verb or an unknown one, else what the verb returns.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments:
        sys.stderr.write(_usage(prog, verbs))
        return USER_MISTAKE
    name, *rest = arguments
    if name in {"-h", "--help", "help"}:
        sys.stdout.write(_usage(prog, verbs))
        return 0
    if name not in verbs:
        import difflib  # only a mistake pays for it

        close = difflib.get_close_matches(name, verbs, n=1)
        guess = f', did you mean "{close[0]}"?' if close else ""
        sys.stderr.write(f'{prog}: unknown verb "{name}"{guess}; see {prog} --help\n')
        return USER_MISTAKE
    verb = verbs[name]
    try:
        code: int = import_module(verb.module).main([*verb.arguments, *rest])
    except KeyboardInterrupt:  # while the module was imported; at work it says more by itself
        sys.stderr.write(f"{prog} {name}: interrupted\n")
        return INTERRUPTED
    return code


def _usage(prog: str, verbs: Mapping[str, Verb]) -> str:
    width = max(map(len, verbs))
    rows = "\n".join(f"  {name:<{width}} {verb.meaning}" for name, verb in verbs.items())
    return f"usage: {prog} VERB [options]\n\n{rows}\n\nMore about one of them: {prog} VERB --help\n"
