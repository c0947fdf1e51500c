"""Records that never change, and the one JSON text of a value.

    class Span(Frozen):
        start_seconds: float

    Span(start_seconds=1.0).canonical_json()      # '{"start_seconds":1.0}'

Equal values have equal bytes, so that files of records can be compared and hashed.
"""

import hashlib
import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from affect.first_fault import first_fault


class Frozen(BaseModel):
    """Unknown keys and non-finite numbers are refused; values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    def canonical_json(self) -> str:
        """The one text of this value: sorted keys, no spaces."""
        return canonical_json(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError, in one line that names the field, for a text that is no such value."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise ValueError(first_fault(error, "the text")) from error

    @classmethod
    def list_from_json(cls, text: str) -> list[Self]:
        """Raises ValueError as `from_json` does; a field begins with its value's place from 0."""
        try:
            return TypeAdapter(list[cls]).validate_json(text)  # type: ignore[valid-type]
        except ValidationError as error:
            raise ValueError(first_fault(error, "the text")) from error


def canonical_json(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no spaces. Raises ValueError for NaN."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest(value: Any) -> str:
    """SHA-256, in hex, of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()
