"""YAML as people expect it: the numbers and booleans of YAML 1.2, no surprises, no code.

    learning_rate: 2e-6    # a number; plain PyYAML reads the string "2e-6"
    report_to: off         # the string "off"; plain PyYAML reads False
    port: 0o17             # 15, while 017 is 17 and 1:30 is a string

Refused with file and line: a key given twice, a key that is not a name, anchors and aliases, and
every tag that would build a Python object.
"""

import re
from pathlib import Path, PurePath
from typing import Any

import yaml

_SCALARS = (
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF")),
    ("int", r"^(?:[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+)$", list("-+0123456789")),
    (
        "float",
        r"^(?:[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        list("-+.0123456789"),
    ),
)


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None) is not None:
            raise yaml.constructor.ConstructorError(
                problem="anchors and aliases are not used here: write the value where it belongs",
                problem_mark=event.start_mark,
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if key.tag != "tag:yaml.org,2002:str":
                problem = "a key must be a name; put it in quotes if it looks like a number"
            elif key.value in seen:
                problem = f'key "{key.value}" is given twice'
            else:
                seen.add(key.value)
                continue
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
        return super().construct_mapping(node, deep=deep)


class _Dumper(yaml.SafeDumper):
    """Quotes a string that YAML 1.1 or 1.2 would read as something else."""


def _construct_int(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    text = node.value.replace("_", "")
    return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))


def _represent_str(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # In its other styles PyYAML writes U+0085 and its kin as line breaks and reads them as blanks.
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


for _tag, _pattern, _first in _SCALARS:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(  # type: ignore[no-untyped-call]
            f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), _first
        )
_Loader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Dumper.add_representer(str, _represent_str)


def read_yaml_mapping(path: Path) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    """The mapping in a YAML file and the line (from 1) of each key: `{("video", "fps"): 7, ...}`.

    An empty file is an empty mapping. ValueError names file, line and fault.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text: {error}") from error
    value, lines = _load(text, str(path))
    if value is None:
        return {}, {}
    if not isinstance(value, dict):
        raise ValueError(f"{path}: expected a mapping of keys, found {type(value).__name__}")
    return value, lines


def parse_value(text: str) -> Any:
    """A value from the command line: a scalar by the rules above, or a list or mapping in brackets.

    Only text that opens with a bracket or a quote is read as YAML, so `a: b`, `*x` and `# y` are
    the strings they look like.
    """
    if text.lstrip()[:1] in {"[", "{", "'", '"'}:
        return _load(text, "value")[0]
    loader = _Loader("")
    try:
        tag = loader.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        return loader.construct_object(yaml.ScalarNode(tag, text))  # type: ignore[no-untyped-call]
    finally:
        loader.dispose()  # type: ignore[no-untyped-call]


def dump_yaml(value: dict[str, Any]) -> str:
    """Text that `read_yaml_mapping` reads back as an equal mapping, in the order given."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def format_value(value: Any) -> str:
    """A value on one line as one would type it: `null`, `true`, `2e-06`, `[a, b]`."""
    if isinstance(value, float | PurePath):
        return str(value)
    text = yaml.dump(
        list(value) if isinstance(value, tuple) else value,
        Dumper=_Dumper,
        default_flow_style=True,
        width=10_000,
    )
    return text.removesuffix("...\n").strip()


def _load(text: str, name: str) -> tuple[Any, dict[tuple[str, ...], int]]:
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None, {}
            return loader.construct_document(node), _key_lines(node)  # type: ignore[no-untyped-call]
        finally:
            loader.dispose()  # type: ignore[no-untyped-call]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise ValueError(f"{name}{line}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{name}: nested too deeply") from error


def _key_lines(node: yaml.Node, prefix: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
    lines: dict[tuple[str, ...], int] = {}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            path = (*prefix, key.value)
            lines[path] = key.start_mark.line + 1
            lines.update(_key_lines(value, path))
    return lines
