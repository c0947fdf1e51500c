"""A whole JSON file that is one object, with each key once.

Example: `read_object(Path("TSL300/gt.json"))["database"]`
"""

import json
from pathlib import Path
from typing import Any

from affect.jsonl import without_repeats


def read_object(path: Path) -> dict[str, Any]:
    """Raises ValueError naming the file for anything else, a key that is repeated included."""
    try:
        value = json.loads(path.read_bytes(), object_pairs_hook=without_repeats)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path}: an object is needed, not {type(value).__name__}")
    return value
