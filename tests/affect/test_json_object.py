"""Finding objects in any text: against `json.loads`, against a slow search, and in linear time."""

import gc
import json
import math
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from affect.json_object import (
    MAX_DEPTH,
    BrokenObject,
    FoundObject,
    JsonObject,
    decode,
    decode_whole,
    find_objects,
    scan_object,
)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=12,
)
JSON_OBJECTS = st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=4)
SHAPES = st.text(alphabet='{}[],:"\\ 01-.eEtrufalsn\nNaInity\u00e9', max_size=40)
PIECES = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ",", ":", '"a"', '"', "1", "-", "null", "NaN", " ", "\\", "{}", "x"]
    ),
    max_size=25,
).map("".join)


def objects(text: str) -> list[str]:
    return [text[found.start : found.end] for found in find_objects(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("no object", []),
        ("{}", ["{}"]),
        ("{} {}", ["{}", "{}"]),
        ('a {"b": {"c": [1, {}]}} d', ['{"b": {"c": [1, {}]}}']),
        ('{"a": "}"}', ['{"a": "}"}']),
        ('{"a": "\\"}"}', ['{"a": "\\"}"}']),
        ("{ not json } {}", ["{}"]),
        ("use { then {}", ["{}"]),
        ('an odd " quote {} and "', ["{}"]),
        ('{"a": 1,} {}', ["{}"]),
        ('{"a": 01} {}', ["{}"]),
        ('{"a": +1} {}', ["{}"]),
        ('{"a": .5} {}', ["{}"]),
        ('{"a": 1.} {}', ["{}"]),
        ("{'a': 1} {}", ["{}"]),
        ("{\u201ca\u201d: 1} {}", ["{}"]),
        ('{"a" 1} {}', ["{}"]),
        ('{"a": [1 2]} {}', ["{}"]),
        ('{"a": [1}] {}', ["{}"]),
        ('{"a": [,]} {}', ["{}"]),
        ('{"a": "line\nbreak"} {}', ["{}"]),
        ('{"a": "\\x41"} {}', ["{}"]),
        ('{"a": "\\u12"} {}', ["{}"]),
        ('{"a": tru} {}', ["{}"]),
        ('{"a": nan} {}', ["{}"]),
        ('{"a": NaN, "b": -Infinity}', ['{"a": NaN, "b": -Infinity}']),
        ('{"a": "no end, {}', ["{}"]),
        ('{"a": "{}" oops', []),
        ('{"a": {"b": 1}, "c"', []),
        ("[1, 2] {}", ["{}"]),
        ('[{"a": 1}]', ['{"a": 1}']),
        ('{"a": oops {"b": 1}', ['{"b": 1}']),
    ],
)
def test_found(text: str, expected: list[str]) -> None:
    assert objects(text) == expected


def test_where_and_why_an_object_breaks() -> None:
    assert scan_object('x {"a": 1} y', 2) == FoundObject(2, 10)
    assert scan_object('{"a": 1,}', 0) == BrokenObject(0, 8, "'}' cannot stand at character 8")
    assert scan_object('{"a": [1', 0) == BrokenObject(0, 8, "the text ends inside it")
    assert scan_object('{"a": ?', 0) == BrokenObject(0, 6, "'?' cannot stand at character 6")
    assert "string at character 6" in getattr(scan_object('{"a": "b', 0), "reason", "")


def test_depth_is_bounded() -> None:
    deepest = '{"a":' + "[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1) + "}"
    assert objects(deepest) == [deepest]
    deeper = '{"a":' + "[" * MAX_DEPTH + "]" * MAX_DEPTH + "}"
    assert objects(deeper) == []
    assert "deeper than 16" in getattr(scan_object(deeper, 0), "reason", "")


def test_numbers_and_repeated_keys() -> None:
    many_digits = "9" * 5000
    decoded = decode(f'{{"a": 1, "b": 1e999, "c": {many_digits}, "d": -{many_digits}, "e": -0}}')
    assert decoded == {"a": 1.0, "b": math.inf, "c": math.inf, "d": -math.inf, "e": 0.0}
    assert all(isinstance(value, float) for value in decoded.values())
    repeated = decode('{"a": 1, "b": {"c": 1, "c": 2}, "a": 3, "a": 4}')
    assert repeated == {"a": 4.0, "b": {"c": 2.0}}
    assert repeated.repeated_keys == ("a",)
    assert isinstance(repeated["b"], JsonObject)
    assert repeated["b"].repeated_keys == ("c",)
    assert decode("{}").repeated_keys == ()


def python_decodes(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


@given(JSON_OBJECTS, st.booleans(), st.sampled_from([None, 1]))
def test_whatever_python_writes_is_found(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert objects(f"so: {text}\n") == [text]
    assert json.dumps(decode(text)) == json.dumps(json.loads(text, parse_int=float))


@given(SHAPES | PIECES)
@example("} ")
def test_the_grammar_is_pythons(text: str) -> None:
    """A text that begins with a brace is one object exactly when `json.loads` says so."""
    whole = "{" + text
    found = scan_object(whole, 0)
    complete = isinstance(found, FoundObject) and not whole[found.end :].strip(" \t\n\r")
    assert complete == python_decodes(whole)
    for candidate in objects(whole):
        decode(candidate)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", {}),
        (' \t\n\r{"a": 1} \r\n\t', {"a": 1.0}),
        ('{"a": "}{"}', {"a": "}{"}),
        ('{"a": Infinity}', {"a": math.inf}),
        ("", None),
        ("{} {}", None),
        ("[{}]", None),
        ('{"a": 1} x', None),
        ('\ufeff{"a": 1}', None),
        ('{"a": 1}\u00a0', None),
        ('{"a": 1,}', None),
        ('{"a": 01}', None),
        ('{"a": \u0661}', None),  # a digit, though none of JSON's
        ('{"a": "line\nbreak"}', None),
        ("{" * 100_000, None),
        ('{"a":' * 100_000, None),
    ],
)
def test_a_whole_text_decoded_at_once(text: str, expected: object) -> None:
    assert decode_whole(text) == expected


def test_so_many_brackets_are_left_to_the_scan() -> None:
    most = {"a": "[" * (MAX_DEPTH - 1)}
    assert decode_whole(json.dumps(most)) == most
    assert decode_whole(json.dumps({"a": "[" * MAX_DEPTH})) is None


BLANKS = st.text(alphabet=" \n", max_size=2)
WHOLE = st.tuples(BLANKS, JSON_OBJECTS.map(json.dumps), BLANKS).map("".join)


@given(WHOLE | SHAPES.map("{{{}}}".format) | PIECES | st.text(max_size=60))
def test_decoding_at_once_is_finding_and_decoding(text: str) -> None:
    whole, found = decode_whole(text), objects(text)
    if whole is not None:
        assert found == [text.strip(" \t\n\r")]
        slow = decode(found[0])
        # Not ==: NaN is unequal to itself, and repeated keys are no part of a dict.
        assert repr(whole) == repr(slow)
        assert whole.repeated_keys == slow.repeated_keys
    elif found == [text.strip(" \t\n\r")]:
        assert text.count("{") + text.count("[") > MAX_DEPTH


@given(SHAPES | PIECES | st.text(max_size=60))
def test_found_objects_are_apart_and_in_order(text: str) -> None:
    end = 0
    for found in find_objects(text):
        assert end <= found.start < found.end <= len(text)
        assert python_decodes(text[found.start : found.end])
        end = found.end


HOSTILE = {
    "braces": "{",
    "brackets": "[",
    "open objects": '{"a":',
    "open lists": '{"a":[',
    "escaped quotes": '{\\"',
    "odd quotes": '{x"',
    "open strings": '{"a',
    "empty": "{}",
    "commas": '{"a":1,',
    "spaces": "{ ",
    "escapes": '{"\\"',
    "lines": '{"a\n',
    "numbers": "{1e",
    "digits": "9",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("head", ["", '{"a": [', '{"a": "', '{"a": '])
def test_hostile_text_costs_linear_time(unit: str, head: str) -> None:
    def seconds(length: int) -> float:
        text = head + unit * (length // len(unit))
        spent = []
        for _ in range(3):  # the best of three, and no pause for a collection of others' garbage
            gc.disable()
            start = time.process_time()
            list(find_objects(text))
            spent.append(time.process_time() - start)
            gc.enable()
        return min(spent)

    # Ten times the text may cost ten times as long; quadratic would be a hundred times.
    assert seconds(60_000) < 40 * seconds(6_000) + 0.2


@settings(max_examples=50)
@given(st.text(alphabet='{}[]":,\\a1 ', min_size=1, max_size=6))
def test_repeated_rubbish_costs_linear_time(unit: str) -> None:
    start = time.perf_counter()
    list(find_objects(unit * (60_000 // len(unit))))
    assert time.perf_counter() - start < 5.0
