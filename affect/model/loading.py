"""Loading a Qwen2.5-VL and its processor: safetensors only, no code from the checkpoint.

Example: model, processor = load_policy("runs/demo/sft/final", dtype="bfloat16", device="cuda")
"""

from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoProcessor, Qwen2_5_VLForConditionalGeneration

from affect.model.policy import install_policy

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_processor(path: str | Path) -> Any:
    """The checkpoint's processor (tokenizer, video processor, chat template).

    Raises:
        ValueError: the folder is not a checkpoint with a Qwen2.5-VL processor.
    """
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
        ValueError: another architecture, weights that are not safetensors, or an unknown dtype.
    """
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}; choose one of {', '.join(DTYPES)}")
    folder = Path(path)
    if folder.is_dir() and not any(folder.glob("*.safetensors")):
        raise ValueError(f"{path}: holds no *.safetensors file; only safetensors are loaded")
    if not folder.exists() and str(path).count("/") != 1:
        raise ValueError(f"{path}: no such folder")
    try:
        config = AutoConfig.from_pretrained(str(path), trust_remote_code=False)
        if config.model_type != "qwen2_5_vl":
            raise ValueError(f"{path}: a {config.model_type} model, where a qwen2_5_vl is needed")
        model = Qwen2_5_VLForConditionalGeneration.from_pretrained(
            str(path),
            dtype=DTYPES[dtype],
            use_safetensors=True,
            trust_remote_code=False,
            attn_implementation=attention,
        )
    except OSError as error:
        raise ValueError(f"{path}: the model could not be loaded: {error}") from error
    install_policy(model)
    if device is not None:
        model.to(device)  # type: ignore[arg-type]
    return model, load_processor(path)
