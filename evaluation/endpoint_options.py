"""A model on a server from the command line: `--endpoint FILE` and `--endpoint.KEY VALUE`.

    rest, given = split_endpoint_options(["--name", "test", "--endpoint.model", "gpt-4o"])
    load_endpoint(None, given).model            # rest: ["--name", "test"]; "gpt-4o"

FILE is YAML with the keys of `ModelSection` (configs/endpoints/), and what is given on the command
line stands above it. A mistake is named with its place.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from affect.config import load_config
from affect.config.command_line import read_value
from affect.config.strict_yaml import format_value
from affect.llm.model_section import ModelSection

OPTION = "endpoint"
_PREFIX = f"--{OPTION}."


def split_endpoint_options(argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """All other arguments, and key -> text of those that begin with `--endpoint.`; the last one
    counts. Raises ValueError for one without a value."""
    rest: list[str] = []
    given: dict[str, str] = {}
    arguments = iter(argv)
    for argument in arguments:
        if not argument.startswith(_PREFIX):
            rest.append(argument)
            continue
        key, equals, text = argument.removeprefix(_PREFIX).partition("=")
        if not all(key.split(".")):
            raise ValueError(f"{argument}: options read {_PREFIX}KEY VALUE")
        if not equals:
            value = next(arguments, None)
            if value is None or value.startswith("--"):
                raise ValueError(f"{_PREFIX}{key} needs a value")
            text = value
        given[key] = text
    return rest, given


def load_endpoint(path: Path | None, given: Mapping[str, str]) -> ModelSection:
    """Raises ValueError naming file and line, or option, for whatever is wrong."""
    if path is not None and not path.is_file():
        raise ValueError(f"--{OPTION} {path}: there is no such file")
    overrides = {key: read_value(f"{OPTION}.{key}", text) for key, text in given.items()}
    return load_config(ModelSection, path, overrides, option=OPTION)


def describe_endpoint_options(parser: argparse.ArgumentParser) -> None:
    """For --help alone, since `split_endpoint_options` takes these arguments before the parser:
    every key, its default and what it means."""
    group = parser.add_argument_group(
        f"a model on a server, key by key, above its --{OPTION} FILE",
        "structured_output is off here unless it is said.",
    )
    for name, field in ModelSection.model_fields.items():
        default = "required" if field.is_required() else f"default: {format_value(field.default)}"
        if name == "structured_output":
            default = "default: false"
        meaning = " ".join((field.description or "").split())
        group.add_argument(
            _PREFIX + name,
            metavar="VALUE",
            dest=argparse.SUPPRESS,
            help=f"{meaning} ({default})".strip(),
        )
