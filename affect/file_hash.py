"""SHA-256 of one file's content.

Example: `sha256_of_file(Path("rows.jsonl"))` -> "9f86d0..."
"""

import hashlib
import os


def sha256_of_file(path: str | os.PathLike[str]) -> str:
    """64 hex digits, read piece by piece. Raises OSError."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
