"""What an entry of another system's file says: its id, and its reply as it came."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.parsing import parse_reply
from evaluation.foreign.json_entries import Entry
from evaluation.foreign.replies import read_answer, read_entries, read_id
from evaluation.predictions import Answer


def entry(tmp_path: Path, line: str, name: str = "a.jsonl") -> Entry:
    path = tmp_path / name
    path.write_text(line, encoding="utf-8")
    (found,) = read_entries(path)
    return found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ('{"id": "a", "video": "b"}', ("a", "id")),
        ('{"id": null, "video_id": 17}', ("17", "video_id")),
        ('{"videos": ["x/a.mp4"], "path": "y"}', ("x/a.mp4", "videos")),
        ('{"videos": [{"path": "x/a.mp4", "bytes": null}]}', ("x/a.mp4", "videos")),
    ],
)
def test_the_first_field_that_is_not_null_is_the_id(
    tmp_path: Path, line: str, found: tuple[str, str]
) -> None:
    assert read_id(entry(tmp_path, line), None) == found


@pytest.mark.parametrize(
    ("line", "field", "fault"),
    [
        ('{"name": "a"}', None, r":1: no id: the fields are 'name'; looked for id, .*--id-field"),
        ('{"id": "a"}', "clip", r":1: no id: .* looked for clip"),
        ('{"id": ""}', None, r":1: id: an id or one path is needed"),
        ('{"id": true}', None, r":1: id: an id or one path is needed, not 'true'"),
        ('{"videos": ["a", "b"]}', None, r":1: videos: an id or one path"),
        ('{"id": 1.5}', None, r":1: id: an id or one path"),
    ],
)
def test_no_id_is_refused(tmp_path: Path, line: str, field: str | None, fault: str) -> None:
    with pytest.raises(ValueError, match=rf"a\.jsonl{fault}"):
        read_id(entry(tmp_path, line), field)


CHAT = '[{"role": "user", "content": "q"}, {"role": "assistant", "content": %s}]'


@pytest.mark.parametrize(
    ("line", "field", "text"),
    [
        ('{"text": ""}', None, ""),
        ('{"response": " r\\n\\ud83d"}', None, " r\n\ud83d"),
        ('{"text": null, "raw_output": "r"}', None, "r"),
        ('{"response": "r", "segments": [1]}', None, "r"),
        ('{"response": "r", "messages": ' + CHAT % '"r"' + "}", None, "r"),
        ('{"messages": ' + CHAT % '"m"' + "}", None, "m"),
        ('{"messages": ' + CHAT % '[{"type": "text", "text": "m"}]' + "}", None, "m"),
        ('{"text": "prompt", "mine": "r"}', "mine", "r"),
        ('{"answer": "r", "output": "r"}', None, "r"),
        ('{"error": "", "output": "r"}', None, "r"),
        ('{"error": false, "output": "r"}', None, "r"),
    ],
)
def test_a_text_stays_as_it_came(tmp_path: Path, line: str, field: str | None, text: str) -> None:
    read = read_answer(entry(tmp_path, line), field)
    assert (read.answer, read.kind) == (Answer(text), "text")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('{"segments": [ {"a": 1.50, "a": NaN}]}', '{"segments": [ {"a": 1.50, "a": NaN}]}'),
        ('{"prediction": [1e999 ]}', '{"segments": [1e999 ]}'),
        ('{"segments": {"segments" : [], "n": 1}}', '{"segments" : [], "n": 1}'),
        ('{"response": {"segments" : null}}', '{"segments" : null}'),
    ],
)
def test_a_structured_reply_is_its_own_text(tmp_path: Path, line: str, text: str) -> None:
    read = read_answer(entry(tmp_path, line), None)
    assert (read.answer, read.kind) == (Answer(text), "structured")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ('{"response": null}', "response is null in a.jsonl:1"),
        ('{"segments": null, "id": "a"}', "segments is null in a.jsonl:1"),
        ('{"response": "half of", "error": "timeout"}', "timeout"),
        ('{"error": {"code": 503}}', '{"code": 503}'),
        ('{"messages": ' + CHAT % "null" + "}", "messages is null in a.jsonl:1"),
    ],
)
def test_no_reply_is_a_failure_with_its_reason(tmp_path: Path, line: str, error: str) -> None:
    read = read_answer(entry(tmp_path, line), None)
    assert (read.answer, read.kind) == (Answer(None, error=error), "failed")


@pytest.mark.parametrize(
    ("line", "field", "fault"),
    [
        ('{"id": "a"}', None, r"no reply: the fields are 'id'; looked for text, .*--reply-field"),
        ('{"prediction": "p", "answer": "truth"}', None, "prediction and answer hold different"),
        ('{"text": "r"}', "reply", "there is no field 'reply'"),
        ('{"text": 3}', None, "text: a text, a list of segments or an object with segments"),
        ('{"text": {"a": 1}}', None, "text: a text, a list of segments"),
        ('{"messages": [{"role": "user", "content": "q"}]}', None, "an assistant's turn"),
        ('{"messages": []}', None, "an assistant's turn"),
        ('{"messages": ' + CHAT % '[{"type": "image"}]' + "}", None, "more than text"),
    ],
)
def test_what_may_be_no_reply_is_refused(
    tmp_path: Path, line: str, field: str | None, fault: str
) -> None:
    with pytest.raises(ValueError, match=rf"a\.jsonl:1: .*{fault}|a\.jsonl:1: {fault}"):
        read_answer(entry(tmp_path, line), field)


def test_length_and_end_are_those_of_our_own_files_only(tmp_path: Path) -> None:
    ours = '{"id": "a", "text": "r", "num_tokens": 7, "finished": false, "error": null}'
    assert read_answer(entry(tmp_path, ours), None).answer == Answer("r", 7, False)
    theirs = '{"id": "a", "text": "r", "num_tokens": 7, "model": "m"}'
    assert read_answer(entry(tmp_path, theirs), None).answer == Answer("r")


def test_lines_of_a_csv_are_the_segments_of_their_videos(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        'Video,start,end,Emotion,reason\nb,4.20,8,Joy,"a ""b"""\na,.5,nan,Fear,\nb,0:01,9,x,y\n',
        encoding="utf-8",
    )
    first, second = read_entries(path)
    assert (first.place, read_id(first, None)) == (f"{path}:2", ("b", "video"))
    assert read_answer(first, None).answer.text == (
        '{"segments": [{"start_time": 4.20, "end_time": 8, "emotion": "Joy", "reason": "a \\"b\\""'
        '}, {"start_time": "0:01", "end_time": 9, "emotion": "x", "reason": "y"}]}'
    )
    assert read_answer(second, None).answer.text == (
        '{"segments": [{"start_time": 0.5, "end_time": NaN, "emotion": "Fear", "reason": ""}]}'
    )


def test_a_csv_may_hold_one_reply_a_line(tmp_path: Path) -> None:
    found = entry(tmp_path, 'id,response\na,"x, y"\n', "a.csv")
    assert read_id(found, None) == ("a", "id")
    assert read_answer(found, None).answer == Answer("x, y")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name,start,end,emotion\n", r":1: no column for the id: there are 'name', 'start'"),
        ("id,start,emotion\n", r":1: segments need the columns start, end and emotion"),
        ("id,start,end\n", r":1: segments need the columns"),
    ],
)
def test_a_csv_without_its_columns_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"a\.csv{fault}"):
        list(read_entries(path))


def test_a_csv_without_reasons_is_read_by_the_lenient_parse_and_not_by_the_strict(
    tmp_path: Path,
) -> None:
    found = entry(tmp_path, "video,start,end,emotion\na,0,4,Joy\na,4,8,Fear\n", "a.csv")
    text = read_answer(found, None).answer.text
    assert text is not None
    parsed = parse_reply(text, 8.0)
    assert len(parsed.segments) == 2 and parsed.timeline is None
    assert {fault.partition(":")[0] for fault in parsed.faults} == {"blank_reason"}


SEGMENTS = st.lists(
    st.dictionaries(st.text(max_size=4), st.floats() | st.text(max_size=4) | st.none(), max_size=3),
    max_size=3,
)


@given(SEGMENTS)
def test_any_segments_come_through(
    tmp_path_factory: pytest.TempPathFactory, segments: list[dict[str, Any]]
) -> None:
    raw = json.dumps(segments)
    found = entry(
        tmp_path_factory.mktemp("any"), json.dumps({"id": "a"})[:-1] + f', "segments": {raw}}}'
    )
    assert read_answer(found, None).answer.text == f'{{"segments": {raw}}}'
