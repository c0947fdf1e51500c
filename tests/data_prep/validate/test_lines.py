"""Every line is read, whatever stands on the others, and every fault of each is named."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from affect.parsing import __doc__ as parsing_text
from data_prep.validate.fault import ANSWER_RULES, Fault
from data_prep.validate.lines import read_lines
from tests.data_prep.validate.drawn import answer, grpo, sft, write_lines

NO_DEADLINE = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def faults(path: Path, *lines: dict[str, Any] | bytes, needs_answer: bool = False) -> list[Fault]:
    return read_lines(write_lines(path, *lines), needs_answer=needs_answer)[1]


def places(found: list[Fault]) -> list[tuple[int, str | None, str]]:
    return [(fault.line, fault.id, fault.field) for fault in found]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def test_both_formats_are_read(path: Path) -> None:
    lines, found = read_lines(write_lines(path, sft("a"), grpo("b")), needs_answer=True)
    assert found == []
    assert [(one.number, one.id, one.video, one.duration_seconds) for one in lines] == [
        (1, "a", "a.mp4", 2.0),
        (2, "b", "b.mp4", 3.0),
    ]
    assert [one.answer_field for one in lines] == ["conversations[1].value", "solution"]
    assert json.loads(str(lines[0].answer))["segments"][1]["end_time"] == 2.0


def test_a_byte_order_mark_windows_lines_and_blank_lines_are_no_faults(path: Path) -> None:
    first, second = (json.dumps(row).encode() for row in (sft("a"), grpo("b")))
    path.write_bytes(b"\xef\xbb\xbf" + first + b"\r\n\r\n   \n" + second + b"\r\n\n")
    lines, found = read_lines(path, needs_answer=True)
    assert found == []
    assert [one.number for one in lines] == [1, 4]


BROKEN_LINES = {
    b"{broken": "not JSON",
    b"\xff\xfe": "not UTF-8 at byte 0",
    b'{"id": "\xe9"}': "not UTF-8 at byte 8",
    b"[]": "an object {...} is needed, not list",
    b"7": "an object {...} is needed, not int",
    b"null": "an object {...} is needed, not NoneType",
    b'{"id": "x", "id": "y"}': "the key 'id' is written more than once",
    b'{"video_duration": NaN}': "NaN is no JSON number",
    b'{"video_duration": -Infinity}': "-Infinity is no JSON number",
    b'{"video_duration": 1e999}': "1e999 is too large a number",
    b'{"a": ' * 100_000: "nested too deeply",
    b'{"n": ' + b"9" * 5000 + b"}": "4300 digits",
    '{"id": "x"}'.encode("utf-16"): "not UTF-8",
    b'{"id": "x"} {"id": "y"}': "Extra data",
}


def test_broken_lines_spoil_no_others(path: Path) -> None:
    found = faults(path, sft("a"), *BROKEN_LINES, grpo("b", solution=None), needs_answer=True)
    by_line = {fault.line: fault for fault in found}
    # The UTF-16 line has a newline byte of its own kind, and ends in what follows it.
    assert len(by_line) == len(found) == len(BROKEN_LINES) + 1
    for number, (line, message) in enumerate(BROKEN_LINES.items(), 2):
        assert by_line[number].field == "line", line[:40]
        assert message in by_line[number].found, line[:40]
        assert by_line[number].expected == "one JSON object in UTF-8"
    assert places(found[-1:]) == [(len(BROKEN_LINES) + 2, "b", "solution")]


def test_ids_that_stand_twice(path: Path) -> None:
    found = faults(path, sft("a"), sft("b", id="a"), grpo("b"), grpo("a"))
    assert [(fault.line, fault.found) for fault in found] == [
        (2, "'a', as on line 1"),
        (4, "'a', as on line 1"),
    ]


@pytest.mark.parametrize("row", [sft("a", conversations=sft("a")["conversations"][:1]), grpo("a")])
@pytest.mark.parametrize("needs_answer", [False, True])
def test_a_row_without_an_answer(path: Path, row: dict[str, Any], needs_answer: bool) -> None:
    row.pop("solution", None)
    found = faults(path, row, needs_answer=needs_answer)
    place = "solution" if "messages" in row else "conversations"
    expected = [Fault(1, "a", place, "no answer", "an answer")] if needs_answer else []
    assert found == expected


@pytest.mark.parametrize("make", [sft, grpo])
def test_every_fault_of_an_answer_is_a_line_of_its_own(path: Path, make: Any) -> None:
    text = answer((0.5, 1.0, "Happy", " "), (1.5, 1.2, "Joy", "Ha."), (1.2, 1.7, "Joy", "Ha."))
    row = make("a", reply=text) if make is sft else make("a", solution=text)
    found = faults(path, row)
    place = "solution" if make is grpo else "conversations[1].value"
    assert {fault.field for fault in found} == {place}
    assert [fault.expected for fault in found] == [
        "the first segment starts at 0",
        "each segment starts where the one before ends",
        "each segment ends after its start",
        "the last segment ends where the clip ends",
        "one of the 27 emotions",
        "a reason in words",
        "another emotion than the segment before",
    ]
    assert found[4].found == "segments[0] has 'Happy', none of the 27"


def test_a_segment_that_vanishes_in_one_decimal(path: Path) -> None:
    text = answer((0.0, 1.01, "Joy", "Ha."), (1.01, 1.04, "Fear", "Oh."), (1.04, 2.0, "Joy", "Ha."))
    (fault,) = faults(path, sft("a", reply=text))
    assert fault.field == "conversations[1].value"
    assert fault.found.startswith("segments[1] lasts 0.030 s and has no length left in one decimal")


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf", b" \r\n\n"])
def test_a_file_without_rows(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert read_lines(path, needs_answer=False) == (
        [],
        [Fault(0, None, "file", "no rows", "at least one row")],
    )


def test_every_fault_that_a_parse_can_name_has_its_rule() -> None:
    """The parser's text lists the names in back quotes after "and a colon:"."""
    named = str(parsing_text).split("and a colon:")[1].split("`")[1::2]
    names = {name for name in named if name.islower() and " " not in name}
    names -= {"timeline_faults"}
    assert len(names) > 8
    assert names <= set(ANSWER_RULES)


@NO_DEADLINE
@given(st.lists(st.binary(max_size=30) | st.sampled_from([b'{"id": "a"}', b"{}"]), max_size=6))
def test_any_bytes_are_read(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(b"\n".join(lines))
    read, found = read_lines(path, needs_answer=False)
    assert found, "no row of these is whole"
    assert [fault.line for fault in found] == sorted(fault.line for fault in found)
    assert {one.number for one in read} <= {fault.line for fault in found}
