"""The YAML reader: which text is which value, what is refused, and that dumping is the inverse."""

import contextlib
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from affect.config.strict_yaml import dump_yaml, format_value, parse_value, read_yaml_mapping


def read(tmp_path: Path, text: str) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    return read_yaml_mapping(path)


SCALARS = [
    ("2e-6", 2e-6),
    ("2E6", 2e6),
    ("1.e3", 1000.0),
    ("-.5", -0.5),
    ("1_000.5", 1000.5),
    (".inf", math.inf),
    ("2.0", 2.0),
    ("10", 10),
    ("50_176", 50176),
    ("017", 17),
    ("0o17", 15),
    ("0x1F", 31),
    ("-3", -3),
    ("true", True),
    ("False", False),
    ("null", None),
    ("~", None),
    ("", None),
    ("on", "on"),
    ("off", "off"),
    ("no", "no"),
    ("1:30", "1:30"),
    ("2024-01-01", "2024-01-01"),
    ("e5", "e5"),
    ("1e", "1e"),
    ("1.2.3", "1.2.3"),
    ('"2e-6"', "2e-6"),
    ("runs/x", "runs/x"),
    ("[1, 2e-6, on]", [1, 2e-6, "on"]),
    ("{a: 1e1}", {"a": 10.0}),
]


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_value_of_text(tmp_path: Path, text: str, value: object) -> None:
    from_file = read(tmp_path, f"key: {text}\n")[0]["key"]
    from_command_line = parse_value(text)
    assert (from_file, type(from_file)) == (value, type(value))
    assert (from_command_line, type(from_command_line)) == (value, type(value))


def test_plain_pyyaml_differs() -> None:
    """Why this reader exists: fails on the day it can go."""
    assert yaml.safe_load("2e-6") == "2e-6"
    assert yaml.safe_load("off") is False


@pytest.mark.parametrize(
    "text", ["a: b", "*.mp4", "# x", "&y", "!!int 3", "- 1", "%d", "@x", "^.*q$"]
)
def test_text_without_bracket_or_quote_is_a_string(text: str) -> None:
    assert parse_value(text) == text


@pytest.mark.parametrize("text", ["[qv]_proj", "[1, 2", '"open', "{a: 1, a: 2}", "[*x]"])
def test_bad_bracketed_value(text: str) -> None:
    with pytest.raises(ValueError):
        parse_value(text)


REFUSED = [
    ("a: 1\nb: 2\na: 3\n", 'x.yaml:3: key "a" is given twice'),
    ("video:\n  fps: 1\n  fps: 2\n", 'x.yaml:3: key "fps" is given twice'),
    ("1: a\n", "x.yaml:1: a key must be a name"),
    ("true: a\n", "x.yaml:1: a key must be a name"),
    ("[a]: b\n", "x.yaml:1: a key must be a name"),
    ("a: &x 1\nb: *x\n", "x.yaml:1: anchors and aliases"),
    ("b: *x\n", "x.yaml:1: anchors and aliases"),
    ("a: !!python/object/apply:os.system ['true']\n", "x.yaml:1: could not determine"),
    ("a: !!python/name:os.system\n", "x.yaml:1: could not determine"),
    ("a: !mine 1\n", "x.yaml:1: could not determine"),
    ("a: 1\n b: 2\n", "x.yaml:2: "),
    ("a: [1\n", "x.yaml:2: "),
    ("- 1\n- 2\n", "x.yaml: expected a mapping of keys, found list"),
    ("word\n", "x.yaml: expected a mapping of keys, found str"),
    ("a: 1\n---\nb: 2\n", "x.yaml:2: but found another document"),
    ("a: " + "[" * 5000, "x.yaml: nested too deeply"),
    ("a: \x00\n", "x.yaml: "),
    ("a: !!int x\n", "x.yaml: "),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"a: \xff\xfe\n")
    with pytest.raises(ValueError, match=r"x\.yaml: not UTF-8"):
        read_yaml_mapping(tmp_path / "x.yaml")


def test_lines_of_keys(tmp_path: Path) -> None:
    value, lines = read(tmp_path, "# head\na: 1\n\nb:\n  c: 2\n  d: [1]\n")
    assert value == {"a": 1, "b": {"c": 2, "d": [1]}}
    assert lines == {("a",): 2, ("b",): 4, ("b", "c"): 5, ("b", "d"): 6}


@pytest.mark.parametrize("text", ["", "# only a comment\n", "\ufeff", "---\n"])
def test_empty_file_is_an_empty_mapping(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text) == ({}, {})


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(["2e-6", "on", "null", "017", "0o17", "1_0", "~", "<<", "=", "2024-01-01"]),
)
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(names, inner), max_leaves=8
)


@given(st.dictionaries(names, values))
def test_dump_then_read_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, value: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "round.yaml"
    path.write_bytes(dump_yaml(value).encode())
    back = read_yaml_mapping(path)[0]
    assert back == value
    assert repr(back) == repr(value)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        parse_value(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (2e-06, "2e-06"),
        ("on", "'on'"),
        ("", "''"),
        ((1, 2), "[1, 2]"),
    ],
)
def test_format_value(value: object, text: str) -> None:
    assert format_value(value) == text
