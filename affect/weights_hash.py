"""What a model folder's weights are, in one digest: which model answered, which one was exported.

Example: `sha256_of_weights(Path("runs/demo/grpo/final"))`, a predictions file's `model_sha256`.
"""

import hashlib
from pathlib import Path

from affect.adapter_config import is_adapter, read_adapter_config
from affect.file_hash import sha256_of_file


def sha256_of_weights(folder: Path, *, base: str | None = None) -> str:
    """Hex digest over every safetensors file of a model folder and its config, by name.

    An adapter is what it makes of its base: its settings and the base's own digest count too (the
    base's name where that is an id on a hub).

    Args:
        base: an adapter's base, in place of the recorded one.

    Raises:
        ValueError: the folder, or an adapter's base, holds no safetensors file.
    """
    digest = hashlib.sha256()
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        raise ValueError(f"{folder}: holds no *.safetensors file; only safetensors are loaded")
    for path in [*paths, *folder.glob("config.json")]:
        digest.update(f"{path.name}\n{sha256_of_file(path)}\n".encode())
    if is_adapter(folder):
        adapter = read_adapter_config(folder)
        # Dropout is for training, and where the base lies is no property of the model.
        digest.update(f"{adapter.rank}\n{adapter.alpha!r}\n{adapter.targets!r}\n".encode())
        name = base or adapter.base
        known = sha256_of_weights(Path(name)) if Path(name).is_dir() else name
        digest.update(f"base\n{known}\n".encode())
    return digest.hexdigest()
