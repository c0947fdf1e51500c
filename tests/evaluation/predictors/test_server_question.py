"""What a server is shown of a row, with which settings, and what its reply is worth."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from affect.llm.chat import Frame, Frames, VideoFile
from affect.llm.model_section import ModelSection
from affect.llm.reply import Reply
from affect.prompts import render_segment_prompt
from affect.records import Row, read_rows
from affect.taxonomy import DAR_EMOTIONS
from evaluation.predictions import Answer
from evaluation.predictors.server_question import (
    answer_of,
    asked_section,
    question_of,
    reply_schema,
    require_prices,
)
from evaluation.settings import Sampling, row_seed
from evaluation.shown import ShownClip
from tests.evaluation.files import write_lines

FRAMES = Frames("ab" * 32, (Frame(0.0, b"a"), Frame(0.52, b"b"), Frame(1.9, b"c")))
TIMES = (
    "The video is shown as pictures in order. They stand at these seconds of it: 0.00, 0.52, 1.90."
)
SAMPLING = Sampling(300)


def section(**settings: Any) -> ModelSection:
    return ModelSection.model_validate({"model": "m", **settings})


def clip(mime_type: str = "video/mp4") -> ShownClip:
    return ShownClip(VideoFile("cd" * 32, Path("a.mp4"), mime_type, FRAMES), 1.96)


@pytest.fixture
def row(tmp_path: Path) -> Row:
    """Its own prompt stands around the clip."""
    turns = [
        {"from": "system", "value": "You are brief."},
        {"from": "human", "value": "Look: <video>\nSegment it."},
    ]
    value = {"id": "a", "video": "a.mp4", "video_duration": 2.0, "conversations": turns}
    return read_rows(write_lines(tmp_path / "rows.jsonl", [value]))[0]


def test_pictures_come_with_their_times_and_the_decoded_duration(row: Row) -> None:
    asked = question_of(row, clip(), section(), "segment", SAMPLING)
    assert asked.parts == (TIMES, FRAMES, render_segment_prompt(1.96))
    assert (asked.system, asked.max_tokens, asked.seed) == ("", 300, 0)


@pytest.mark.parametrize(
    "settings", [{"media": "video_url"}, {"api": "gemini", "media": "inline"}], ids=str
)
def test_a_whole_clip_comes_alone(row: Row, settings: dict[str, str]) -> None:
    asked = question_of(row, clip(), section(**settings), "segment", SAMPLING)
    assert asked.parts == (clip().video, render_segment_prompt(1.96))


def test_a_container_that_gemini_does_not_take_comes_as_pictures(row: Row) -> None:
    settings = section(api="gemini", media="files")
    asked = question_of(row, clip("video/x-matroska"), settings, "segment", SAMPLING)
    assert asked.parts[:2] == (TIMES, FRAMES)


def test_a_rows_own_prompt_keeps_its_places(row: Row) -> None:
    asked = question_of(row, clip(), section(), "row", SAMPLING)
    assert asked.parts == ("Look: ", TIMES, FRAMES, "\nSegment it.")
    assert asked.system == "You are brief."
    bare = dataclasses.replace(row, prompt=({"role": "user", "content": [{"type": "video"}]},))
    asked = question_of(bare, clip(), section(), "row", SAMPLING)
    assert (asked.parts, asked.system) == ((TIMES, FRAMES), "")


def test_each_row_draws_with_its_own_seed(row: Row) -> None:
    other = dataclasses.replace(row, id="b")
    drawn = Sampling(300, temperature=0.8, seed=7)
    seeds = [
        question_of(one, clip(), section(), "segment", drawn).seed for one in (row, other, row)
    ]
    assert seeds == [row_seed(7, "a"), row_seed(7, "b"), row_seed(7, "a")]
    greedy = Sampling(300, seed=7)
    assert question_of(other, clip(), section(), "segment", greedy).seed == 7


def test_a_clip_too_short_is_a_rows_fault(row: Row) -> None:
    short = dataclasses.replace(clip(), duration_seconds=0.04)
    with pytest.raises(ValueError, match="cannot be segmented"):
        question_of(row, short, section(), "segment", SAMPLING)


def test_the_sampling_goes_to_the_server() -> None:
    drawn = Sampling(300, temperature=0.8, top_k=50, top_p=0.9)
    asked = asked_section(section(extra_body={"min_p": 0.1}), drawn)
    assert (asked.temperature, asked.top_p) == (0.8, 0.9)
    assert asked.extra_body == {"min_p": 0.1, "top_k": 50}
    thinking = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 1}}}
    asked = asked_section(section(api="gemini", extra_body=thinking), drawn)
    assert asked.extra_body["generationConfig"] == {
        "thinkingConfig": {"thinkingBudget": 1},
        "topK": 50,
    }
    assert asked_section(asked, drawn) == asked
    assert asked_section(section(), SAMPLING).extra_body == {}
    with pytest.raises(ValueError, match=r"--temperature 2\.5: a model on a server takes 0 to 2"):
        asked_section(section(), Sampling(300, temperature=2.5))


def test_a_schema_is_asked_for_only_where_it_was_said() -> None:
    assert reply_schema(asked_section(section(), SAMPLING)) is None
    assert reply_schema(asked_section(section(structured_output=False), SAMPLING)) is None
    said = asked_section(asked_section(section(structured_output=True), SAMPLING), SAMPLING)
    schema = reply_schema(said)
    assert schema is not None
    assert (schema["title"], schema["required"]) == ("segment", ["segments"])
    (segment,) = schema["$defs"].values()
    assert list(segment["properties"]) == ["start_time", "end_time", "emotion", "reason"]
    assert segment["properties"]["emotion"]["enum"] == list(DAR_EMOTIONS)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (Reply(" {} \n", "complete", 9, 4), Answer(" {} \n", 4, True)),
        (Reply("words", "complete"), Answer("words", None, True)),
        (Reply('{"seg', "cut_off", 9, 4), Answer('{"seg', 4, False)),
        (Reply("", "cut_off", 9, 4), Answer("", 4, False)),
        (Reply("", "empty", 9, 0), Answer("", 0, True)),
        (Reply("\n", "empty", 9, 1), Answer("\n", 1, True)),
        (Reply("", "refused", detail="no"), Answer(None, error="refused: no")),
        (Reply("I", "refused"), Answer(None, error="refused: the server does not say why")),
    ],
)
def test_replies_as_answers(reply: Reply, answer: Answer) -> None:
    assert answer_of(reply) == answer


def test_a_limit_needs_prices() -> None:
    priced = section(price_per_million_prompt_tokens=0.0, price_per_million_completion_tokens=0.0)
    require_prices(priced, 1.0)
    require_prices(section(), None)
    with pytest.raises(ValueError, match=r"--endpoint\.price_per_million_prompt_tokens"):
        require_prices(section(), 1.0)
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="--max-cost must be above 0"):
            require_prices(priced, wrong)
