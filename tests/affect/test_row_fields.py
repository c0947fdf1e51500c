"""A stored row is read to the end: every fault is listed, with what was found and expected."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.field_error import MAX_SHOWN_CHARACTERS, AnswerError, FieldError, shown
from affect.row import OWN_FIELDS
from affect.row_fields import examine_object
from affect.row_formats import row_from_object
from tests.affect.test_records import BAD_ROWS, GRPO, SFT, sft

Table = list[tuple[str, str, str]]


def examined(stored: dict[str, Any]) -> Table:
    faults = examine_object(stored, 0.15).faults
    return [(fault.field, fault.found, fault.expected) for fault in faults]


@pytest.mark.parametrize("stored", [SFT, GRPO])
def test_a_good_row_has_all_parts_and_no_faults(stored: dict[str, Any]) -> None:
    parts = examine_object(stored, 0.15)
    assert parts.faults == ()
    assert parts.row is not None
    assert (parts.id, parts.video, parts.duration_seconds) == ("clip_1", "real/clip_1.mp4", 9.0)
    assert (parts.prompt, parts.timeline) == (parts.row.prompt, parts.row.timeline)
    assert parts.answer_field == ("solution" if stored is GRPO else "conversations[1].value")


def test_every_field_of_a_row_that_is_wrong_all_over() -> None:
    stored = {
        "id": 7,
        "video": "../a.mp4",
        "videos": ["a.mp4"],
        "video_duration": "9",
        "source": 3,
        "conversations": [
            "x",
            {"from": "user", "value": "<video>"},
            {"from": "human"},
            {"from": "gpt", "value": json.dumps({"segments": []})},
        ],
    }
    parts = examine_object(stored, 0.15)
    assert [
        (fault.field, fault.found, fault.expected)
        for fault in parts.faults
        if not isinstance(fault, AnswerError)
    ] == [
        ("id", "7", "a text that is not blank"),
        ("video_duration", "'9'", "seconds above 0"),
        ("videos", "['a.mp4']", "no videos on an SFT row"),
        ("conversations[0]", "'x'", "an object"),
        ("conversations[1].from", "'user'", "one of system, human, gpt"),
        ("conversations[2]", "the fields from", "the fields from and value"),
        ("video", "'../a.mp4'", "a path under the video folder"),
        ("source", "3", "a text, or nothing"),
    ]
    (bad_answer,) = [fault for fault in parts.faults if isinstance(fault, AnswerError)]
    assert bad_answer.field == "conversations[3].value"
    assert bad_answer.faults == ("empty: there is no segment",)
    assert parts.row is parts.id is parts.video is parts.duration_seconds is None


def test_an_empty_object() -> None:
    assert examined({}) == [
        ("id", "nothing", "a text"),
        ("video_duration", "nothing", "seconds above 0"),
        (
            "conversations",
            "nothing",
            "one of conversations (SFT) and messages (GRPO)",
        ),
        ("video", "nothing", "one path"),
    ]


def test_all_faults_of_an_answer() -> None:
    segments = [
        {"start_time": 1.0, "end_time": 4.0, "emotion": "Happy", "reason": ""},
        {"start_time": 5.0, "end_time": 8.0, "emotion": "Joy", "reason": "They dance."},
    ]
    turns = [SFT["conversations"][0], {"from": "gpt", "value": json.dumps({"segments": segments})}]
    (fault,) = examine_object(sft(conversations=turns), 0.15).faults
    assert isinstance(fault, AnswerError)
    assert [text.split(":")[0] for text in fault.faults] == [
        "start", "gap", "end", "emotion", "blank_reason",
    ]  # fmt: skip
    assert str(fault).startswith("conversations[1].value: not a timeline: start: segments[0] st")


@pytest.mark.parametrize("emotion", ["Joy", "Happy"])
def test_without_a_duration_the_answer_is_read_but_for_its_end(emotion: str) -> None:
    value = SFT["conversations"][1]["value"].replace("Joy", emotion)
    turns = [SFT["conversations"][0], {"from": "gpt", "value": value}]
    parts = examine_object(sft(conversations=turns, video_duration=None), 0.15)
    fields = [fault.field for fault in parts.faults]
    assert fields == ["video_duration", *(["conversations[1].value"] if emotion == "Happy" else [])]
    assert parts.timeline is None and parts.answer_field == "conversations[1].value"


@pytest.mark.parametrize(("stored", "message"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_the_first_fault_is_the_one_that_is_raised(stored: Any, message: str) -> None:
    faults = examine_object(stored, 0.15).faults
    with pytest.raises(FieldError, match=f"^{message}") as raised:
        row_from_object(stored, 0.15)
    assert str(raised.value) == str(faults[0])
    assert all(fault.found and fault.expected for fault in faults)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(["<video>", "a.mp4", "human", "gpt", "user", "text", "half \ud83d"])
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["from", "value", "role", "content", "type", "text", "segments"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(OWN_FIELDS | {"note"})), VALUES))
def test_no_object_escapes(stored: dict[str, Any]) -> None:
    parts = examine_object(stored, 0.15)
    assert (parts.row is None) == bool(parts.faults)
    if parts.row is None:
        with pytest.raises(FieldError):
            row_from_object(stored, 0.15)
    else:
        assert row_from_object(stored, 0.15) == parts.row


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\x1b[2J\n", r"'a\x1b[2J\n'"),
        ("half \ud83d", r"'half \ud83d'"),
        ("x" * 200, "'" + "x" * (MAX_SHOWN_CHARACTERS - 1) + "... (202 characters)"),
    ],
)
def test_shown_values_are_harmless(value: str, text: str) -> None:
    assert shown(value) == text
