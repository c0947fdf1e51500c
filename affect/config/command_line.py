"""Read a command's configuration: `--config FILE` and `--section.key value` after it.

    python train/grpo.py --config configs/grpo/demo.yaml --trainer.max_steps 5 --video.fps=1

Values are YAML: `2e-6` is a number, `null` is nothing, `[a, b]` a list. A key given twice counts
as given last, so that `launch/x.sh "$@"` can be overridden from outside.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from affect.config.help_text import list_configs, render_help
from affect.config.load import ConfigT, load_config
from affect.config.strict_yaml import parse_value


def parse_command_line(
    cls: type[ConfigT],
    argv: Sequence[str] | None = None,
    *,
    prog: str,
    description: str,
    config_folder: Path,
) -> ConfigT:
    """The configuration that `argv` (default: the process's own arguments) asks for.

    `--help` prints every field and exits 0. Without `--config` the files of `config_folder` are
    listed, and with anything wrong the fault is printed, both on stderr with exit code 2.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if {"-h", "--help"} & set(arguments):
        _write(sys.stdout, render_help(cls, prog, description, config_folder))
        raise SystemExit(0)
    try:
        options = _read_options(arguments)
    except ValueError as error:
        _refuse(prog, str(error))
    config = options.pop("config", None)
    if config is None:
        _refuse(prog, f"which configuration? Give --config FILE.\n{list_configs(config_folder)}")
    path = Path(config)
    if not path.is_file():
        _refuse(prog, f"{path}: there is no such file.\n{list_configs(config_folder)}")
    try:
        return load_config(cls, path, {key: read_value(key, text) for key, text in options.items()})
    except ValueError as error:
        _refuse(prog, str(error))


def _read_options(arguments: Sequence[str]) -> dict[str, str]:
    options: dict[str, str] = {}
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.removeprefix("--").partition("=")
        if not argument.startswith("--") or not all(name.split(".")):
            raise ValueError(f'"{argument}" is not an option; options read --section.key value')
        if not equals:
            given = next(rest, None)
            if given is None or given.startswith("--"):
                raise ValueError(f"--{name} needs a value")
            value = given
        options[name] = value
    return options


def read_value(key: str, text: str) -> Any:
    """The value that `--key text` gives. Raises ValueError naming the key."""
    try:
        return parse_value(text)
    except ValueError as error:
        raise ValueError(
            f"--{key}: {text} opens like YAML but does not read as such ({error}); "
            f"for a string put quotes inside: --{key} '\"...\"'"
        ) from error


def _refuse(prog: str, message: str) -> NoReturn:
    # Every rank of a launch parses the same line; one of them says what is wrong with it.
    if os.environ.get("RANK", "0") == "0":
        _write(sys.stderr, f"{prog}: {message}\n")
    raise SystemExit(2)


def _write(stream: Any, text: str) -> None:
    stream.write(text if text.endswith("\n") else text + "\n")
