"""A reply is read strictly: one object, nothing around it, nothing mended."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from affect.llm.chat import TooLongError
from affect.llm.read_reply import UnusableReplyError, read_reply
from affect.llm.reply import Finish, Reply
from tests.affect.llm.replies import GOOD, Inner, Tag


def refused(text: str, allow_fence: bool = False) -> str:
    with pytest.raises(UnusableReplyError) as caught:
        read_reply(Reply(text, "complete"), Tag, allow_fence=allow_fence)
    assert caught.value.kind == "off_schema"
    return caught.value.reason


def test_a_good_reply() -> None:
    read = read_reply(Reply(f"\n {GOOD}\n", "complete"), Tag)
    assert read == Tag(genre="Sports", number=3, inner=(Inner(score=4.0, note="a"),))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It is sports.", "must be one JSON object"),
        ("[1]", "must be one JSON object"),
        (f"Here: {GOOD}", "must be one JSON object"),
        (f"{GOOD} Hope it helps", "goes on after its JSON object"),
        (GOOD + GOOD, "goes on after its JSON object"),
        (f"```json\n{GOOD}\n```", "must be one JSON object"),
        (GOOD[:-1], "no complete JSON object: the text ends inside it"),
        ("{" * 100_000, "no complete JSON object"),
        ('{"genre": ' + "[" * 100_000, "nests deeper than 16"),
        ('{"genre": "a", "number": 1, "genre": "b"}', "'genre' is written twice"),
        (
            '{"genre": "a", "number": 1, "inner": [{"score": 1, "score": 2}]}',
            "'score' is written twice",
        ),
        ('{"genre": "a", "number": NaN}', "number: the number is not finite"),
        ('{"genre": "a", "number": 1, "inner": [{"score": -Infinity}]}', "score: the number is"),
        ('{"genre": "a", "number": 1, "inner": [{"score": 1e999}]}', "score: the number is not"),
        ('{"genre": "a", "number": 1' + "0" * 5000 + "}", "number: the number is not finite"),
        ('{"genre": "a", "number": 1, "sure": true}', "sure: Extra inputs are not permitted"),
        (
            '{"genre": "a", "number": 1, "inner": [{"score": 1, "x": 2}]}',
            "inner.0.x: Extra inputs are not permitted",
        ),
        ('{"genre": "a"}', "number: Field required"),
        ('{"genre": "a", "number": "1"}', "number: Input should be a valid integer"),
        ('{"genre": "a", "number": 1.0}', "number: Input should be a valid integer"),
        ('{"genre": "a", "number": true}', "number: Input should be a valid integer"),
        ('{"genre": null, "number": 1}', "genre: Input should be a valid string"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    assert reason in refused(text)


def test_many_mistakes_are_told_together_but_not_all() -> None:
    entries = ", ".join('{"score": "x"}' for _ in range(7))
    reason = refused('{"genre": "a", "number": 1, "inner": [' + entries + "]}")
    assert reason.count("valid number") == 5
    assert reason.endswith("; and 2 more")


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```\n", " ```JSON \r\n{}\n  ```"])
def test_a_fence_is_allowed_where_no_schema_was_given(fence: str) -> None:
    text = fence.replace("{}", GOOD)
    assert read_reply(Reply(text, "complete"), Tag, allow_fence=True).genre == "Sports"
    assert "must be one JSON object" in refused(text)


@pytest.mark.parametrize(
    "text",
    [
        f"Sure:\n```json\n{GOOD}\n```",
        f"```json\n{GOOD}\n```\nDone.",
        f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```",
        f"```json\n{GOOD}",
        f"```json\n{GOOD}{GOOD}\n```",
    ],
)
def test_prose_and_second_objects_are_refused_with_a_fence_too(text: str) -> None:
    refused(text, allow_fence=True)


@pytest.mark.parametrize(
    ("finish", "words"),
    [
        ("cut_off", "cut off at the token limit"),
        ("refused", "refused: not that"),
        ("empty", "no text"),
    ],
)
def test_a_reply_that_did_not_end_well_is_not_read(finish: Finish, words: str) -> None:
    with pytest.raises(UnusableReplyError, match=words) as caught:
        read_reply(Reply(GOOD, finish, detail="not that"), Tag)
    assert caught.value.kind == finish


def test_checks_refuse_by_name() -> None:
    def too_long(tag: Tag) -> None:
        raise TooLongError("9 words, at most 8")

    def unknown(tag: Tag) -> None:
        raise ValueError(f"genre: {tag.genre} is not listed")

    for check, kind, words in (
        (too_long, "too_long", "9 words, at most 8"),
        (unknown, "off_schema", "genre: Sports is not listed"),
    ):
        with pytest.raises(UnusableReplyError) as caught:
            read_reply(Reply(GOOD, "complete"), Tag, check)
        assert (caught.value.kind, caught.value.reason) == (kind, words)


def test_a_complete_reply_has_text() -> None:
    with pytest.raises(ValueError, match="never complete"):
        Reply(" \n", "complete")


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.just("genre"), inner),
    max_leaves=8,
)


@given(st.text() | JSON_LIKE.map(json.dumps) | st.text('{}[]":,0123456789.eE-NaInfity\\u d`\n'))
@example('{"genre": "\\ud800", "number": 1}')
@example('{"genre": "\ud800", "number": 1}')
@example("{}")
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    if not text.strip():
        return
    for allow_fence in (False, True):
        try:
            read = read_reply(Reply(text, "complete"), Tag, allow_fence=allow_fence)
        except UnusableReplyError as error:
            assert error.kind == "off_schema"
            assert error.reason
        else:
            assert isinstance(read, Tag)


@given(st.text(st.characters(codec="utf-8")), st.integers(-(2**63), 2**63))
def test_what_was_written_is_what_is_read(genre: str, number: int) -> None:
    written: dict[str, Any] = {"genre": genre, "number": number}
    assert read_reply(Reply(json.dumps(written), "complete"), Tag).model_dump() == {
        **written,
        "inner": (),
    }
