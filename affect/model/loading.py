"""Loading a Qwen2.5-VL and its processor: safetensors only, no code from the checkpoint.

Example: model, processor = load_policy("runs/demo/sft/final", dtype="bfloat16", device="cuda")
"""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoProcessor, Qwen2_5_VLForConditionalGeneration

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
    except OSError as error:
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
) -> tuple[Any, Any]:
    """A Qwen2.5-VL with our positions installed, and its processor.

    Args:
        path: a local checkpoint folder, or a model id where a hub can be reached.
        dtype: "float32", "bfloat16" or "float16".
        device: e.g. "cpu" or "cuda:0"; None leaves the weights where they are loaded.
        attention: transformers' attention implementation.

    Raises:
        ValueError: another architecture, weights that are not safetensors, broken or not all
            there, a processor of another model, or an unknown dtype.
    """
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}; choose one of {', '.join(DTYPES)}")
    _refuse_missing(path)
    folder = Path(path)
    if folder.is_dir() and not any(folder.glob("*.safetensors")):
        raise ValueError(f"{path}: holds no *.safetensors file; only safetensors are loaded")
    try:
        config = AutoConfig.from_pretrained(str(path), trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: no config.json of a known model: {error}") from error
    if config.model_type != "qwen2_5_vl":
        raise ValueError(f"{path}: a {config.model_type} model, where a qwen2_5_vl is needed")
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
