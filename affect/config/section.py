"""The base class of every configuration section, and how to walk its fields.

    class Rollout(Section):
        temperature: float = Field(0.8, gt=0, description="Sampling temperature.")

A field that is another model is a section with keys of its own; `dict[str, Rollout]` holds such
sections under names of the user's. Any other mapping is free-form: its keys pass through unchecked,
for the code that uses them to check (`check_known`).
"""

import types
from collections.abc import Mapping
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """Frozen, refuses unknown keys and non-finite numbers, checks its own defaults.

    A field is described by `Field(description=...)` or by a string on the line below it.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        validate_default=True,
        use_attribute_docstrings=True,
    )


def section_of(annotation: Any) -> type[BaseModel] | None:
    """The model class behind a field's annotation (`Video`, `Video | None`), if it is a section."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    origin = get_origin(annotation)
    if origin is Annotated:
        return section_of(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        sections = [section for part in get_args(annotation) if (section := section_of(part))]
        assert len(sections) <= 1, f"a section field names one model, not a choice: {annotation}"
        return sections[0] if sections else None
    return None


def named_section_of(annotation: Any) -> type[BaseModel] | None:
    """The section of which a field holds any number by name (`dict[str, Video]`), if it does."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping) and len(arguments) == 2:
        return section_of(arguments[1])
    return None


def dotted_names(cls: type[BaseModel], prefix: str = "") -> list[str]:
    """Every key that can be set, in declaration order: `["run_dir", "video.fps", ...]`."""
    names: list[str] = []
    for name, field in cls.model_fields.items():
        section = section_of(field.annotation)
        if section is None:
            names.append(prefix + name)
        else:
            names.extend(dotted_names(section, f"{prefix}{name}."))
    return names
