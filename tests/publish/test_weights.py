"""Names and precision of stored weights: what published checkpoints have, and what is refused."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from publish.processor_files import foreign_files, missing_files
from publish.weights import (
    model_tensors,
    published_name,
    stored_dtype,
    stored_names,
    write_weights,
)
from tests.publish.runs import export, make_run, save_base, save_model
from tests.tiny import plain_model, tiny_policy


def test_published_names_by_hand() -> None:
    for name, published in {
        "model.language_model.layers.0.mlp.up_proj.weight": "model.layers.0.mlp.up_proj.weight",
        "model.language_model.embed_tokens.weight": "model.embed_tokens.weight",
        "model.language_model.norm.weight": "model.norm.weight",
        "model.visual.blocks.0.attn.qkv.bias": "visual.blocks.0.attn.qkv.bias",
        "model.layers.0.mlp.up_proj.weight": "model.layers.0.mlp.up_proj.weight",
        "visual.merger.ln_q.weight": "visual.merger.ln_q.weight",
        "lm_head.weight": "lm_head.weight",
    }.items():
        assert published_name(name) == published


def test_published_names_are_those_that_transformers_writes(tmp_path: Path) -> None:
    model = plain_model()
    model.save_pretrained(tmp_path)
    assert set(model_tensors(model)) == set(load_file(tmp_path / "model.safetensors"))
    assert stored_names(tmp_path) == {name: name for name in model_tensors(model)}


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ([torch.float32], "float32"),
        ([torch.bfloat16], "bfloat16"),
        ([torch.float16], "float16"),
        ([torch.bfloat16, torch.float32], "float32"),
        ([torch.bfloat16, torch.float16], "float32"),
    ],
)
def test_stored_precision(tmp_path: Path, dtypes: list[torch.dtype], expected: str) -> None:
    tensors = {f"t{index}": torch.zeros(2, dtype=dtype) for index, dtype in enumerate(dtypes)}
    save_file(tensors, tmp_path / "model.safetensors")
    assert stored_dtype(tmp_path) == expected


def test_quantised_weights_are_refused(tmp_path: Path) -> None:
    tensors = {"a": torch.zeros(2), "b": torch.zeros(2, dtype=torch.int8)}
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="b is stored as I8"):
        stored_dtype(tmp_path)


def test_broken_and_missing_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only safetensors are loaded"):
        stored_names(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 64)
    with pytest.raises(ValueError, match=r"model\.safetensors: can't be read"):
        stored_names(tmp_path)


def test_weights_without_a_place_in_the_base(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="2 of the model's weights are not the base model's, b is"):
        write_weights(tmp_path, dict.fromkeys("abc", torch.zeros(1)), {"a": "a"}, "5GB")
    with pytest.raises(ValueError, match="1 of the model's weights are missing, z is the first"):
        write_weights(tmp_path, {"a": torch.zeros(1)}, {"a": "a", "z": "z"}, "5GB")


def test_pickled_weights_are_not_opened(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", save_base(tmp_path / "base"))
    (run.final / "model.safetensors").unlink()
    torch.save(tiny_policy(seed=4)[0].state_dict(), run.final / "pytorch_model.bin")
    with pytest.raises(ValueError, match="only safetensors are loaded"):
        export(run, tmp_path / "out")
    base = save_model(tmp_path / "pickled", tiny_policy(seed=3)[0])
    (base / "model.safetensors").rename(base / "pytorch_model.bin")
    other = make_run(tmp_path / "other", base)
    with pytest.raises(ValueError, match="only safetensors are loaded"):
        export(other, tmp_path / "out")


def test_what_a_complete_folder_has(tmp_path: Path) -> None:
    assert len(missing_files(tmp_path)) == 14
    (tmp_path / "model-00001-of-00002.safetensors").touch()
    assert "model.safetensors" not in missing_files(tmp_path)
    assert "model.safetensors.index.json" in missing_files(tmp_path)
    for name in ("a.bin", "a.pt", "modeling.py", "config.json", "README.md"):
        (tmp_path / name).touch()
    (tmp_path / "additional_chat_templates").mkdir()
    assert foreign_files(tmp_path) == [
        *("a.bin", "a.pt", "additional_chat_templates", "modeling.py"),
    ]
