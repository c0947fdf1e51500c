"""A right reply made wrong in one named way.

spoil('{"genre": "Sports"}', "fenced", schema)      # '```json\\n{"genre": "Sports"}\\n```'
spoil('{"score": 4}', "not_a_number", schema)       # '{"score": NaN}'
"""

import json
from collections.abc import Iterator
from typing import Any


def spoil(text: str, fault: str, schema: dict[str, Any] | None) -> str:
    """The text that a client gets in the place of the right one; faults that do not touch the text
    leave it alone. For the faults in JSON the text must be an object."""
    match fault:
        case "cut_off":
            return text[: max(1, len(text) * 2 // 3)]
        case "fenced":
            return f"```json\n{text}\n```"
        case "unknown_key":
            return json.dumps({**json.loads(text), "confidence": 0.9})
        case "wrong_schema":
            first, *rest = json.loads(text).items()
            return json.dumps({first[0]: {"unexpected": [True]}, **dict(rest)})
        case "not_a_number":
            return json.dumps(_with_nan(json.loads(text)))
        case "missing_key":
            return json.dumps(_without_a_key(json.loads(text), schema or {}))
        case _:
            return text


def _with_nan(reply: dict[str, Any]) -> dict[str, Any]:
    """NaN in the place of the last number there is, or of the first value."""
    numbers: list[tuple[Any, int | str]] = [
        (inside, key)
        for inside in _containers(reply)
        for key, value in (inside.items() if isinstance(inside, dict) else enumerate(inside))
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if not numbers:
        numbers.append((reply, next(iter(reply))))
    inside, key = numbers[-1]
    inside[key] = float("nan")
    return reply


def _without_a_key(reply: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Without the last needed key of the object that has most of them: a judge's last dimension."""
    objects = list(_needed_keys(reply, schema, schema))
    needing, keys = max(objects, key=lambda one: len(one[1]), default=(reply, list(reply)))
    del needing[keys[-1] if keys else next(iter(needing))]
    return reply


def _needed_keys(
    value: Any, schema: dict[str, Any], root: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Each object within, with those of its keys that its schema requires."""
    for one in _resolved(schema, root):
        if isinstance(value, dict):
            properties = one.get("properties", {})
            if needed := [key for key in one.get("required", []) if key in value]:
                yield value, needed
            for key in value:
                if key in properties:
                    yield from _needed_keys(value[key], properties[key], root)
        elif isinstance(value, list) and isinstance(one.get("items"), dict):
            for inner in value:
                yield from _needed_keys(inner, one["items"], root)


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema itself, what it refers to, and each of its alternatives."""
    if reference := schema.get("$ref"):
        target: Any = root
        for part in str(reference).removeprefix("#/").split("/"):
            target = target[part]
        yield from _resolved(target, root)
        return
    yield schema
    for one in schema.get("anyOf", []):
        yield from _resolved(one, root)


def _containers(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from _containers(inner)
    elif isinstance(value, list):
        yield value
        for inner in value:
            yield from _containers(inner)
