"""The weights of an exported model: the base's names, a tied head once, files of a bounded size.

A Qwen2.5-VL's tensors have two spellings: as published (`model.layers.0...`, `visual...`) and as
modules in memory (`model.language_model.layers.0...`, `model.visual...`); checkpoints of some
versions have the second on disk. They are compared as published and written as the base has them.

Example: `published_name("model.visual.merger.ln_q.weight")` is "visual.merger.ln_q.weight".
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import save_torch_state_dict
from safetensors import SafetensorError, safe_open
from torch import Tensor

HEAD = "lm_head.weight"
EMBEDDING = "model.embed_tokens.weight"

_SPELLINGS = {"model.language_model.": "model.", "model.visual.": "visual."}
_DTYPES = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}


def published_name(name: str) -> str:
    """A tensor's name as the published checkpoints have it."""
    for here, published in _SPELLINGS.items():
        if name.startswith(here):
            return published + name.removeprefix(here)
    return name


def stored_names(folder: Path) -> dict[str, str]:
    """Published name -> name on disk, of every tensor in a folder's safetensors files.

    Raises:
        ValueError: there is no such file, or a broken one.
    """
    return {published_name(name): name for _, file in _files(folder) for name in _names(file)}


def stored_dtype(folder: Path) -> str:
    """The precision of a folder's weights, float32 where several are mixed.

    Raises:
        ValueError: no weights, broken ones, or numbers that are not 16 or 32 bit floats.
    """
    found = {
        (file.get_slice(name).get_dtype(), name)
        for _, file in _files(folder)
        for name in _names(file)
    }
    for code, name in found:
        if code not in _DTYPES:
            raise ValueError(
                f"{folder}: {name} is stored as {code}; an export takes {', '.join(_DTYPES)}, so "
                "name the folder of the model before it was quantised"
            )
    dtypes = {_DTYPES[code] for code, _ in found}
    return dtypes.pop() if len(dtypes) == 1 else "float32"


def model_tensors(model: Any) -> dict[str, Tensor]:
    """Published name -> tensor, of a whole model in memory; a tied head is left out.

    Raises:
        ValueError: the configuration ties head and embeddings, and the weights differ.
    """
    tensors = {published_name(name): tensor for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings and HEAD in tensors:
        head, embedding = tensors.pop(HEAD), tensors[EMBEDDING]
        if head.data_ptr() != embedding.data_ptr() and not torch.equal(head, embedding):
            # transformers would load it untied with a warning; vLLM would take the embeddings.
            raise ValueError(
                f"the configuration ties the output layer to the embeddings, but {HEAD} and "
                f"{EMBEDDING} differ; the checkpoint is broken, or tie_word_embeddings is wrong"
            )
    return tensors


def base_names(base: Path, tied: bool) -> dict[str, str]:
    """Published name -> the base's spelling; a head that is tied and stored all the same is not."""
    names = stored_names(base)
    if tied:
        names.pop(HEAD, None)
    return names


def write_weights(
    folder: Path, tensors: Mapping[str, Tensor], spelling: Mapping[str, str], max_shard_size: str
) -> None:
    """Write model.safetensors, or numbered files and their index where it would be larger.

    Args:
        spelling: published name -> name to write.
        max_shard_size: such as "5GB"; a single tensor may exceed it.

    Raises:
        ValueError: the tensors are not those of the base, or the size is no size.
    """
    for problem, names in (
        ("are missing", spelling.keys() - tensors.keys()),
        ("are not the base model's", tensors.keys() - spelling.keys()),
    ):
        if names:
            raise ValueError(
                f"{len(names)} of the model's weights {problem}, {min(names)} is the first; name "
                "the base that it was trained from with --base"
            )
    save_torch_state_dict(
        {spelling[name]: tensor for name, tensor in tensors.items()},
        folder,
        max_shard_size=max_shard_size,
    )


def check_stored(folder: Path, tensors: Mapping[str, Tensor], spelling: Mapping[str, str]) -> None:
    """Read every tensor back and compare it with the one in memory, bit by bit.

    Raises:
        ValueError: another set of names, or a tensor that differs.
    """
    left = {spelling[name]: tensor for name, tensor in tensors.items()}
    for path, file in _files(folder):
        for name in _names(file):
            expected = left.pop(name, None)
            if expected is None:
                raise ValueError(f"{path}: {name} was not to be written, or was written twice")
            stored = file.get_tensor(name)
            if stored.dtype != expected.dtype or not torch.equal(stored, expected.cpu()):
                raise ValueError(f"{path}: {name} reads back differently; is the disk sound?")
    if left:
        raise ValueError(f"{folder}: {len(left)} weights were not written, {min(left)} first")


def _files(folder: Path) -> Iterator[tuple[Path, Any]]:
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        raise ValueError(f"{folder}: holds no *.safetensors file; only safetensors are loaded")
    for path in paths:
        with _opened(path) as file:
            yield path, file


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path}: can't be read: {error}") from error


def _names(file: Any) -> list[str]:
    return list(file.keys())
