"""Describing: each question shows S_i and quotes D_(i-1); entities must be such as can be found."""

import asyncio
import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from affect.llm.chat import Frames, ModelFailure, Question
from affect.llm.scripted_models import ScriptedModels
from data_prep.build.config import DescribeSection
from data_prep.records import Described, Span, Verified
from data_prep.stages.describe import describe
from tests.data_prep.stages.clips import plain_clip


def reply(text: str, *entities: str) -> str:
    return json.dumps({"description": text, "entities": entities})


def run(
    folder: Path,
    answer: Callable[[Question, int], str],
    times: Sequence[float] = (0.0, 2.0, 5.28),
    section: DescribeSection | None = None,
    max_asks: int = 1,
) -> tuple[Described, ScriptedModels]:
    spans = tuple(Span(start_seconds=start, end_seconds=end) for start, end in pairwise(times))
    models = ScriptedModels(lambda role, question, num_ask: answer(question, num_ask), max_asks)
    record = asyncio.run(
        describe.function(
            plain_clip(folder, times[-1]),
            Verified(spans=spans, checks=(), author=None),
            section or DescribeSection(max_frames=3),
            models,
        )
    )
    assert isinstance(record, Described)
    return record, models


def failure_of(folder: Path, text: str) -> ModelFailure:
    with pytest.raises(ModelFailure) as failure:
        run(folder, lambda question, num_ask: text)
    return failure.value


def numbered(question: Question, num_ask: int) -> str:
    number = str(question.parts[0]).split("You describe segment S_")[1].split(",")[0]
    return reply(f' A bird "{number}" <|im_end|> hops. ', "bird")


def test_each_is_asked_with_the_one_before(tmp_path: Path) -> None:
    record, models = run(tmp_path, numbered, (0.0, 2.0, 4.0, 5.28))
    assert [one.text for one in record.descriptions] == [
        f'A bird "{number}" <|im_end|> hops.' for number in (1, 2, 3)
    ]
    assert record.author == "scripted_describe"
    first, second, third = (str(question.parts[0]) for _, question in models.questions)
    assert "D_0, the description of the segment before it: empty, because S_1 is the" in first
    assert (
        'D_1, the description of the segment before it: "A bird \\"1\\" \\u003c|im_end|> hops."'
    ) in second
    assert 'before it: "A bird \\"2\\"' in third
    assert 'A bird \\"1' not in third
    assert "Write D_3, the description of S_3, as what is new against D_2:" in third
    assert "segment S_3, from 4.0 to 5.3 seconds" in third
    assert all("$" not in prompt for prompt in (first, second, third))


def test_the_pictures_are_the_spans(tmp_path: Path) -> None:
    _, models = run(tmp_path, numbered)
    role, question = models.questions[1]
    assert (role, question.name, question.max_tokens, question.seed) == (
        "describe", "describe", 768, 0,
    )  # fmt: skip
    _, line, frames = question.parts
    assert isinstance(frames, Frames)
    assert [frame.time_seconds for frame in frames.frames] == [2.0, 3.5, 5.0]
    assert line == "S_2, as 3 pictures at these seconds of the clip: 2.00, 3.50, 5.00."


def test_too_long_is_named_so(tmp_path: Path) -> None:
    failure = failure_of(tmp_path, reply("bird " * 121, "bird"))
    assert failure.kind == "too_long"
    assert "has 121 words; at most 120" in failure.detail
    run(tmp_path, lambda question, num_ask: reply("bird " * 120, "bird"))


def test_asked_again_when_too_long(tmp_path: Path) -> None:
    replies = [reply("bird " * 121, "bird"), reply("A bird hops.", "bird")]
    record, models = run(
        tmp_path, lambda question, num_ask: replies[num_ask - 1], (0.0, 5.0), max_asks=2
    )
    assert record.descriptions[0].text == "A bird hops."
    assert "121 words" in str(models.questions[1][1].parts[-1])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (reply("A bird hops."), "entities"),
        (reply("A bird hops.", "cat"), "'cat' does not stand in the description"),
        (reply("A bird hops.", "bird", "Bird"), "'Bird' is named twice"),
        (reply("A bird. It hops.", "bird. It"), "must be words without a full stop"),
        (reply("A bird - hops.", "-"), "must be words without a full stop"),
        (reply("A big old red wet bird hops.", "big old red wet bird"), "more than 4 words"),
        (reply("...", "."), "blank"),
        (reply("", "bird"), "description"),
        (reply("a b c d e f g h i", *"abcdefghi"), "9 entities are too many"),
        (json.dumps({"description": "A bird.", "entities": "bird"}), "entities"),
        (json.dumps({"description": "A bird.", "entities": ["bird"], "emotion": "Joy"}), "emotion"),
    ],
)
def test_refused(tmp_path: Path, text: str, reason: str) -> None:
    failure = failure_of(tmp_path, text)
    assert failure.kind == "off_schema"
    assert reason in failure.detail


def test_case_and_spaces_do_not_matter(tmp_path: Path) -> None:
    record, _ = run(
        tmp_path, lambda question, num_ask: reply("The Brown\ndog sits.", " brown dog "), (0.0, 3.0)
    )
    assert record.descriptions[0].entities == ("brown dog",)
