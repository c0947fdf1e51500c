"""Files of predictions: what is read, and what is refused by file and line."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.predictions import Answer, PredictionHeader, read_predictions
from tests.evaluation.files import write_lines

HEADER = {"header": {"model": "m"}}
GOOD = {"id": "a", "text": "{}", "num_tokens": 2, "finished": True, "error": None}


def test_reads_answers_and_failures(tmp_path: Path) -> None:
    failed = {"id": "b", "text": None, "num_tokens": None, "finished": None, "error": "b.mp4: bad"}
    found = read_predictions(write_lines(tmp_path / "p.jsonl", [HEADER, GOOD, "", failed]))
    assert found.header.model == "m"
    assert found.replies == {
        "a": Answer(text="{}", num_tokens=2, finished=True),
        "b": Answer(text=None, error="b.mp4: bad"),
    }
    assert found.line_numbers == {"a": 2, "b": 4}
    assert found.answered == {"a"}


def test_id_and_text_are_enough_for_another_system(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "p.jsonl", [HEADER, {"id": "a", "text": ""}])
    assert read_predictions(path).replies == {"a": Answer(text="")}


def test_a_later_try_replaces_a_failure(tmp_path: Path) -> None:
    failed = {"id": "a", "text": None, "error": "no picture"}
    found = read_predictions(write_lines(tmp_path / "p.jsonl", [HEADER, failed, failed, GOOD]))
    assert found.replies["a"].text == "{}"
    assert found.line_numbers["a"] == 4


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param([], "is empty", id="empty file"),
        pytest.param([GOOD], r":1: the first line must be .*header", id="no header"),
        pytest.param([{"header": {}}], r":1: header field model: ", id="no model"),
        pytest.param([{"header": 3}], r":1: header field header: ", id="header a number"),
        pytest.param([HEADER, "{not json"], r":2: not JSON", id="bad line"),
        pytest.param([HEADER, GOOD, '{"id": "b", "te'], r":3: not JSON", id="cut line"),
        pytest.param([HEADER, [1]], r":2: an object", id="line a list"),
        pytest.param([HEADER, GOOD, GOOD], r":3: id 'a' was answered on line 2", id="twice"),
        pytest.param(
            [HEADER, GOOD, {"id": "a", "text": None, "error": "x"}],
            r":3: id 'a' was answered on line 2",
            id="failed after an answer",
        ),
        pytest.param([HEADER, {"text": "x"}], r":2: field 'id' is missing", id="no id"),
        pytest.param([HEADER, {"id": "", "text": "x"}], r":2: field 'id' is empty", id="blank id"),
        pytest.param([HEADER, {"id": 3, "text": "x"}], r":2: field 'id' can't be int", id="int id"),
        pytest.param([HEADER, {"id": "a"}], r":2: field 'text' is missing", id="no text"),
        pytest.param([HEADER, {"id": "a", "text": None}], r":2: needs either", id="null text"),
        pytest.param([HEADER, GOOD | {"error": "x"}], r":2: needs either", id="text and error"),
        pytest.param([HEADER, GOOD | {"text": 3}], r":2: field 'text' can't be int", id="int text"),
        pytest.param(
            [HEADER, GOOD | {"num_tokens": True}], r":2: field 'num_tokens' can't", id="bool count"
        ),
        pytest.param([HEADER, GOOD | {"reply": "x"}], r":2: unknown field 'reply'", id="unknown"),
        pytest.param(
            [HEADER, '{"id": "a", "text": "x", "text": "y"}'],
            r":2: .*more than once",
            id="key twice",
        ),
    ],
)
def test_refused_by_file_and_line(tmp_path: Path, lines: list[Any], message: str) -> None:
    path = write_lines(tmp_path / "p.jsonl", lines)
    with pytest.raises(ValueError, match=message) as caught:
        read_predictions(path)
    assert str(caught.value).startswith(str(path))


def test_bytes_that_are_no_utf8_are_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(json.dumps(HEADER).encode() + b'\n{"id": "\xff", "text": ""}\n')
    with pytest.raises(ValueError, match=r"p\.jsonl:2: not UTF-8"):
        read_predictions(path)


def test_an_answer_is_a_text_or_an_error() -> None:
    with pytest.raises(ValueError, match="either a text or an error"):
        Answer(text=None)
    with pytest.raises(ValueError, match="either a text or an error"):
        Answer(text="x", error="y")


def test_differences_name_fields_but_not_places() -> None:
    one = PredictionHeader(model="a", rows="x.jsonl", temperature=0.0, budget={"fps": 2.0})
    other = PredictionHeader(model="b", rows="y.jsonl", temperature=0.8, budget={"fps": 1.0})
    assert one.differences(other) == [
        "budget: {'fps': 2.0} in the file, {'fps': 1.0} now",
        "temperature: 0.0 in the file, 0.8 now",
    ]
    assert one.differences(one.model_copy(update={"video_root": "elsewhere"})) == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["header", "model", "id", "text", "error"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.lists(json_values, max_size=4))
def test_any_lines_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("any") / "p.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    try:
        found = read_predictions(path)
    except ValueError as error:
        assert str(error).startswith(str(path))
    else:
        assert len(found.replies) <= len(lines) - 1
