"""Loading a Qwen2.5-VL and its processor: safetensors only, no code from the checkpoint.

A folder with an adapter is loaded together with the base model that it names.

Example: model, processor = load_policy("runs/demo/sft/final", dtype="bfloat16", device="cuda")
"""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoProcessor, Qwen2_5_VLForConditionalGeneration

from affect.adapter_config import is_adapter, read_adapter_config
from affect.model.policy import install_policy

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_processor(path: str | Path) -> Any:
    """The checkpoint's processor (tokenizer, video processor, chat template).

    Raises:
        ValueError: the folder is not a checkpoint with a Qwen2.5-VL processor.
    """
    _refuse_missing(path)
    try:
        processor = AutoProcessor.from_pretrained(str(path), trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: no processor could be loaded: {error}") from error
    if not hasattr(processor, "video_processor"):
        raise ValueError(
            f"{path}: has a tokenizer but no video processor; a Qwen2.5-VL checkpoint with "
            "preprocessor_config.json or video_preprocessor_config.json is needed"
        )
    processor.tokenizer.padding_side = "left"
    return processor


def load_policy(
    path: str | Path,
    *,
    dtype: str = "float32",
    device: str | None = None,
    attention: str = "sdpa",
    base: str | Path | None = None,
) -> tuple[Any, Any]:
    """A Qwen2.5-VL with our positions installed, and its processor.

    Args:
        path: a local checkpoint folder, of a whole model or of an adapter (then the model is an
            `affect.model.adapter.AdapterPolicy`), or a model id where a hub can be reached.
        dtype: "float32", "bfloat16" or "float16".
        device: e.g. "cpu" or "cuda:0"; None leaves the weights where they are loaded.
        attention: transformers' attention implementation.
        base: an adapter's base model, if no longer where its adapter_config.json says.

    Raises:
        ValueError: another architecture, weights that are not safetensors, broken or not all
            there, a processor of another model, an unknown dtype, or an adapter without its base.
    """
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}; choose one of {', '.join(DTYPES)}")
    _refuse_missing(path)
    folder = Path(path)
    if is_adapter(folder):
        model, processor = _load_adapted(folder, dtype, attention, base)
        if device is not None:
            model.to(device)
        return model, processor
    if base is not None:
        raise ValueError(f"{path}: is a whole model; a base is passed with an adapter only")
    read_model_config(path)
    try:
        model, report = Qwen2_5_VLForConditionalGeneration.from_pretrained(
            str(path),
            dtype=DTYPES[dtype],
            use_safetensors=True,
            trust_remote_code=False,
            attn_implementation=attention,
            output_loading_info=True,
        )
    except (OSError, SafetensorError, RuntimeError) as error:
        # RuntimeError: tensors of another size than the config says.
        raise ValueError(f"{path}: the model could not be loaded: {error}") from error
    if report["missing_keys"]:
        # transformers would go on with random weights in their place.
        missing = sorted(report["missing_keys"])
        raise ValueError(
            f"{path}: {len(missing)} weights are missing, {missing[0]} is the first; the "
            "checkpoint is not whole"
        )
    processor = load_processor(path)
    _refuse_other_tokens(path, model, processor)
    install_policy(model)
    if device is not None:
        model.to(device)
    return model, processor


def read_model_config(path: str | Path) -> Any:
    """The config of a whole model's folder (or hub id), without loading its weights.

    Raises:
        ValueError: no safetensors, no config, or another architecture.
    """
    folder = Path(path)
    if folder.is_dir() and not any(folder.glob("*.safetensors")):
        raise ValueError(f"{path}: holds no *.safetensors file; only safetensors are loaded")
    try:
        config = AutoConfig.from_pretrained(str(path), trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: no config.json of a known model: {error}") from error
    if config.model_type != "qwen2_5_vl":
        raise ValueError(f"{path}: a {config.model_type} model, where a qwen2_5_vl is needed")
    return config


def _load_adapted(
    folder: Path, dtype: str, attention: str, base: str | Path | None
) -> tuple[Any, Any]:
    if any(folder.glob("model*.safetensors")):
        raise ValueError(f"{folder}: holds a whole model and an adapter; take one of them away")
    recorded = read_adapter_config(folder).base
    base = recorded if base is None else base
    if is_adapter(Path(base)):
        raise ValueError(f"{folder}: its base model {base} is an adapter itself; merge that first")
    try:
        _refuse_missing(base)
    except ValueError as error:
        raise ValueError(
            f"{folder}: its base model is not at {base}; say where it is with model.base in a "
            "training configuration, --base in evaluation.predict, or base= in load_policy"
        ) from error
    try:
        # Here, since answering with a whole model takes no peft.
        from affect.model.adapter import load_adapter
    except ImportError as error:
        raise ValueError(f"{folder}: an adapter needs peft; pip install 'peft>=0.21'") from error
    model, _ = load_policy(base, dtype=dtype, attention=attention)
    adapted = load_adapter(model, folder, base=str(base))
    # The adapter's own: what it was trained with counts.
    processor = load_processor(folder)
    _refuse_other_tokens(folder, model, processor)
    return adapted, processor


def _refuse_missing(path: str | Path) -> None:
    folder = Path(path)
    # "owner/name" may be on a hub. Where "owner" is a folder here, it is a path with a mistake in
    # it, and half a minute of tries to reach a hub would end in an error about the network.
    if not folder.exists() and (str(path).count("/") != 1 or folder.parent.is_dir()):
        raise ValueError(f"{path}: no such folder")


def _refuse_other_tokens(path: str | Path, model: Any, processor: Any) -> None:
    """Without its files a tokenizer loads all the same, with an empty vocabulary."""
    token, expected = processor.video_token, model.config.video_token_id
    found = processor.tokenizer.get_vocab().get(token)
    if found != expected:
        raise ValueError(
            f"{path}: the model's id of {token} is {expected}, the tokenizer's "
            f"{'missing' if found is None else found}; the tokenizer's files are missing or are "
            "another model's"
        )
