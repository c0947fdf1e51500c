"""What `--help` and a missing `--config` print: every field, and the configuration files there are.

video
  --video.fps FLOAT      Frames per second to sample. [default: 2.0]
"""

import textwrap
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from affect.config.section import named_section_of, section_of
from affect.config.strict_yaml import format_value

_WIDTH = 100
_INDENT = 6
_REQUIRED = object()


def render_help(cls: type[BaseModel], prog: str, description: str, config_folder: Path) -> str:
    """Usage, description, configuration files, then each field with type, default and meaning."""
    usage = f"usage: {prog} --config FILE [--section.key value ...]"
    order = "Defaults < the YAML file < the command line; values are read as YAML."
    parts = [usage, textwrap.dedent(description).strip(), order, list_configs(config_folder)]
    return "\n\n".join([*parts, *_field_blocks(cls)]) + "\n"


def list_configs(folder: Path) -> str:
    """The YAML files of a folder, each with its first comment line."""
    files = sorted(folder.glob("*.yaml"))
    shown = _from_here(folder)
    if not files:
        return f"There is no YAML file in {shown}."
    width = max(len(file.name) for file in files)
    rows = (f"  {file.name:<{width}}  {first_comment(file)}".rstrip() for file in files)
    return "\n".join([f"Configurations in {shown}:", *rows])


def first_comment(path: Path) -> str:
    """The description of a configuration: its first comment line, without the mark."""
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("#"):
            return line.lstrip("#").strip()
    return ""


def _from_here(folder: Path) -> Path:
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _field_blocks(
    cls: type[BaseModel], prefix: str = "", defaults: BaseModel | None = None
) -> list[str]:
    """One block for the class's own fields, then one for each of its sections.

    `defaults` is the section as its parent declares it, which may differ from the class's own.
    """
    own: list[str] = []
    sections: list[str] = []
    for name, field in cls.model_fields.items():
        default = getattr(defaults, name) if defaults else _declared_default(field)
        section = section_of(field.annotation)
        if named := named_section_of(field.annotation):
            own.append(_field_text(prefix + name, field, default, kind="name: section"))
            sections.append(f"{prefix}{name}.NAME: {_first_line(named)}".strip().removesuffix(":"))
            sections.extend(_field_blocks(named, f"{prefix}{name}.NAME."))
        elif section is None:
            own.append(_field_text(prefix + name, field, default))
        else:
            meaning = " ".join((field.description or _first_line(section)).split())
            sections.append(f"{prefix}{name}: {meaning}")
            inner = default if isinstance(default, section) else None
            sections.extend(_field_blocks(section, f"{prefix}{name}.", inner))
    return ["\n".join(own), *sections] if own else sections


def _declared_default(field: FieldInfo) -> Any:
    return _REQUIRED if field.is_required() else field.get_default(call_default_factory=True)


def _field_text(name: str, field: FieldInfo, default: Any, kind: str = "") -> str:
    annotation = field.annotation
    kind = kind or (annotation.__name__ if isinstance(annotation, type) else str(annotation))
    for noise in ("typing.", "collections.abc.", "pathlib."):
        kind = kind.replace(noise, "")
    shown = "[required]" if default is _REQUIRED else f"[default: {format_value(default)}]"
    meaning = " ".join((field.description or "").split())
    body = textwrap.fill(
        f"{meaning} {shown}".strip(),
        width=_WIDTH,
        initial_indent=" " * _INDENT,
        subsequent_indent=" " * _INDENT,
    )
    return f"  --{name} ({kind})\n{body}"


def _first_line(cls: type[BaseModel]) -> str:
    return (cls.__doc__ or "").strip().partition("\n")[0]
