"""adapter_config.json: what a LoRA adapter changes, and which base model it belongs to.

    {"peft_type": "LORA", "base_model_name_or_path": "runs/demo/base", "r": 16,
     "lora_alpha": 32, "lora_dropout": 0.0, "target_modules": "(.*\\.)?(language_model...)", ...}

The file is PEFT's. Only plain LoRA is read: whatever else PEFT can switch on in it (DoRA, other
initial base weights, whole modules, ...) is refused by name instead of being loaded half.

Example: `read_adapter_config(Path("runs/demo/sft_lora/final")).base`
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ADAPTER_CONFIG_FILE = "adapter_config.json"
ADAPTER_WEIGHTS_FILE = "adapter_model.safetensors"
# A pickle, which may hold any code; PEFT would read it where there is no safetensors file.
PICKLED_WEIGHTS_FILE = "adapter_model.bin"

# Every linear layer of the language model and of the merger; nothing of the tower, whose features
# are computed once and shared, and neither embeddings nor the output layer, which are tied.
DEFAULT_TARGETS = (
    r"(.*\.)?(language_model\.layers\.\d+\.(self_attn\.[qkvo]_proj|mlp\.(gate|up|down)_proj)"
    r"|visual\.merger\.mlp\.[02])"
)

_READ = {
    "peft_type",
    "base_model_name_or_path",
    "r",
    "lora_alpha",
    "lora_dropout",
    "target_modules",
}
# What changes nothing about the model: records, and settings of things that are switched off.
_INERT = {
    *("inference_mode", "task_type", "peft_version", "revision", "auto_mapping"),
    *("megatron_core", "qalora_group_size", "runtime_config"),
}
# The first weights, long since trained; other values (such as "pissa") change the base too.
_PLAIN_STARTS = (True, False, "gaussian")


@dataclass(frozen=True, slots=True)
class AdapterConfig:
    """A plain LoRA adapter: W + alpha / rank * B @ A on each of the target modules.

    `targets` is a regular expression for whole module names, or name endings as PEFT reads them.
    """

    base: str
    rank: int
    alpha: float
    dropout: float
    targets: str | tuple[str, ...]


def is_adapter(folder: Path) -> bool:
    """Whether a checkpoint folder holds an adapter, in whatever state, and not a whole model."""
    names = (ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE, PICKLED_WEIGHTS_FILE)
    return any((folder / name).is_file() for name in names)


def read_adapter_config(folder: Path) -> AdapterConfig:
    """The adapter's settings.

    Raises:
        ValueError: no such file, not a LoRA adapter, or one with more to it than this project
            trains; names the file and the key.
    """
    path = folder / ADAPTER_CONFIG_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{folder}: holds no {ADAPTER_CONFIG_FILE}") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path}: not a JSON object")
    kind = content.get("peft_type")
    if kind != "LORA":
        raise ValueError(f"{path}: peft_type is {kind!r}; only LORA adapters are loaded")
    _refuse_more_than_lora(path, content)
    base = content.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise ValueError(f"{path}: base_model_name_or_path does not name the base model")
    rank = content.get("r")
    if type(rank) is not int or rank < 1:
        raise ValueError(f"{path}: r is {rank!r}, not a whole number above 0")
    return AdapterConfig(
        base=base,
        rank=rank,
        alpha=_number(path, content, "lora_alpha", least=0.0, below=1e9),
        dropout=_number(path, content, "lora_dropout", least=0.0, below=1.0),
        targets=_targets(path, content.get("target_modules")),
    )


def _refuse_more_than_lora(path: Path, content: dict[str, Any]) -> None:
    for key, value in content.items():
        if key in _READ or key in _INERT:
            continue
        off = value in ("none", *_PLAIN_STARTS) if key in ("bias", "init_lora_weights") else False
        if value and not off:
            raise ValueError(
                f"{path}: {key} is {value!r}, which this project does not load; merge the adapter "
                "with the program that trained it, and use the merged model"
            )


def _number(path: Path, content: dict[str, Any], key: str, *, least: float, below: float) -> float:
    value = content.get(key)
    if isinstance(value, int | float) and not isinstance(value, bool) and least <= value < below:
        return float(value)
    raise ValueError(f"{path}: {key} is {value!r}, not a number from {least} to below {below}")


def _targets(path: Path, value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, list) and value and all(isinstance(name, str) and name for name in value):
        return tuple(sorted(value))
    raise ValueError(f"{path}: target_modules is {value!r}, neither a pattern nor a list of names")
