"""JSON entry by entry: values, their own text, and hostile files refused by line."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.foreign.json_entries import Entry, read_json_entries


def written(tmp_path: Path, text: str | bytes, name: str = "theirs.json") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return path


def values(entries: list[Entry]) -> list[dict[str, Any]]:
    return [{name: one.value for name, one in entry.members.items()} for entry in entries]


def test_lines_a_list_and_keys_give_the_same(tmp_path: Path) -> None:
    lines = '{"id": "a", "text": "x"}\n\n{"id": "b", "text": null}\n'
    listed = '[\n{"id": "a", "text": "x"},\n {"id": "b", "text": null}\n]'
    keyed = '{"a": "x",\n "b": null}'
    jsonl = list(read_json_entries(written(tmp_path, lines, "a.jsonl")))
    assert values(jsonl) == [{"id": "a", "text": "x"}, {"id": "b", "text": None}]
    assert [entry.place.rpartition(":")[2] for entry in jsonl] == ["1", "3"]
    document = list(read_json_entries(written(tmp_path, listed)))
    assert values(document) == values(jsonl)
    assert [entry.place.rpartition(":")[2] for entry in document] == ["2", "3"]
    by_key = list(read_json_entries(written(tmp_path, keyed)))
    assert values(by_key) == [{"text": "x"}, {"text": None}]
    assert [(entry.key, entry.place[-2:]) for entry in by_key] == [("a", ":1"), ("b", ":2")]
    # Lines in a file called .json, and with a byte order mark and Windows' line ends.
    disguised = b"\xef\xbb\xbf" + lines.replace("\n", "\r\n").encode()
    assert values(list(read_json_entries(written(tmp_path, disguised)))) == values(jsonl)


def test_a_value_keeps_its_own_text(tmp_path: Path) -> None:
    raw = '[{"start_time": 0.50, "end_time": NaN, "end_time": 1e999, "n": -0}]'
    text = f'{{"id": 7, "segments" :\t{raw} , "half": "\\ud83d", "big": {"9" * 5000}}}'
    (entry,) = read_json_entries(written(tmp_path, text, "a.jsonl"))
    assert entry.members["segments"].raw == raw
    assert entry.members["id"].value == 7
    assert entry.members["half"].value == "\ud83d"
    assert entry.members["big"].value == float("inf")


def test_keys_may_hold_lists_and_objects(tmp_path: Path) -> None:
    text = '{"a": [{"x": 1}], "b": {"segments": [], "note": "n"}}'
    entries = list(read_json_entries(written(tmp_path, text)))
    assert values(entries) == [{"segments": [{"x": 1}]}, {"segments": [], "note": "n"}]


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.jsonl", '{"id": 1}\n{"id": \n', r":2: not JSON: Expecting value"),
        ("a.jsonl", '{"id": 1}\n[1]\n', r":2: an object \{...\} is needed"),
        ("a.jsonl", '{"id": 1} {"id": 2}\n', r":1: not JSON: there is more after the end"),
        ("a.jsonl", '{"id": 1, "id": 2}\n', r":1: the key 'id' is written more than once"),
        ("a.jsonl", b'{"id": 1}\n{"id": "\xff"}\n', r":2: not UTF-8 \(byte 0xff\)"),
        ("a.jsonl", '{"a": ' + "[" * 200_000 + "\n", r":1: (nested too deeply|not JSON)"),
        ("a.json", "", r":1: the file is empty"),
        ("a.json", "\n 3", r":2: a list \[...\] or an object"),
        ("a.json", "[\n{}\n,\n3]", r":4: each element of the list must be an object"),
        ("a.json", "[\n{}\n{}]", r":3: not JSON: a comma or \]"),
        ("a.json", "[\n{},\n\n", r":4: the file ends inside the list"),
        ("a.json", "[{}", r":1: not JSON: a comma or \]"),
        ("a.json", '{"a": 3\n}', r":1: under the id 'a' a text, an object"),
        ("a.json", '{"a": "x"\n"b": 2}', r":2: not JSON: a comma or \}"),
        ("a.json", "{'a': 2}", r":1: not JSON: a key in double quotes"),
        ("a.json", '{"a" "x"}', r":1: not JSON: a colon"),
        ("a.json", '{"a":\n"x"}\nmore', r":3: not JSON: there is more after the end"),
        ("a.json", '[{"a": "x\ny"}]', r":1: not JSON: Invalid control character"),
        ("a.json", '{"a": "x"}'.encode("utf-16"), r":1: not UTF-8"),
    ],
)
def test_what_is_broken_is_refused_by_line(
    tmp_path: Path, name: str, text: str | bytes, fault: str
) -> None:
    path = written(tmp_path, text, name)
    with pytest.raises(ValueError, match=rf"{name}{fault}"):
        list(read_json_entries(path))


def test_repeats_within_are_refused_only_where_asked(tmp_path: Path) -> None:
    path = written(tmp_path, '[{"id": "a", "segments": [{"x": 1, "x": 2}]}]')
    assert len(list(read_json_entries(path))) == 1
    with pytest.raises(ValueError, match=r":1: the key 'x' is written more than once"):
        list(read_json_entries(path, refuse_repeats=True))


SCALARS = st.none() | st.booleans() | st.integers(-999, 999) | st.floats() | st.text(max_size=8)
JSON_VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.lists(st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=4), max_size=4))
def test_any_list_of_objects_comes_back(
    tmp_path_factory: pytest.TempPathFactory, objects: list[dict[str, Any]]
) -> None:
    path = tmp_path_factory.mktemp("json") / "a.json"
    path.write_text(json.dumps(objects, indent=1), encoding="utf-8")
    entries = list(read_json_entries(path, is_lines=False))
    assert repr(values(entries)) == repr(objects)  # repr, because NaN is not NaN
    for entry in entries:
        for member in entry.members.values():
            assert repr(json.loads(member.raw)) == repr(member.value)


@given(st.binary(max_size=60) | st.text('[]{}",:0a \n\\', max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("bytes")
    for name in ("a.json", "a.jsonl"):
        path = written(folder, data, name)
        try:
            list(read_json_entries(path))
        except ValueError as error:
            assert str(error).startswith(f"{path}:")
