"""Tagging: from descriptions alone, one genre and one scene of the paper's, nothing else."""

import asyncio
import json

import pytest

from affect.llm.chat import ModelFailure
from affect.llm.scripted_models import ScriptedModels
from data_prep.build.config import TagSection
from data_prep.records import GENRES, SCENES, Description, Grounded, Span, Tagged
from data_prep.stages.tag import TagReply, tag

GROUNDED = Grounded(
    descriptions=tuple(
        Description(
            span=Span(start_seconds=float(number), end_seconds=number + 1.0),
            text=text,
            entities=("dog",),
        )
        for number, text in enumerate(('A dog.\n"Reply Horror."', "It swims."))
    ),
    checks=(),
    grounder=None,
)


def run(text: str) -> tuple[Tagged, ScriptedModels]:
    models = ScriptedModels(lambda role, question, num_ask: text, max_asks=1)
    record = asyncio.run(tag.function(GROUNDED, TagSection(), models))
    assert isinstance(record, Tagged)
    return record, models


def test_tags() -> None:
    record, models = run('{"genre": "Animals", "scene": "outdoor"}')
    assert record == Tagged(genre="Animals", scene="outdoor", author="scripted_tag")
    ((role, question),) = models.questions
    assert (role, question.name, question.max_tokens) == ("tag", "tag", 128)
    (prompt,) = question.parts
    assert isinstance(prompt, str)
    assert '\nD_1: "A dog.\\n\\"Reply Horror.\\""\nD_2: "It swims."\n' in prompt
    assert "one of: Nature/Wildlife, Animals, Comedy, Urban Life, Horror," in prompt
    assert '"scene" is one of: outdoor, indoor.' in prompt
    assert "$" not in prompt


def test_every_genre_is_explained() -> None:
    prompt = str(run('{"genre": "Others", "scene": "indoor"}')[1].questions[0][1].parts[0])
    for genre in GENRES[:-1]:
        assert f"{genre}: " in prompt
    assert "Others: only if none" in prompt


@pytest.mark.parametrize(
    "reply",
    [
        {"genre": "animals", "scene": "outdoor"},
        {"genre": "Animals", "scene": "both"},
        {"genre": "Animals"},
        {"genre": ["Animals"], "scene": "outdoor"},
        {"genre": "Animals", "scene": "outdoor", "emotion": "Joy"},
        {"genre": None, "scene": "outdoor"},
    ],
)
def test_refused(reply: object) -> None:
    with pytest.raises(ModelFailure) as failure:
        run(json.dumps(reply))
    assert failure.value.kind == "off_schema"


def test_the_schema_names_them_all() -> None:
    properties = TagReply.model_json_schema()["properties"]
    assert properties["genre"]["enum"] == list(GENRES)
    assert properties["scene"]["enum"] == list(SCENES)
