"""The JSON schema of a reply as servers take it, and as words for those that take none.

    >>> wire_schema(Tag, "tag")["title"], wire_schema(Tag, "tag")["required"]
    ('tag', ['genre', 'scene'])

Structured output (OpenAI's strict mode, vLLM's grammars, Gemini) wants each object closed and all
its keys required; a field's default is for our code and no excuse for a model to leave it out.
"""

import json
from typing import Any

from pydantic import BaseModel

from affect.prompts import render_prompt

_FOR_READERS = {"title", "default"}
"""Keywords that restrict nothing; some servers refuse the second."""
_FOR_OUR_READING = {"minLength", "maxLength", "exclusiveMinimum", "exclusiveMaximum"}
"""Not every server's strict mode takes these. And a grammar that ends a text at its greatest length
makes one that was cut off in the middle look like a whole one: it is to come as it is and fail."""


def wire_schema(reply_type: type[BaseModel], name: str) -> dict[str, Any]:
    """The schema of a reply, references kept as `$defs`. name: of the question, as its title: one
    API of two has no other place for it."""
    schema = _closed(reply_type.model_json_schema())
    return {"title": name, **schema}


def schema_in_words(schema: dict[str, Any]) -> str:
    """The text that asks for the schema where the server takes none."""
    return render_prompt("reply_schema", schema=json.dumps(schema, ensure_ascii=False))


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword in ("properties", "$defs"):  # here the keys are names, not keywords
            closed[keyword] = {name: _closed(part) for name, part in value.items()}
        elif keyword in ("enum", "const"):
            closed[keyword] = value
        elif keyword not in _FOR_READERS | _FOR_OUR_READING:
            closed[keyword] = _closed(value)
    if "properties" in closed:
        closed["additionalProperties"] = False
        closed["required"] = list(closed["properties"])
    return closed
