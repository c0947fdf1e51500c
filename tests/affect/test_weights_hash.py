"""The digest of a model folder: of contents and names, not of places."""

import hashlib
import json
from pathlib import Path

import pytest

from affect.file_hash import sha256_of_file
from affect.weights_hash import sha256_of_weights


def test_by_hand(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "README.md").write_bytes(b"does not count")
    weights, config = (hashlib.sha256(content).hexdigest() for content in (b"weights", b"{}"))
    assert sha256_of_file(tmp_path / "config.json") == config
    lines = f"model.safetensors\n{weights}\nconfig.json\n{config}\n"
    assert sha256_of_weights(tmp_path) == hashlib.sha256(lines.encode()).hexdigest()


def write_adapter(folder: Path, base: str, **settings: object) -> Path:
    folder.mkdir()
    (folder / "adapter_model.safetensors").write_bytes(b"low rank")
    config = {
        "peft_type": "LORA",
        "base_model_name_or_path": base,
        "r": 8,
        "lora_alpha": 16,
        "lora_dropout": 0.0,
        "target_modules": ["q_proj"],
    }
    (folder / "adapter_config.json").write_text(json.dumps({**config, **settings}))
    return folder


def test_an_adapter_is_what_it_makes_of_its_base(tmp_path: Path) -> None:
    for name, content in (("base", b"one"), ("moved", b"one"), ("other", b"two")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(content)
    base, moved, other = (str(tmp_path / name) for name in ("base", "moved", "other"))
    adapter = write_adapter(tmp_path / "adapter", base)
    digest = sha256_of_weights(adapter)
    assert sha256_of_weights(adapter, base=moved) == digest
    assert sha256_of_weights(adapter, base=other) != digest
    assert sha256_of_weights(write_adapter(tmp_path / "a", moved, lora_dropout=0.1)) == digest
    assert sha256_of_weights(write_adapter(tmp_path / "b", base, lora_alpha=32)) != digest
    hub = [sha256_of_weights(write_adapter(tmp_path / name, f"hub/{name}")) for name in "cd"]
    assert len({*hub, digest}) == 3


def test_a_folder_without_weights(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only safetensors are loaded"):
        sha256_of_weights(tmp_path)


def test_follows_content_not_place(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").write_bytes(b"weights")
    digest = sha256_of_weights(tmp_path / "one")
    assert sha256_of_weights(tmp_path / "two") == digest
    (tmp_path / "two" / "model.safetensors").write_bytes(b"Weights")
    assert sha256_of_weights(tmp_path / "two") != digest
