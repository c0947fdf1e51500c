"""An adapter merged into a temporary folder is the same model, and leaves nothing behind."""

from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from affect.model import load_policy
from affect.model.generation import declared_end_ids, end_token_ids
from affect.model.loading import read_model_config
from affect.model.merged_folder import MergedFolder
from affect.model.policy import causal_model
from affect.model.vllm_video import fold_video_tokens
from tests.tiny import batch_inputs, shared_processor, synthetic_clip, tiny_policy, tiny_prompt
from tests.tiny_adapter import save_base, trained_adapter


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("merge")
    policy = trained_adapter(save_base(folder / "base"))
    policy.save_pretrained(folder / "adapter")
    shared_processor().save_pretrained(folder / "adapter")
    return folder / "adapter"


@torch.no_grad()
def logits(folder: Path) -> torch.Tensor:
    model, _ = load_policy(folder)
    model.eval()
    prompt = tiny_prompt(shared_processor(), synthetic_clip(1))
    result: torch.Tensor = causal_model(model)(**batch_inputs([prompt])).logits
    return result


def test_it_is_the_same_model_and_goes_with_the_object(adapter: Path) -> None:
    merged = MergedFolder(adapter, dtype="float32")
    path = merged.path
    assert not (path / "adapter_config.json").exists()
    torch.testing.assert_close(logits(path), logits(adapter), atol=1e-4, rtol=1e-4)
    assert (logits(path) - logits(adapter.parent / "base")).abs().max() > 0.01
    merged.drop_weights()
    assert not list(path.glob("*.safetensors")) and (path / "config.json").is_file()
    del merged
    assert not path.exists()


def test_a_full_disk_is_told_and_nothing_is_left(
    adapter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    def full(*args: object, **kwargs: object) -> None:
        raise SafetensorError("No space left on device")

    monkeypatch.setattr("transformers.PreTrainedModel.save_pretrained", full)
    with pytest.raises(ValueError, match=r"No space left.*TMPDIR.*dar publish model"):
        MergedFolder(adapter, dtype="float32")
    assert not list(tmp_path.iterdir())


def test_end_ids_of_a_folder_are_those_of_the_loaded_model(tmp_path: Path) -> None:
    model, processor = tiny_policy()
    model.save_pretrained(tmp_path)
    expected = end_token_ids(model, processor)
    assert len(expected) == 2
    config = read_model_config(tmp_path)
    assert declared_end_ids(tmp_path, config, processor) == expected
    (tmp_path / "generation_config.json").unlink()
    processor.save_pretrained(tmp_path)
    loaded, _ = load_policy(tmp_path)
    assert declared_end_ids(tmp_path, config, processor) == end_token_ids(loaded, processor)


def test_one_token_stands_for_a_video() -> None:
    assert fold_video_tokens([1, 9, 9, 9, 2, 9, 3], 9) == [1, 9, 2, 9, 3]
    assert fold_video_tokens([9, 9], 9) == [9]
    assert fold_video_tokens([], 9) == []
