"""The exported folder: whole, the base's names, loaded back the same, there or not there at all."""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoImageProcessor,
    AutoModelForImageTextToText,
    AutoProcessor,
    AutoTokenizer,
    AutoVideoProcessor,
    GenerationConfig,
)

from affect.model.inputs import segment_messages
from affect.model.loading import load_policy, load_processor
from affect.run_folder import RunFolder
from affect.trained_budget import read_budget
from affect.weights_hash import sha256_of_weights
from publish.behaviour import observe
from publish.record import ExportOptions, read_record
from tests.publish.runs import BUDGET, export, make_run, save_base, save_model
from tests.tiny import shared_processor, tiny_policy
from tests.tiny_adapter import save_adapter, trained_adapter

FILES = {
    *("README.md", "budget.json", "chat_template.jinja", "config.json", "export.json"),
    *("generation_config.json", "merges.txt", "model.safetensors", "preprocessor_config.json"),
    *("processor_config.json", "tokenizer.json", "tokenizer_config.json"),
    *("video_preprocessor_config.json", "vocab.json"),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_base(tmp_path_factory.mktemp("base") / "base")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, base: Path) -> RunFolder:
    return make_run(tmp_path_factory.mktemp("runs") / "sft", base)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, run: RunFolder) -> Path:
    out = tmp_path_factory.mktemp("out") / "export"
    export(run, out)
    return out


def names_in(folder: Path) -> set[str]:
    return {name for path in folder.glob("*.safetensors") for name in load_file(path)}


def test_the_folder_is_complete_and_holds_nothing_else(exported: Path) -> None:
    assert {path.name for path in exported.iterdir()} == FILES
    modes = {path.stat().st_mode for path in exported.iterdir()}
    assert len(modes) == 1, "who may read the configuration may read the weights"


def test_it_loads_back_to_the_trained_model(run: RunFolder, exported: Path) -> None:
    before, after = (observe(*load_policy(f), BUDGET) for f in (run.final, exported))
    assert torch.equal(before.logits, after.logits)
    assert before.texts == after.texts and before.end_ids == after.end_ids
    record = read_record(exported)
    assert record.check.load_back_difference == 0.0
    assert record.check.rounding_difference is None
    assert record.check.largest_logit == before.largest_logit > 0
    assert record.check.num_prompt_tokens == before.prompt.num_tokens
    assert record.source_sha256 == sha256_of_weights(run.final)
    assert record.sha256 == sha256_of_weights(exported)
    assert record.versions["transformers"] == "5.19.0"


def test_plain_transformers_load_it(exported: Path) -> None:
    model, report = AutoModelForImageTextToText.from_pretrained(exported, output_loading_info=True)
    assert type(model).__name__ == "Qwen2_5_VLForConditionalGeneration"
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert model.lm_head.weight.data_ptr() == model.get_input_embeddings().weight.data_ptr()
    processor = AutoProcessor.from_pretrained(exported)
    assert processor.image_processor is not None and processor.video_processor is not None


def test_the_names_are_the_base_s_as_published(base: Path, exported: Path) -> None:
    names = names_in(exported)
    assert names == names_in(base)
    assert "lm_head.weight" not in names
    assert {"model.embed_tokens.weight", "visual.merger.mlp.0.weight"} <= names
    assert not any(name.startswith(("model.language_model.", "model.visual.")) for name in names)
    assert read_record(exported).base_names_compared


@pytest.mark.slow
def test_names_follow_a_base_that_spells_them_as_in_memory(tmp_path: Path, run: RunFolder) -> None:
    base = save_base(tmp_path / "base")
    tensors = {
        name.replace("model.", "model.language_model.", 1)
        if name.startswith("model.")
        else f"model.{name}": tensor
        for name, tensor in load_file(base / "model.safetensors").items()
    }
    save_file(tensors, base / "model.safetensors", {"format": "pt"})
    export(run, tmp_path / "out", base=str(base))
    assert names_in(tmp_path / "out") == set(tensors)
    assert all(name.startswith(("model.language_model.", "model.visual.")) for name in tensors)


def test_another_base_is_refused(tmp_path: Path, run: RunFolder) -> None:
    base = save_model(tmp_path / "base", tiny_policy(num_layers=1)[0])
    with pytest.raises(ValueError, match=r"weights are not the base model's, model\.layers\.1\."):
        export(run, tmp_path / "out", base=str(base))
    base = save_model(tmp_path / "deeper", tiny_policy(num_layers=3)[0])
    with pytest.raises(ValueError, match=r"are missing, model\.layers\.2\..* with --base"):
        export(run, tmp_path / "out", base=str(base))
    assert sorted(os.listdir(tmp_path)) == ["base", "deeper"]


# --- the tied head ----------------------------------------------------------------------------


def with_head(folder: Path, head: torch.Tensor | None = None) -> Path:
    """The checkpoint as ZeRO-2 saves it: the tied head a second time."""
    tensors = load_file(folder / "model.safetensors")
    tied = tensors["model.embed_tokens.weight"]
    tensors["lm_head.weight"] = tied.clone() if head is None else head
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.mark.parametrize("in_base", [False, True])
def test_a_head_that_was_saved_twice_goes(tmp_path: Path, in_base: bool) -> None:
    base = save_base(tmp_path / "base")
    run = make_run(tmp_path / "run", base)
    plain = names_in(run.final)
    with_head(run.final)
    if in_base:
        with_head(base)
    export(run, tmp_path / "out")
    assert names_in(tmp_path / "out") == plain


def test_a_tied_head_that_differs_is_refused(tmp_path: Path, base: Path) -> None:
    run = make_run(tmp_path / "run", base)
    other = torch.randn_like(
        load_file(run.final / "model.safetensors")["model.embed_tokens.weight"]
    )
    with_head(run.final, other)
    with pytest.raises(ValueError, match=r"ties the output layer .* differ"):
        export(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def untied() -> Any:
    model, _ = tiny_policy(seed=5)
    model.config.tie_word_embeddings = model.config.text_config.tie_word_embeddings = False
    model.lm_head.weight = torch.nn.Parameter(torch.randn_like(model.lm_head.weight))
    return model


def test_a_head_of_its_own_stays(tmp_path: Path) -> None:
    base = save_model(tmp_path / "base", untied())
    run = make_run(tmp_path / "run", base, weights=untied())
    export(run, tmp_path / "out")
    assert "lm_head.weight" in names_in(tmp_path / "out") == names_in(base)
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["tie_word_embeddings"] is config["text_config"]["tie_word_embeddings"] is False
    before, after = (observe(*load_policy(f), BUDGET) for f in (run.final, tmp_path / "out"))
    assert torch.equal(before.logits, after.logits)


def test_a_tie_that_the_base_has_not_is_refused(tmp_path: Path, run: RunFolder) -> None:
    base = save_model(tmp_path / "base", untied())
    with pytest.raises(ValueError, match="tie_word_embeddings is True, and False in the base"):
        export(run, tmp_path / "out", base=str(base))


# --- configuration ----------------------------------------------------------------------------


def test_what_training_switched_is_switched_back(tmp_path: Path, base: Path) -> None:
    model, _ = tiny_policy(seed=4)
    model.config.use_cache = model.config.text_config.use_cache = False
    # Hub checkpoints carry sampling settings; servers would apply them.
    model.generation_config = GenerationConfig(
        **{**model.generation_config.to_diff_dict(), "do_sample": True, "repetition_penalty": 1.05}
    )
    run = make_run(tmp_path / "run", base, weights=model)
    assert json.loads((run.final / "config.json").read_text())["use_cache"] is False
    export(run, tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["use_cache"] is config["text_config"]["use_cache"] is True
    assert config["tie_word_embeddings"] is config["text_config"]["tie_word_embeddings"] is True
    assert config["architectures"] == ["Qwen2_5_VLForConditionalGeneration"]
    assert config["vision_config"]["tokens_per_second"] == 2 and config["dtype"] == "float32"
    tokenizer = shared_processor().tokenizer
    ids = tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"])
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    del generation["transformers_version"]
    assert generation == {
        "do_sample": False,
        "eos_token_id": sorted(ids),
        "max_new_tokens": 40,
        "pad_token_id": ids[1],
    }


def test_the_budget_travels_with_it(run: RunFolder, exported: Path) -> None:
    assert read_budget(exported / "budget.json") == read_budget(run.budget)


# --- processor --------------------------------------------------------------------------------


def test_every_loader_finds_the_training_s_template(exported: Path) -> None:
    messages = segment_messages(9.0)
    trained = shared_processor().apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True
    )
    assert trained.startswith("<|im_start|>user\n<|vision_start|><|video_pad|>")
    for loaded in (
        AutoProcessor.from_pretrained(exported),
        AutoTokenizer.from_pretrained(exported),
    ):
        text = loaded.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        assert text == trained
    assert not (exported / "chat_template.json").exists()  # it would win over the other
    assert "chat_template" not in json.loads((exported / "tokenizer_config.json").read_text())


def test_the_processor_s_template_wins_over_the_tokenizer_s(tmp_path: Path, base: Path) -> None:
    run = make_run(tmp_path / "run", base)
    path = run.final / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "chat_template": "{{ 'of the tokenizer' }}"}))
    export(run, tmp_path / "out")
    for loader in (AutoProcessor, AutoTokenizer):
        assert "tokenizer" not in loader.from_pretrained(tmp_path / "out").chat_template


def test_image_and_video_part_are_found_one_by_one(tmp_path: Path, exported: Path) -> None:
    processor = shared_processor()
    image, video = processor.image_processor.to_dict(), processor.video_processor.to_dict()
    for path in (exported, without(exported, tmp_path / "old", "processor_config.json")):
        assert AutoImageProcessor.from_pretrained(path).to_dict() == image
        assert AutoVideoProcessor.from_pretrained(path).to_dict() == video
        assert load_processor(path).video_processor.to_dict() == video


def without(folder: Path, copy: Path, name: str) -> Path:
    """A copy without one file, as an older version would have written it."""
    copy.mkdir()
    for path in folder.iterdir():
        if path.name != name:
            os.link(path, copy / path.name)
    return copy


def test_a_checkpoint_without_a_template_is_refused(tmp_path: Path, base: Path) -> None:
    run = make_run(tmp_path / "run", base)
    (run.final / "chat_template.jinja").unlink()
    with pytest.raises(ValueError, match="chat template"):
        export(run, tmp_path / "out")


# --- precision and size -----------------------------------------------------------------------


def test_half_precision(tmp_path: Path, run: RunFolder) -> None:
    record = export(run, tmp_path / "out", ExportOptions(dtype="bfloat16"))
    tensors = load_file(tmp_path / "out" / "model.safetensors")
    assert {tensor.dtype for tensor in tensors.values()} == {torch.bfloat16}
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["dtype"] == config["text_config"]["dtype"] == "bfloat16"
    assert record.dtype == "bfloat16"
    assert record.check.rounding_difference is not None
    assert 0 < record.check.rounding_difference < 0.1 * record.check.largest_logit
    assert record.check.load_back_difference <= 1e-2 * record.check.largest_logit


def test_the_stored_precision_is_kept(tmp_path: Path, base: Path) -> None:
    run = make_run(tmp_path / "run", base, weights=tiny_policy(seed=4)[0].to(torch.bfloat16))
    assert export(run, tmp_path / "out").dtype == "bfloat16"


@pytest.mark.slow
def test_rounding_that_changes_the_answers_is_refused(tmp_path: Path, base: Path) -> None:
    model, _ = tiny_policy(seed=4)
    with torch.no_grad():
        model.model.language_model.norm.weight.mul_(1e30)
        model.lm_head.weight.mul_(1e-30)  # fine in float32, nothing in float16
    run = make_run(tmp_path / "run", base, weights=model)
    export(run, tmp_path / "float32")
    with pytest.raises(ValueError, match=r"rounded to float16, the model answers differently"):
        export(run, tmp_path / "out", ExportOptions(dtype="float16"))
    assert not (tmp_path / "out").exists()


def test_files_of_bounded_size(tmp_path: Path, base: Path, run: RunFolder) -> None:
    export(run, tmp_path / "out", ExportOptions(max_shard_size="300KB"))
    paths = sorted((tmp_path / "out").glob("*.safetensors"))
    assert len(paths) > 2 and paths[0].name == f"model-00001-of-{len(paths):05}.safetensors"
    index = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert set(index["weight_map"]) == names_in(tmp_path / "out") == names_in(base)
    before, after = (observe(*load_policy(f), BUDGET) for f in (run.final, tmp_path / "out"))
    assert torch.equal(before.logits, after.logits)


# --- LoRA -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_an_adapter_is_merged(tmp_path: Path, base: Path, dtype: str) -> None:
    own_base = save_model(tmp_path / "base", tiny_policy(3)[0].to(getattr(torch, dtype)))
    run = make_run(tmp_path / "run", own_base)
    for path in run.final.iterdir():
        path.unlink()
    adapter = trained_adapter(own_base)
    save_adapter(adapter, run.final)
    record = export(run, tmp_path / "out")
    assert names_in(tmp_path / "out") == names_in(base)
    assert record.adapter == {"rank": 4, "alpha": 8.0} and record.dtype == dtype
    assert not (tmp_path / "out" / "adapter_config.json").exists()
    adapted = observe(*load_policy(run.final, dtype=dtype), BUDGET)
    merged = observe(*load_policy(tmp_path / "out", dtype=dtype), BUDGET)
    plain = observe(*load_policy(own_base, dtype=dtype), BUDGET)
    difference = float((adapted.logits - merged.logits).abs().max())
    assert difference == pytest.approx(record.check.rounding_difference)
    assert difference <= {"float32": 1e-4, "bfloat16": 0.05}[dtype] * adapted.largest_logit
    assert float((plain.logits - merged.logits).abs().max()) > 20 * difference


@pytest.mark.slow
def test_an_adapter_whose_base_has_moved(tmp_path: Path) -> None:
    base = save_base(tmp_path / "base")
    run = make_run(tmp_path / "run", base)
    for path in run.final.iterdir():
        path.unlink()
    save_adapter(trained_adapter(base), run.final)
    base.rename(tmp_path / "moved")
    with pytest.raises(ValueError, match="--adapter-base"):
        export(run, tmp_path / "out")
    moved = str(tmp_path / "moved")
    record = export(run, tmp_path / "out", base=moved, adapter_base=moved)
    assert record.base_names_compared


# --- whole or not at all ----------------------------------------------------------------------


def test_what_loads_back_differently_is_not_finished(
    tmp_path: Path, run: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A configuration that lost the rotary base: names and tensors are right, answers are not."""
    import publish.model_folder

    def forgetful(rounded: Any, folder: Path) -> None:
        write_config(rounded, folder)
        config = json.loads((folder / "config.json").read_text())
        config["text_config"]["rope_parameters"]["rope_theta"] = 10.0
        (folder / "config.json").write_text(json.dumps(config))

    write_config = publish.model_folder._write_config
    monkeypatch.setattr(publish.model_folder, "_write_config", forgetful)
    with pytest.raises(ValueError, match=r"loaded back, the model answers differently: logits are"):
        export(run, tmp_path / "out")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("change", ["one bit", "another name", "a template", "an image part"])
def test_what_was_written_wrong_is_not_finished(
    tmp_path: Path, run: RunFolder, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    import publish.model_folder

    def wrong_weights(folder: Path, *arguments: Any) -> None:
        write_weights(folder, *arguments)
        tensors = load_file(folder / "model.safetensors")
        name = "model.embed_tokens.weight"
        if change == "one bit":  # of a token that the check's prompt does not hold
            tensors[name][-9, 0] = torch.nextafter(tensors[name][-9, 0], torch.tensor(9.0))
        else:
            tensors["model.embedding.weight"] = tensors.pop(name)
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})

    def wrong_processor(processor: Any, folder: Path) -> None:
        write_processor(processor, folder)
        if change == "a template":
            (folder / "chat_template.jinja").write_text("<|im_start|>{{ messages[0]['role'] }}")
        else:
            config = json.loads((folder / "processor_config.json").read_text())
            config["image_processor"]["image_mean"] = [0.0, 0.0, 0.0]
            (folder / "processor_config.json").write_text(json.dumps(config))

    write_weights = publish.model_folder.write_weights
    write_processor = publish.model_folder.write_processor
    if change in ("one bit", "another name"):
        monkeypatch.setattr(publish.model_folder, "write_weights", wrong_weights)
    else:
        monkeypatch.setattr(publish.model_folder, "write_processor", wrong_processor)
    message = {
        "one bit": r"model\.embed_tokens\.weight reads back differently",
        "another name": r"model\.embedding\.weight was not to be written",
        "a template": "the prompt has 0 places for a video",
        "an image part": "the model's image processor is not what it was",
    }[change]
    with pytest.raises(ValueError, match=message):
        export(run, tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_an_interrupted_export_leaves_the_old_one(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import publish.model_folder

    run = make_run(tmp_path / "runs" / "sft", base)
    out = tmp_path / "out" / "export"
    export(run, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    save_model(run.final, tiny_policy(seed=8)[0])

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(publish.model_folder, "check_stored", interrupted)
        with pytest.raises(KeyboardInterrupt):
            export(run, out, overwrite=True)
    assert os.listdir(out.parent) == ["export"]
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before

    # One that was killed outright leaves its half beside; the next one clears it away.
    (out.parent / ".export.partial" / "more").mkdir(parents=True)
    (out.parent / ".export.partial" / "model.safetensors").write_bytes(b"half")
    record = export(run, out, overwrite=True)
    assert os.listdir(out.parent) == ["export"]
    assert record.source_sha256 == sha256_of_weights(run.final)
    assert {path.name for path in out.iterdir()} == FILES


def test_two_at_once_are_refused(tmp_path: Path, run: RunFolder) -> None:
    partial = tmp_path / ".out.partial"
    partial.mkdir()
    (partial / "model.safetensors").write_bytes(b"being written")
    handle = os.open(partial, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(ValueError, match="another export is writing it"):
            export(run, tmp_path / "out")
        assert (partial / "model.safetensors").read_bytes() == b"being written"
    finally:
        os.close(handle)


# --- a second time ----------------------------------------------------------------------------


def test_a_second_export_does_nothing(tmp_path: Path, run: RunFolder) -> None:
    out = tmp_path / "out"
    record = export(run, out)
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    said: list[str] = []
    assert export(run, out, say=said.append) == record
    assert said == [f"{out} is done already"]
    assert {path: path.stat().st_mtime_ns for path in out.iterdir()} == before


def test_an_export_of_something_else_is_kept(tmp_path: Path, base: Path, run: RunFolder) -> None:
    out = tmp_path / "out"
    record = export(run, out)
    with pytest.raises(ValueError, match="another precision or file size; --overwrite"):
        export(run, out, ExportOptions(dtype="bfloat16"))
    other = make_run(tmp_path / "other", base, weights=tiny_policy(seed=9)[0])
    with pytest.raises(ValueError, match="holds an export with other weights; --overwrite"):
        export(other, out)
    with pytest.raises(ValueError, match="another base model; --overwrite"):
        export(run, out, base=str(other.final))
    assert read_record(out) == record and record.sha256 == sha256_of_weights(out)


@pytest.mark.parametrize("damage", ["weights", "file", "record"])
def test_a_damaged_export_is_noticed(tmp_path: Path, run: RunFolder, damage: str) -> None:
    out = tmp_path / "out"
    export(run, out)
    if damage == "weights":
        with (out / "model.safetensors").open("ab") as file:
            file.write(b"\0")
    else:
        name = {"file": "preprocessor_config.json", "record": "export.json"}[damage]
        (out / name).unlink()
    message = {
        "weights": "weights that were changed since; --overwrite",
        "file": r"no preprocessor_config\.json; --overwrite",
        "record": "is not empty and holds no export",
    }[damage]
    with pytest.raises(ValueError, match=message):
        export(run, out)


def test_other_people_s_folders_are_not_replaced(tmp_path: Path, run: RunFolder) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(ValueError, match="is not empty and holds no export"):
            export(run, tmp_path / "notes", overwrite=overwrite)
        with pytest.raises(ValueError, match="is a file"):
            export(run, tmp_path / "notes" / "a.txt", overwrite=overwrite)
    assert (tmp_path / "notes" / "a.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    export(run, tmp_path / "empty")
    assert (tmp_path / "empty" / "export.json").is_file()


def test_a_checkpoint_of_a_step(tmp_path: Path, base: Path) -> None:
    run = make_run(tmp_path / "run", base)
    save_model(run.checkpoints / "checkpoint-5", tiny_policy(seed=6)[0])
    (run.checkpoints / "checkpoint-5" / "optimizer.pt").write_bytes(b"not read")
    record = export(run, tmp_path / "out", step=5)
    assert record.step == 5
    assert record.source_sha256 == sha256_of_weights(run.checkpoints / "checkpoint-5")
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
