"""The tiny base model: the real architecture, made anew and the same from texts and a seed."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import Qwen2_5_VLForConditionalGeneration

from affect.model import tiny
from affect.model.loading import load_policy
from affect.model.tiny import (
    SPECIAL_TOKENS,
    main,
    row_texts,
    save_tiny,
    tiny_model,
    tiny_processor,
    train_tokenizer,
)
from tests.tiny import ANSWER, TEXTS, shared_processor

SMALL: dict[str, Any] = {"hidden_size": 64, "num_layers": 1, "tower_size": 64}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# -------------------------------------------------------------------- tokenizer


@given(st.text())
def test_any_text_comes_back(text: str) -> None:
    tokenizer = shared_processor().tokenizer
    text = tokenizer.backend_tokenizer.normalizer.normalize_str(text)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == text


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        "Zoë naïve — “quoted” 情感 🎬👩‍👩‍👧 \t\r\n  end  ",
        "العربية हिन्दी \u2028 \x00 \ufeff",
        "1234567890 3.9999998",
        " leading and trailing ",
    ],
)
def test_texts_come_back_unchanged(text: str) -> None:
    tokenizer = shared_processor().tokenizer
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_a_letter_and_its_accent_become_one() -> None:
    # Qwen's own normal form (NFC): the only change a text goes through.
    tokenizer = shared_processor().tokenizer
    assert tokenizer.decode(tokenizer("e\u0301")["input_ids"]) == "\u00e9"
    # Learning sees texts in the same form: of both bytes of the letter one token is made.
    learned = train_tokenizer(["e\u0301 "] * 50, vocabulary_size=300)
    assert len(learned("\u00e9")["input_ids"]) == 1


@pytest.mark.parametrize("token", SPECIAL_TOKENS)
def test_special_tokens_are_one_id_each_and_left_out_of_texts(token: str) -> None:
    tokenizer = shared_processor().tokenizer
    ids = tokenizer(f"a{token}b")["input_ids"]
    assert len(ids) == 3
    assert ids[1] == tokenizer.convert_tokens_to_ids(token)
    assert tokenizer.decode(ids) == f"a{token}b"
    assert tokenizer.decode(ids, skip_special_tokens=True) == "ab"


def test_special_tokens_are_the_last_ids_in_qwens_order() -> None:
    tokenizer = shared_processor().tokenizer
    size = len(tokenizer)
    expected = list(range(size - len(SPECIAL_TOKENS), size))
    assert tokenizer.convert_tokens_to_ids(list(SPECIAL_TOKENS)) == expected
    assert tokenizer.eos_token == "<|im_end|>" and tokenizer.pad_token == "<|endoftext|>"
    assert sorted(tokenizer.get_vocab().values()) == list(range(size))


def test_nothing_is_added_around_a_text() -> None:
    tokenizer = shared_processor().tokenizer
    assert tokenizer("ab")["input_ids"] == tokenizer("ab", add_special_tokens=False)["input_ids"]
    assert tokenizer("")["input_ids"] == []


def test_it_learns_from_the_texts_the_same_each_time() -> None:
    tokenizers = [train_tokenizer(TEXTS * 4, vocabulary_size=512) for _ in range(2)]
    assert tokenizers[0].get_vocab() == tokenizers[1].get_vocab()
    assert len(tokenizers[0]) <= 512
    num_tokens = len(tokenizers[0](ANSWER)["input_ids"])
    assert num_tokens < len(ANSWER) / 3  # the bytes alone would be len(ANSWER)


def test_without_texts_it_knows_the_bytes() -> None:
    tokenizer = train_tokenizer([], vocabulary_size=300)
    assert len(tokenizer) == 256 + len(SPECIAL_TOKENS)
    assert len(tokenizer("é")["input_ids"]) == 2


# ------------------------------------------------------------------------ model


def test_size_and_settings_at_the_defaults() -> None:
    model = tiny_model(tiny_processor(TEXTS))
    assert type(model) is Qwen2_5_VLForConditionalGeneration
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    assert 2_000_000 < num_parameters < 6_000_000
    config = model.config
    assert config.vision_config.tokens_per_second == 2
    assert config.vision_config.spatial_merge_size == 2
    assert config.vision_config.patch_size == 14
    assert config.vision_config.temporal_patch_size == 2
    assert config.tie_word_embeddings is True
    # Three rotary parts that fill half a head, and both kinds of attention in the tower.
    assert sum(config.text_config.rope_parameters["mrope_section"]) == 16
    assert config.vision_config.depth > len(config.vision_config.fullatt_block_indexes) > 0
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_a_full_vocabulary_stays_within_the_size() -> None:
    words = [f"{a}{b}{c}{a}" for a in "abcdefghi" for b in "jklmnopqr" for c in "stuvwxyz"]
    processor = tiny_processor(words * 2)
    assert len(processor.tokenizer) == 1024
    model = tiny_model(processor)
    assert model.get_input_embeddings().weight.shape == (1024, 128)
    assert 2_000_000 < sum(parameter.numel() for parameter in model.parameters()) < 6_000_000


def test_the_ids_of_config_and_tokenizer_agree() -> None:
    processor = shared_processor()
    model = tiny_model(processor, **SMALL)
    ids = {token: processor.tokenizer.convert_tokens_to_ids(token) for token in SPECIAL_TOKENS}
    config = model.config
    assert config.video_token_id == processor.video_token_id == ids["<|video_pad|>"]
    assert config.image_token_id == processor.image_token_id == ids["<|image_pad|>"]
    assert config.vision_start_token_id == ids["<|vision_start|>"]
    assert config.vision_end_token_id == ids["<|vision_end|>"]
    ends = [ids["<|im_end|>"], ids["<|endoftext|>"]]
    assert model.generation_config.eos_token_id == ends
    assert model.generation_config.pad_token_id == ids["<|endoftext|>"]
    assert config.text_config.vocab_size == len(processor.tokenizer)


def test_weights_follow_from_the_seed_alone() -> None:
    processor = shared_processor()
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = tiny_model(processor, seed=4, **SMALL).state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    torch.rand(5)
    again = tiny_model(processor, seed=4, **SMALL).state_dict()
    other = tiny_model(processor, seed=5, **SMALL).state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    differing = {name for name in first if not torch.equal(first[name], other[name])}
    matrices = {name for name, value in first.items() if value.ndim > 1}
    assert differing == matrices  # norms are ones and biases zeros whatever the seed


# --------------------------------------------------------------------- on disk


def test_a_saved_model_loads_and_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("first", "second"):
        save_tiny(tmp_path / name, TEXTS, seed=6, vocabulary_size=400, **SMALL)
    assert contents(tmp_path / "first") == contents(tmp_path / "second")
    model, processor = load_policy(tmp_path / "first")
    expected = tiny_model(processor, seed=6, **SMALL).state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())


def test_saving_is_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "base"
    save_tiny(folder, TEXTS, seed=1, vocabulary_size=400, **SMALL)
    before = contents(folder)

    def fail(processor: Any, path: Path) -> None:
        assert (path / "model.safetensors").is_file()  # half of it is there by now
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("transformers.Qwen2_5_VLProcessor.save_pretrained", fail)
        with pytest.raises(OSError, match="disk full"):
            save_tiny(folder, TEXTS, seed=2, vocabulary_size=400, **SMALL)
        assert contents(folder) == before
        with pytest.raises(OSError, match="disk full"):
            save_tiny(tmp_path / "new", TEXTS, vocabulary_size=400, **SMALL)
        assert not (tmp_path / "new").exists()
    # What a failed try left behind does not end up in the next one.
    (tmp_path / "base.partial" / "stray.txt").write_text("left over")
    save_tiny(folder, TEXTS, seed=2, vocabulary_size=400, **SMALL)
    assert contents(folder).keys() == before.keys()
    assert contents(folder)["model.safetensors"] != before["model.safetensors"]
    assert not (tmp_path / "base.partial").exists()


def test_a_folder_with_other_things_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="not empty and holds no checkpoint"):
        save_tiny(tmp_path, TEXTS, vocabulary_size=400, **SMALL)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    save_tiny(tmp_path / "empty", TEXTS, vocabulary_size=400, **SMALL)
    assert (tmp_path / "empty" / "config.json").is_file()


# ----------------------------------------------------------------- command line


SFT_ROW = {
    "id": "a",
    "conversations": [
        {"from": "human", "value": "<video>\nHow does it feel?"},
        {"from": "gpt", "value": "Zest\u2028and joy"},
    ],
}
GRPO_ROW = {
    "id": "b",
    "messages": [{"role": "user", "content": "Segment it."}],
    "solution": '{"segments": []}',
}


def write_rows(path: Path, *rows: dict[str, Any]) -> Path:
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join([*lines, "", ""]), encoding="utf-8")
    return path


def test_texts_of_both_kinds_of_rows(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", SFT_ROW, GRPO_ROW)
    assert list(row_texts(rows)) == [
        "<video>\nHow does it feel?",
        "Zest\u2028and joy",
        "Segment it.",
        '{"segments": []}',
    ]


def test_the_command_makes_a_model_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", SFT_ROW, GRPO_ROW)
    folder = tmp_path / "runs" / "base"
    command = ["--rows", str(rows), "--out", str(folder), "--vocabulary-size", "320", "--seed", "7"]
    command += ["--hidden-size", "64", "--num-layers", "1"]
    assert main(command) == 0
    assert f"wrote a tiny random Qwen2.5-VL to {folder}" in capsys.readouterr().out
    model, processor = load_policy(folder)
    assert model.config.text_config.hidden_size == 64
    assert model.config.text_config.num_hidden_layers == 1
    assert len(processor.tokenizer) <= 320
    before = {path.name: os.stat(path).st_mtime_ns for path in folder.iterdir()}
    assert main(command) == 0
    assert f"{folder} is there already" in capsys.readouterr().out
    assert {path.name: os.stat(path).st_mtime_ns for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("{", "rows.jsonl:1: "),
        ('{"id": "a"}', "row a has no conversations and no messages"),
    ],
)
def test_the_command_names_what_is_wrong_with_the_rows(
    content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    if content is not None:
        rows.write_text(content)
    with pytest.raises(SystemExit) as stop:
        main(["--rows", str(rows), "--out", str(tmp_path / "base")])
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "base").exists()


def test_the_command_does_not_clear_a_folder_of_other_things(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = write_rows(tmp_path / "rows.jsonl", SFT_ROW)
    with pytest.raises(SystemExit) as stop:
        main(["--rows", str(rows), "--out", str(tmp_path)])
    assert stop.value.code == 2
    assert "choose another folder" in capsys.readouterr().err
    assert rows.is_file()


def test_the_example_of_the_module_is_its_command() -> None:
    assert tiny.__doc__ is not None and "python -m affect.model.tiny --rows" in tiny.__doc__
