"""Tokens are counted as training lays them; what could not be counted is None, never 0."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from affect.model.inputs import encode_prompt, segment_messages
from affect.records import read_rows
from affect.video import FrameBudget, sample_video
from affect.video.measure import measure_video
from data_prep.validate.fault import Fault
from data_prep.validate.lines import RowLine, read_lines
from data_prep.validate.settings import Settings
from data_prep.validate.tokens import RowTokens, TokenCounter
from tests.affect.video.clips import write_clip
from tests.data_prep.validate.drawn import draw, grpo, sft, unanswered, write_lines
from tests.tiny import shared_processor

BUDGET = FrameBudget(fps=2.0, min_pixels=3136, max_pixels=3136)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a processor and no weights, which is all that counting takes."""
    folder = tmp_path_factory.mktemp("model")
    shared_processor().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw(tmp_path_factory.mktemp("root"))


def settings(**changes: Any) -> Settings:
    return Settings.model_validate({"video": BUDGET, **changes})


def line_of(folder: Path, row: dict[str, Any]) -> RowLine:
    (line,), faults = read_lines(write_lines(folder / "rows.jsonl", row), needs_answer=False)
    assert faults == []
    return line


def count(
    root: Path, folder: Path, row: dict[str, Any], **changes: Any
) -> tuple[RowTokens, list[tuple[str, str, str]]]:
    line = line_of(folder, row)
    measured = measure_video(str(root / str(line.video)), BUDGET)
    tokens, faults = TokenCounter(settings(**changes)).count(line, measured)
    assert all((fault.line, fault.id) == (1, row["id"]) for fault in faults)
    return tokens, [(fault.field, fault.found, fault.expected) for fault in faults]


@pytest.mark.parametrize("prompt", ["project", "row"])
@pytest.mark.parametrize("make", [sft, grpo])
def test_counts_are_those_of_training(
    root: Path, tmp_path: Path, model: Path, prompt: str, make: Any
) -> None:
    tokens, faults = count(root, tmp_path, make("b"), model=model, prompt=prompt)
    assert faults == []
    (row,) = read_rows(tmp_path / "rows.jsonl")
    clip = sample_video(root / "b.mp4", BUDGET)
    messages = segment_messages(3.0) if prompt == "project" else row.prompt
    encoded = encode_prompt(shared_processor(), messages, [clip])
    assert row.timeline is not None
    answer = shared_processor().tokenizer(row.timeline.to_json())["input_ids"]
    assert tokens == RowTokens(12, encoded.num_tokens, len(answer) + 1)


def test_without_an_answer_there_is_none_to_count(root: Path, tmp_path: Path, model: Path) -> None:
    tokens, faults = count(root, tmp_path, unanswered("b"), model=model)
    assert tokens.num_answer is None and tokens.num_prompt is not None
    assert faults == []


def test_without_a_model_the_text_is_not_counted(root: Path, tmp_path: Path) -> None:
    assert count(root, tmp_path, sft("b")) == (RowTokens(12, None, None), [])
    assert count(root, tmp_path, sft("b"), max_prompt_tokens=12) == (RowTokens(12, None, None), [])
    assert count(root, tmp_path, sft("b"), max_prompt_tokens=11) == (
        RowTokens(12, None, None),
        [("tokens", "12 of the video alone (text not counted)", "at most 11 in the prompt")],
    )


def test_limits_hold_to_the_token(root: Path, tmp_path: Path, model: Path) -> None:
    tokens, _ = count(root, tmp_path, sft("b"), model=model, prompt="row")
    num_prompt, num_answer = tokens.num_prompt, tokens.num_answer
    assert num_prompt is not None and num_answer is not None
    both = num_prompt + num_answer

    def faults(**limits: int | None) -> list[tuple[str, str, str]]:
        return count(root, tmp_path, sft("b"), model=model, prompt="row", **limits)[1]

    assert faults(max_prompt_tokens=num_prompt, max_tokens=both) == []
    assert faults(max_prompt_tokens=num_prompt - 1) == [
        (
            "tokens",
            f"{num_prompt} in the prompt, 12 of them the video",
            f"at most {num_prompt - 1} in the prompt",
        )
    ]
    assert faults(max_tokens=both - 1) == [
        (
            "tokens",
            f"{both}: prompt {num_prompt}, answer {num_answer}",
            f"at most {both - 1} in prompt and answer",
        )
    ]
    assert len(faults(max_prompt_tokens=1, max_tokens=1)) == 2
    assert faults(max_tokens=None) == []


@pytest.mark.parametrize("token", ["<|video_pad|>", "<|image_pad|>"])
def test_a_text_that_holds_a_vision_token(
    root: Path, tmp_path: Path, model: Path, token: str
) -> None:
    """It would pass for a picture; training refuses it, and only a tokenizer can tell."""
    row = sft("b")
    row["conversations"][0]["value"] = f"<video>\nSay {token}."
    tokens, faults = count(root, tmp_path, row, model=model, prompt="row")
    ((field, found, expected),) = faults
    assert (field, expected) == ("prompt", "a prompt for one video")
    assert "video" in found
    assert tokens == RowTokens(12, None, tokens.num_answer)
    assert count(root, tmp_path, row, model=model, prompt="project")[1] == []


def test_a_clip_without_length_in_one_decimal(tmp_path: Path, model: Path) -> None:
    write_clip(tmp_path / "flash.mp4", 1, time_base=Fraction(1, 25))
    row = unanswered("b", video="flash.mp4", video_duration=0.04)
    for changes in ({}, {"model": model}):
        tokens, faults = count(tmp_path, tmp_path, row, **changes)
        assert tokens == RowTokens(4, None, None)
        ((field, found, _),) = faults
        assert field == "prompt" and "cannot be segmented" in found


def test_a_folder_without_a_processor(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "gone"):
        with pytest.raises(ValueError, match=str(folder)):
            TokenCounter(settings(model=folder))


def test_a_fault_is_plain_data() -> None:
    assert Fault(1, None, "x", "y", "z") == Fault(1, None, "x", "y", "z")
