"""From defaults, a YAML file and overrides to one validated configuration, and back to a file.

    load_config(Run, Path("configs/grpo/demo.yaml"), {"trainer.learning_rate": 2e-6})

Every fault is a ValueError with the place it comes from:

    configs/grpo/demo.yaml:12: unknown key "video.fsp"; did you mean "video.fps"?
    --rollout.num_samples: Input should be greater than 1 (got 0)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from affect.atomic import write_text_atomic
from affect.config.known_keys import hint, nearest
from affect.config.section import dotted_names, named_section_of, section_of
from affect.config.strict_yaml import dump_yaml, read_yaml_mapping
from affect.without_passwords import without_passwords

ConfigT = TypeVar("ConfigT", bound=BaseModel)
KeyPath = tuple[str, ...]


def load_config(
    cls: type[ConfigT],
    path: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    *,
    option: str = "",
) -> ConfigT:
    """Defaults < the YAML file at `path` < `overrides` (dotted key -> value).

    option: what options begin with where the overrides come from `--endpoint.model` and the like
    (`endpoint`); for messages.

    Mappings are merged key by key at every level, free-form ones too: an override changes one key
    and keeps its neighbours. Lists and scalars are replaced whole.
    """
    data, lines = read_yaml_mapping(path) if path else ({}, {})
    places = {key: f"{path}:{line}" for key, line in lines.items()}
    for name, value in (overrides or {}).items():
        key = tuple(name.split("."))
        for part in reversed(key):
            value = {part: value}
        data = _merge(data, value)
        places[key] = _option(option, name)
    faults = _unknown_keys(cls, data, places)
    if faults:
        raise ValueError("\n".join(faults))
    try:
        return cls.model_validate(_over_defaults(cls, data))
    except ValidationError as error:
        raise ValueError("\n".join(_faults(error, places, path, option))) from error


def save_config(path: Path, config: BaseModel) -> None:
    """Write the resolved configuration, all defaults included; `load_config` reads it back."""
    head = "# The resolved configuration: defaults, file and command line together.\n"
    write_text_atomic(path, head + dump_yaml(config.model_dump(mode="json")))


def _merge(below: Any, above: Any) -> Any:
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    merged = dict(below)
    for key, value in above.items():
        merged[key] = _merge(merged[key], value) if key in merged else value
    return merged


def _unknown_keys(
    cls: type[BaseModel], data: Mapping[str, Any], places: Mapping[KeyPath, str], at: KeyPath = ()
) -> list[str]:
    faults: list[str] = []
    prefix = "".join(f"{part}." for part in at)
    for key, value in data.items():
        field = cls.model_fields.get(key)
        section = section_of(field.annotation) if field else None
        if field is None:
            guess = _guess(cls, key)
            meant = f"{prefix}{guess}" if guess else None
            place = _place((*at, key), places) or "configuration"
            faults.append(f'{place}: unknown key "{prefix}{key}"; {hint(meant, cls.model_fields)}')
        elif section and isinstance(value, Mapping):
            faults.extend(_unknown_keys(section, value, places, (*at, key)))
        elif (named := named_section_of(field.annotation)) and isinstance(value, Mapping):
            for name, one in value.items():
                if isinstance(one, Mapping):
                    faults.extend(_unknown_keys(named, one, places, (*at, key, name)))
    return faults


def _guess(cls: type[BaseModel], key: str) -> str | None:
    """The key of this class that was meant, or of a section below it (`video.fps` for `fps`)."""
    below = {name.rpartition(".")[2]: name for name in reversed(dotted_names(cls))}
    return nearest(key, cls.model_fields) or below.get(nearest(key, below) or "")


def _place(key: KeyPath, places: Mapping[KeyPath, str]) -> str | None:
    """Where a key was given: its own place, else that of what was given below or around it.

    The whole, which has no key, was given nowhere in particular.
    """
    if not key:
        return None
    for size in range(len(key), 0, -1):
        if key[:size] in places:
            return places[key[:size]]
    return next((place for given, place in places.items() if given[: len(key)] == key), None)


def _over_defaults(cls: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """Lay what was given for a section or a free-form mapping over that field's declared default.

    Without this, one key under `video:` would replace `video: Video = Video(fps=1)` as a whole.
    """
    filled = dict(data)
    for name, value in data.items():
        field = cls.model_fields[name]
        if not isinstance(value, Mapping):
            continue
        default = field.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            default = default.model_dump(exclude_unset=True)
        filled[name] = _merge(default, value)
        section = section_of(field.annotation)
        if section:
            filled[name] = _over_defaults(section, filled[name])
    return filled


def _option(option: str, name: str) -> str:
    return f"--{option}.{name}" if option else f"--{name}"


def _faults(
    error: ValidationError, places: Mapping[KeyPath, str], path: Path | None, option: str
) -> list[str]:
    """One line per fault: where it was given, the key unless that says it, the fault, the value."""
    whole = str(path or option or "configuration")
    faults = []
    for item in error.errors(include_url=False):
        key = tuple(str(part) for part in item["loc"])
        name = ".".join(key)
        if item["type"] == "missing":
            missing = f"{whole}: {name}" if path or not option else _option(option, name)
            faults.append(f"{missing} is required")
            continue
        place = _place(key, places) or whole
        subject = f"{name}: " if name and place != _option(option, name) else ""
        # A cross-field check is handed the whole section: its message names what matters.
        whole_section = item["type"] == "value_error" and isinstance(item["input"], Mapping)
        given = "" if whole_section else f" (got {without_passwords(repr(item['input']))})"
        meaning = item["msg"].removeprefix("Value error, ")
        if item["type"] in {"tuple_type", "list_type"}:
            meaning = "Input should be a list, as in [first, second]"
        faults.append(f"{place}: {subject}{meaning}{given}")
    return faults
