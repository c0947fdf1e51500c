"""What is saved loads again, here and in plain transformers; what is not whole is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForImageTextToText, Qwen2_5_VLForConditionalGeneration

from affect.model.generation import generate
from affect.model.loading import load_policy, load_processor
from affect.model.policy import PolicyBackbone, model_positions
from affect.model.tiny import save_tiny
from tests.tiny import TEXTS, batch_inputs, synthetic_clip, tiny_policy, tiny_prompt


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of `tiny_policy(3)` as training would save it."""
    folder = tmp_path_factory.mktemp("checkpoint") / "final"
    model, processor = tiny_policy(3)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@pytest.fixture
def spoilt(saved: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(saved, tmp_path / "spoilt"))


@torch.no_grad()
def test_a_saved_policy_loads_with_the_same_logits(saved: Path) -> None:
    model, processor = tiny_policy(3)
    loaded, loaded_processor = load_policy(saved)
    assert type(loaded.model) is PolicyBackbone
    inputs = batch_inputs([tiny_prompt(processor, synthetic_clip(1, num_frames=30))])
    torch.testing.assert_close(
        loaded(**inputs).logits, model(**inputs).logits, atol=1e-6, rtol=1e-6
    )
    # Prompts come out the same too, template and pixel settings included.
    prompt, other = (tiny_prompt(each, synthetic_clip(1)) for each in (processor, loaded_processor))
    assert torch.equal(prompt.input_ids, other.input_ids)
    assert prompt.pixel_values_videos is not None and other.pixel_values_videos is not None
    assert torch.equal(prompt.pixel_values_videos, other.pixel_values_videos)
    assert loaded_processor.tokenizer.padding_side == "left"
    replies = [
        generate(*pair, [prompt], max_new_tokens=8)[0][0].text
        for pair in ((model, processor), (loaded, loaded_processor))
    ]
    assert replies[0] == replies[1] != ""
    assert loaded.generation_config.eos_token_id == model.generation_config.eos_token_id


def test_saving_what_was_loaded_changes_no_file(saved: Path, tmp_path: Path) -> None:
    model, processor = load_policy(saved)
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    names = sorted(path.name for path in saved.iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    before, after = (load_file(folder / "model.safetensors") for folder in (saved, tmp_path))
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], before[name]) for name in before)
    configs = [json.loads((folder / "config.json").read_text()) for folder in (saved, tmp_path)]
    for part in ("text_config", "vision_config"):
        assert configs[1][part].pop("dtype") == configs[1]["dtype"]  # what loading adds
    assert configs[0] == configs[1]


@torch.no_grad()
def test_plain_transformers_loads_it(saved: Path) -> None:
    plain: Any = AutoModelForImageTextToText.from_pretrained(saved)
    assert type(plain) is Qwen2_5_VLForConditionalGeneration
    model, processor = tiny_policy(3)
    inputs = batch_inputs([tiny_prompt(processor, synthetic_clip(1))])
    inputs["position_ids"], _ = model_positions(
        model.config,
        inputs["input_ids"],
        None,
        inputs["video_grid_thw"],
        inputs.pop("second_per_grid_ts"),
    )
    torch.testing.assert_close(plain(**inputs).logits, model(**inputs).logits, atol=1e-5, rtol=0)


def test_the_saved_config_is_an_ordinary_one(saved: Path) -> None:
    config = json.loads((saved / "config.json").read_text())
    assert config["architectures"] == ["Qwen2_5_VLForConditionalGeneration"]
    assert config["model_type"] == "qwen2_5_vl"
    assert config["tie_word_embeddings"] is True
    assert config["vision_config"]["tokens_per_second"] == 2
    assert "auto_map" not in config
    # The tied output layer is stored once, and nothing of ours is in the file.
    names = list(load_file(saved / "model.safetensors"))
    assert sum("embed_tokens" in name for name in names) == 1
    assert not any("lm_head" in name or "rope_deltas" in name for name in names)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_dtype_and_device(saved: Path, dtype: str) -> None:
    model, _ = load_policy(saved, dtype=dtype, device="cpu")
    assert {parameter.dtype for parameter in model.parameters()} == {getattr(torch, dtype)}
    assert model.lm_head.weight is model.model.language_model.embed_tokens.weight


@torch.no_grad()
def test_another_attention_gives_the_same_logits(saved: Path) -> None:
    models = [load_policy(saved, attention=name)[0] for name in ("sdpa", "eager")]
    assert [model.config._attn_implementation for model in models] == ["sdpa", "eager"]
    processor = load_processor(saved)
    inputs = batch_inputs(
        [tiny_prompt(processor, synthetic_clip(1)), tiny_prompt(processor, text="Only text.")]
    )
    real = inputs["attention_mask"].bool()  # padding attends to nothing, and may give anything
    first, second = (model(**inputs).logits[real] for model in models)
    torch.testing.assert_close(first, second, atol=1e-5, rtol=0)


def test_an_unknown_dtype_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown dtype 'fp32'; choose one of float32, bfloat16"):
        load_policy(tmp_path / "nowhere", dtype="fp32")


@pytest.mark.parametrize("load", [load_policy, load_processor])
def test_a_missing_folder_is_refused_without_asking_a_hub(
    load: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)

    def refuse(*arguments: Any, **settings: Any) -> None:
        raise AssertionError("a hub was asked")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    for path in (tmp_path / "nowhere", "nowhere", "runs/demo", "./demo", "a/b/c"):
        with pytest.raises(ValueError, match=f"^{path}: no such folder"):
            load(path)


def test_only_safetensors_are_loaded(spoilt: Path) -> None:
    weights = load_file(spoilt / "model.safetensors")
    torch.save(weights, spoilt / "pytorch_model.bin")
    (spoilt / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"holds no \*.safetensors file"):
        load_policy(spoilt)
    # Nor are pickled weights taken because some other file has the right ending.
    save_file({"speed": torch.zeros(1)}, spoilt / "other.safetensors")
    with pytest.raises(ValueError, match="could not be loaded"):
        load_policy(spoilt)


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.parametrize("model_type", ["qwen2_vl", "qwen2", "llama"])
def test_another_model_is_refused(spoilt: Path, model_type: str) -> None:
    change_config(spoilt, model_type=model_type)
    with pytest.raises(ValueError, match=f"a {model_type} model, where a qwen2_5_vl is needed"):
        load_policy(spoilt)


def test_missing_weights_are_not_made_up(spoilt: Path) -> None:
    weights = load_file(spoilt / "model.safetensors")
    kept = {name: value for name, value in weights.items() if "layers.1.mlp" not in name}
    assert len(kept) == len(weights) - 3
    save_file(kept, spoilt / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match=r"3 weights are missing, .*layers\.1\.mlp\.down_proj"):
        load_policy(spoilt)


def test_weights_of_another_size_are_refused(spoilt: Path) -> None:
    weights = load_file(spoilt / "model.safetensors")
    name = next(name for name in weights if name.endswith("merger.mlp.0.weight"))
    weights[name] = weights[name][:5].clone()
    save_file(weights, spoilt / "model.safetensors", {"format": "pt"})
    with pytest.raises(ValueError, match="could not be loaded"):
        load_policy(spoilt)


@pytest.mark.parametrize("num_bytes", [0, 7, 1000, -1000])
def test_a_torn_file_is_refused(spoilt: Path, num_bytes: int) -> None:
    path = spoilt / "model.safetensors"
    path.write_bytes(path.read_bytes()[:num_bytes])
    with pytest.raises(ValueError, match="spoilt: the model could not be loaded"):
        load_policy(spoilt)


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", '{"model_type": "nothing_known"}'])
def test_a_broken_config_is_refused(spoilt: Path, text: str) -> None:
    (spoilt / "config.json").write_text(text)
    with pytest.raises(ValueError, match="spoilt: "):
        load_policy(spoilt)


def test_a_folder_without_a_video_processor_is_refused(spoilt: Path) -> None:
    (spoilt / "processor_config.json").unlink()
    with pytest.raises(ValueError, match="spoilt: no processor could be loaded"):
        load_processor(spoilt)
    with pytest.raises(ValueError, match="spoilt: no processor could be loaded"):
        load_policy(spoilt)


def test_a_text_models_folder_has_no_video_processor(spoilt: Path) -> None:
    (spoilt / "processor_config.json").unlink()
    text_config = json.loads((spoilt / "config.json").read_text())["text_config"]
    (spoilt / "config.json").write_text(json.dumps({**text_config, "model_type": "qwen2"}))
    tokenizer_config = json.loads((spoilt / "tokenizer_config.json").read_text())
    del tokenizer_config["processor_class"]
    (spoilt / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
    with pytest.raises(ValueError, match="spoilt: has a tokenizer but no video processor"):
        load_processor(spoilt)


@pytest.mark.parametrize("lost", ["tokenizer.json", None])
def test_a_tokenizer_that_does_not_fit_the_model_is_refused(
    spoilt: Path, tmp_path: Path, lost: str | None
) -> None:
    if lost:  # transformers then makes an empty one
        (spoilt / lost).unlink()
    else:  # one of another vocabulary
        other = tmp_path / "other"
        save_tiny(other, TEXTS, vocabulary_size=400, hidden_size=64, num_layers=1, tower_size=64)
        shutil.copy(other / "tokenizer.json", spoilt)
    with pytest.raises(ValueError, match=r"the model's id of <\|video_pad\|> is 505"):
        load_policy(spoilt)
