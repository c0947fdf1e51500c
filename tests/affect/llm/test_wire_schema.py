"""Schemas as structured output wants them: closed, everything required."""

import json
from enum import Enum
from typing import Annotated, Any, Literal

import openai.lib._pydantic as strict_of_openai
from pydantic import BaseModel, Field

from affect.llm.wire_schema import schema_in_words, wire_schema
from tests.affect.llm.replies import Tag


class Kind(Enum):
    title = "title"
    other = "default"


class Odd(BaseModel):
    """A reply."""

    title: str = Field("x", description="What it is called.")
    default: int | None = Field(None, ge=1)
    kind: Kind
    word: Literal["title", "default"]
    scores: dict[str, float]


def test_a_nested_reply() -> None:
    assert wire_schema(Tag, "tag") == {
        "title": "tag",
        "$defs": {
            "Inner": {
                "type": "object",
                "properties": {"score": {"type": "number"}, "note": {"type": "string"}},
                "additionalProperties": False,
                "required": ["score", "note"],
            }
        },
        "type": "object",
        "properties": {
            "genre": {"type": "string"},
            "number": {"type": "integer"},
            "inner": {"type": "array", "items": {"$ref": "#/$defs/Inner"}},
        },
        "additionalProperties": False,
        "required": ["genre", "number", "inner"],
    }


def test_names_that_are_keywords_stay() -> None:
    schema = wire_schema(Odd, "odd")
    assert schema["required"] == ["title", "default", "kind", "word", "scores"]
    assert schema["properties"]["title"] == {
        "type": "string",
        "description": "What it is called.",
    }
    assert schema["properties"]["default"] == {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]
    }
    assert schema["properties"]["word"]["enum"] == ["title", "default"]
    assert schema["$defs"]["Kind"]["enum"] == ["title", "default"]
    assert schema["properties"]["scores"] == {
        "type": "object",
        "additionalProperties": {"type": "number"},
    }


def test_bounds_of_texts_and_open_bounds_are_for_our_reading() -> None:
    class Bounded(BaseModel):
        text: str = Field(min_length=1, max_length=400)
        times: tuple[Annotated[float, Field(gt=0, lt=9)], ...] = Field(max_length=8)
        score: int = Field(ge=0, le=5)

    assert wire_schema(Bounded, "bounded")["properties"] == {
        "text": {"type": "string"},
        "times": {"type": "array", "items": {"type": "number"}, "maxItems": 8},
        "score": {"type": "integer", "minimum": 0, "maximum": 5},
    }


def test_it_is_what_openais_own_helper_makes_of_it() -> None:
    def plain(schema: Any) -> Any:
        if isinstance(schema, list):
            return [plain(part) for part in schema]
        if not isinstance(schema, dict):
            return schema
        return {name: plain(part) for name, part in schema.items() if not is_title(name, part)}

    def is_title(name: str, part: Any) -> bool:
        return (name == "title" and isinstance(part, str)) or name == "default"

    ours, theirs = wire_schema(Tag, "tag"), strict_of_openai.to_strict_json_schema(Tag)
    assert plain(ours) == plain(theirs)


def test_in_words() -> None:
    schema = wire_schema(Tag, "tag")
    words, _, quoted = schema_in_words(schema).partition("\n")
    assert words.startswith("Answer with one JSON object")
    assert json.loads(quoted) == schema
