"""What the scripted server answers in `speed.data_prep`: always the same short description.

Example: answer("described", [], 8, None, "0a1b") -> {"text": "A lantern ..."}
"""

from collections.abc import Sequence
from typing import Any

TEXT = "A lantern is lit beside the door; the room behind it, dark before, turns warm. " * 3


def answer(
    name: str, texts: Sequence[str], num_pictures: int, schema: dict[str, Any] | None, digest: str
) -> dict[str, Any]:
    return {"text": TEXT}
