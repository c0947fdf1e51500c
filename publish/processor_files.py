"""Every file that a loader looks for beside the weights, in the places of all versions.

transformers 5 saves image and video part inside processor_config.json only; servers and older
versions look for preprocessor_config.json and video_preprocessor_config.json. The chat template is
chat_template.jinja alone: a second copy (chat_template.json) would win over it in some loaders.

Example: `write_processor(processor, folder); missing_files(folder)` is [] once weights are there.
"""

from pathlib import Path
from typing import Any

from affect.trained_budget import BUDGET_FILE

CARD_FILE = "README.md"
RECORD_FILE = "export.json"
PROCESSOR_FILES = (
    "processor_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
)
REQUIRED_FILES = (
    "config.json",
    "generation_config.json",
    *PROCESSOR_FILES,
    BUDGET_FILE,
    CARD_FILE,
    RECORD_FILE,
)
_KNOWN_SUFFIXES = {".safetensors", ".json", ".txt", ".jinja", ".md"}


def write_processor(processor: Any, folder: Path) -> None:
    """Tokenizer, image and video part and chat template of a whole Qwen2.5-VL processor.

    Raises:
        ValueError: the processor has no chat template.
    """
    if not processor.chat_template:
        raise ValueError(
            "the checkpoint's processor has no chat template, so no prompt can be made"
        )
    processor.save_pretrained(folder)
    processor.image_processor.save_pretrained(folder)
    processor.video_processor.save_pretrained(folder)
    processor.tokenizer.backend_tokenizer.model.save(str(folder))  # vocab.json, merges.txt


def missing_files(folder: Path) -> list[str]:
    """Names of what a complete export has and `folder` has not."""
    missing = [name for name in REQUIRED_FILES if not (folder / name).is_file()]
    if any(folder.glob("model-*.safetensors")):
        index = "model.safetensors.index.json"
        missing += [] if (folder / index).is_file() else [index]
    elif not (folder / "model.safetensors").is_file():
        missing.append("model.safetensors")
    return missing


def foreign_files(folder: Path) -> list[str]:
    """Paths that have no place in an export: anything but weights, JSON, texts and the card."""
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_dir() or path.suffix not in _KNOWN_SUFFIXES
    )
