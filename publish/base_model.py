"""The base model of a run on this machine: its folder, where it is one, and what it says of itself.

Example: `find_base("Qwen/Qwen2.5-VL-3B-Instruct")` is its snapshot in the local cache, or None.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError

from publish.processor_files import CARD_FILE

_MODEL_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_LICENSE_KEYS = ("license", "license_name", "license_link")


def is_model_id(base: str) -> bool:
    """Whether a base is named as on the hub, owner/name, and is no folder here."""
    return (
        bool(_MODEL_ID.fullmatch(base))
        and not Path(base).exists()
        and not Path(base).parent.is_dir()
    )


def find_base(base: str) -> Path | None:
    """The base's folder, or its snapshot in the local cache; None where neither is there.

    Nothing is downloaded.
    """
    if Path(base).is_dir():
        return Path(base)
    if not is_model_id(base):
        return None
    try:
        return Path(snapshot_download(base, local_files_only=True))
    except LocalEntryNotFoundError:
        return None


def base_ties_head(folder: Path) -> bool | None:
    """Whether the base's config.json ties head and embeddings; None where it does not say."""
    config = _config(folder)
    # Releases before transformers 5 wrote it into either place.
    for section in (config, config.get("text_config", {})):
        if isinstance(section, Mapping) and isinstance(section.get("tie_word_embeddings"), bool):
            return bool(section["tie_word_embeddings"])
    return None


def license_of(folder: Path | None) -> dict[str, str]:
    """The licence in the header of the base's own card, by the header's keys; {} without one."""
    if folder is None or not (folder / CARD_FILE).is_file():
        return {}
    text = (folder / CARD_FILE).read_text(encoding="utf-8", errors="replace")
    head = re.match(r"---\s*\n(.*?)\n---\s*(?:\n|$)", text, re.DOTALL)
    try:
        values = yaml.safe_load(head[1]) if head else None
    except yaml.YAMLError:
        return {}  # a header that nobody can read names no licence
    if not isinstance(values, Mapping) or not isinstance(values.get("license"), str):
        return {}
    return {key: values[key] for key in _LICENSE_KEYS if isinstance(values.get(key), str)}


def _config(folder: Path) -> dict[str, Any]:
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{folder}: has no config.json, so it is no model folder") from None
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from error
    if not isinstance(config, dict):
        raise ValueError(f"{path}: not a JSON object")
    return config
