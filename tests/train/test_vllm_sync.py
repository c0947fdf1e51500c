"""The trained weights in files: each once, merged, in pieces, and told when the disk is full."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import Tensor

from affect.model.adapter import add_adapter, merge_adapter
from tests.tiny import plain_model
from train.vllm_names import check_exact_cover
from train.vllm_sync import merged_weights, write_weights


def small_model() -> Any:
    return plain_model(num_layers=1, tower_depth=1)


def written(folder: Path) -> list[tuple[str, Tensor]]:
    found = []
    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            found += [(name, file.get_tensor(name)) for name in file.offset_keys()]
    return found


def test_every_weight_once_and_the_tied_head_not_twice(tmp_path: Path) -> None:
    model = small_model()
    write_weights(model, tmp_path, dtype=torch.float32, is_main=True)
    found = written(tmp_path)
    expected = dict(model.named_parameters())
    check_exact_cover(list(expected), [name for name, _ in found])
    assert "lm_head.weight" not in expected and "lm_head.weight" in model.state_dict()
    assert all(torch.equal(weight, expected[name]) for name, weight in found)


def test_in_pieces_and_in_the_engines_precision(tmp_path: Path) -> None:
    model = small_model()
    write_weights(model, tmp_path, dtype=torch.bfloat16, is_main=True, shard_bytes=50_000)
    assert len(list(tmp_path.glob("*.safetensors"))) > 2
    found = written(tmp_path)
    expected = dict(model.named_parameters())
    check_exact_cover(list(expected), [name for name, _ in found])
    assert all(torch.equal(weight, expected[name].bfloat16()) for name, weight in found)


def test_only_the_main_process_writes(tmp_path: Path) -> None:
    write_weights(small_model(), tmp_path, dtype=torch.float32, is_main=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_adapter_is_merged_as_when_it_is_published(dtype: torch.dtype) -> None:
    policy = add_adapter(small_model().to(dtype), base="base", rank=2, alpha=4)
    # As TRL does, which keeps the start as the reference.
    policy.add_adapter("ref", policy.peft_config["default"])
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, weight in policy.named_parameters():
            if ".lora_B." in name:
                weight += torch.randn(weight.shape, generator=generator)
    before = {name: weight.clone() for name, weight in policy.named_parameters()}
    merged = {name: weight.clone() for name, weight in merged_weights(policy)}
    assert all(torch.equal(weight, before[name]) for name, weight in policy.named_parameters())
    policy.delete_adapter("ref")
    expected = dict(merge_adapter(policy).named_parameters())
    check_exact_cover(list(expected), list(merged))
    assert all(torch.equal(weight, expected[name]) for name, weight in merged.items())


def test_a_disk_that_is_full_is_told_after_all_weights_went_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where weights are sharded, the other processes wait at each of them."""
    model = small_model()
    gone_by: list[str] = []

    def noted(model: Any) -> Any:
        for name, weight in merged_weights(model):
            gone_by.append(name)
            yield name, weight

    monkeypatch.setattr("train.vllm_sync.merged_weights", noted)
    missing = tmp_path / "missing"
    with pytest.raises(OSError, match="missing"):
        write_weights(model, missing, dtype=torch.float32, is_main=True, shard_bytes=1)
    assert gone_by == [name for name, _ in model.named_parameters()]
