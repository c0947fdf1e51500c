"""Scripted servers without a server: which fault comes, what it does to a reply, what is read."""

import base64
import contextlib
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.llm.scripted import gemini_wire, openai_wire
from affect.llm.scripted.answered import Answered, AnsweredLog, read_log
from affect.llm.scripted.asked import Asked, count_tokens, load_answers
from affect.llm.scripted.faults import FAULTS, LASTING_FAULTS, FaultPlan, kinds_for
from affect.llm.scripted.spoiled import spoil
from affect.prompts import render_prompt
from tests.affect.llm.numbered_questions import pictures

SCHEMA: dict[str, Any] = {
    "$defs": {
        "Scores": {
            "properties": {"logic": {"type": "integer"}, "sight": {"type": "integer"}},
            "required": ["logic", "sight"],
        }
    },
    "properties": {
        "scores": {"type": "array", "items": {"$ref": "#/$defs/Scores"}},
        "note": {"type": "string"},
    },
    "required": ["scores"],
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def asked(*texts: str, media: tuple[str, ...] = (), model: str = "m") -> Asked:
    return Asked("tag", model, texts, media, None, 0)


def test_the_share_of_faults_and_their_kinds() -> None:
    """1,000 requests at 30 %, and 19 kinds, none of them one that lasts."""
    kinds = kinds_for(is_json=True)
    assert len(kinds) == 19 and not set(kinds) & set(LASTING_FAULTS)
    plan = FaultPlan(0.3, seed=1)
    faults = Counter(plan.fault(str(number), 0, kinds) for number in range(1000))
    assert 250 < 1000 - faults[None] < 350
    assert set(faults) == {None, *kinds}
    again = Counter(FaultPlan(0.3, seed=1).fault(str(n), 0, kinds) for n in range(1000))
    assert again == faults
    assert FaultPlan(0.0).fault("x", 0, kinds) is None


def test_no_request_meets_more_faults_in_a_row_than_allowed() -> None:
    """With every request hit where it may be: two faults, an answer, two faults, an answer."""
    plan = FaultPlan(1.0, most_in_a_row=2)
    hit = [plan.fault("a", times, kinds_for(True)) is not None for times in range(6)]
    assert hit == [True, True, False, True, True, False]
    endless = FaultPlan(1.0, always="hang", most_in_a_row=None)
    assert {endless.fault("a", times, kinds_for(True)) for times in range(9)} == {"hang"}


def test_a_fault_that_needs_json_leaves_words_alone() -> None:
    plan = FaultPlan(1.0, always="fenced")
    assert plan.fault("a", 0, kinds_for(is_json=True)) == "fenced"
    assert plan.fault("a", 0, kinds_for(is_json=False)) is None


def test_a_model_called_like_a_fault() -> None:
    plan = FaultPlan(0.0, by_model=True)
    assert plan.for_model("hang").fault("a", 0, kinds_for(True)) == "hang"
    assert plan.for_model("qwen").fault("a", 0, kinds_for(True)) is None
    assert FaultPlan(0.0).for_model("hang").fault("a", 0, kinds_for(True)) is None


@pytest.mark.parametrize(("share", "always"), [(1.5, None), (-0.1, None), (0.5, "tiredness")])
def test_a_wrong_plan_is_refused(share: float, always: str | None) -> None:
    with pytest.raises(ValueError, match=r"share of faults|there is no fault"):
        FaultPlan(share, always=always)


def test_replies_are_spoiled_as_named() -> None:
    text = '{"scores": [{"logic": 4, "sight": 5}], "note": "ok"}'
    assert spoil(text, "fenced", SCHEMA) == f"```json\n{text}\n```"
    assert spoil(text, "cut_off", SCHEMA) == text[:34]  # 52 characters
    assert spoil(text, "not_a_number", SCHEMA) == text.replace("5", "NaN")
    assert spoil(text, "missing_key", SCHEMA) == text.replace(', "sight": 5', "")
    assert spoil(text, "unknown_key", SCHEMA) == text[:-1] + ', "confidence": 0.9}'
    wrong = json.loads(spoil(text, "wrong_schema", SCHEMA))
    assert wrong == {"scores": {"unexpected": [True]}, "note": "ok"}
    assert spoil(text, "no_usage", SCHEMA) == text
    assert spoil('{"note": "ok"}', "not_a_number", SCHEMA) == '{"note": NaN}'


def test_asking_again_is_the_same_question() -> None:
    again = render_prompt("ask_again", num_ask="2", reason="blank", quoted='"{}"')
    first = asked("What is seen?")
    assert asked("What is seen?", again).digest == first.digest
    assert asked(f"What is seen?\n{again}").digest == first.digest
    assert asked("What is seen?", again).question.texts == ("What is seen?",)
    others = [
        asked("What?"),
        asked("What is seen?", media=("0a",)),
        asked("What is seen?", model="n"),
    ]
    assert len({first.digest, *(other.digest for other in others)}) == 4


def test_tokens_are_words_and_marks() -> None:
    assert count_tokens('{"genre": "Sports"}') == 9
    assert asked("Two words.", media=("0a", "0b")).prompt_tokens == 3 + 2 * 256


@pytest.mark.parametrize("name", ["", "json", "json:", "json:nothing", "no_such_module:f"])
def test_answers_that_cannot_be_imported(name: str) -> None:
    with pytest.raises(ValueError, match="answers"):
        load_answers(name)


def test_a_torn_last_line_of_a_log_is_left_out(tmp_path: Any) -> None:
    log = AnsweredLog(tmp_path / "log.jsonl")
    line = Answered(0, "reply", "9f", "tag", "m", 0, None, 200, True, 3, 4)
    log.write(line)
    with open(tmp_path / "log.jsonl", "ab") as file:
        file.write(b'{"number": 1, "oper')
    assert read_log(tmp_path / "log.jsonl") == [line]
    assert read_log(tmp_path / "never.jsonl") == []


def picture_url() -> str:
    jpeg = pictures(1).frames[0].jpeg
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode()


def test_an_openai_request_is_read() -> None:
    content = [
        {"type": "text", "text": "What is seen?"},
        {"type": "image_url", "image_url": {"url": picture_url()}},
    ]
    wanted = {"name": "tag", "schema": SCHEMA, "strict": True}
    body = {
        "model": "m",
        "seed": 3,
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": content},
        ],
        "response_format": {"type": "json_schema", "json_schema": wanted},
    }
    read = openai_wire.read_request(json.dumps(body).encode())
    assert (read.name, read.model, read.seed, read.schema) == ("tag", "m", 3, SCHEMA)
    assert read.texts == ("Be brief.", "What is seen?") and len(read.media) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": None}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "role"),
        ({"messages": [{"role": "user", "content": []}]}, "content"),
        ({"stream": True}, "stream"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a b"}}}, "schema"),
        ({"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,aGk="}}]}]},
         "no picture"),
        ({"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "https://example.org/a.jpg"}}]}]},
         "data URL"),
    ],
)  # fmt: skip
def test_openai_requests_that_no_server_takes(change: dict[str, Any], message: str) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}], **change}
    with pytest.raises(ValueError, match=message):
        openai_wire.read_request(json.dumps(body).encode())


def test_a_schema_quoted_in_the_prompt_is_found() -> None:
    text = render_prompt("reply_schema", schema=json.dumps(SCHEMA))
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}],
    }
    assert openai_wire.read_request(json.dumps(body).encode()).schema == SCHEMA


@given(JSON, JSON, JSON)
def test_whatever_is_sent_is_read_or_refused(first: Any, second: Any, third: Any) -> None:
    bodies = [
        first,
        {"model": "m", "messages": first, "response_format": second, "seed": third},
        {"model": "m", "messages": [{"role": "user", "content": first}], "response_format": second},
        {"contents": first, "generationConfig": second, "systemInstruction": third},
        {"contents": [{"parts": first}], "generationConfig": {"responseSchema": second}},
        {"contents": [{"parts": [first]}], "generationConfig": {"seed": second}},
    ]
    for body in bodies:
        data = json.dumps(body).encode()
        for read in (
            openai_wire.read_request,
            lambda data: gemini_wire.read_request(data, "m", {}),
        ):
            with contextlib.suppress(ValueError):
                assert isinstance(read(data).digest, str)


def test_every_fault_has_one_name() -> None:
    assert len(FAULTS) == len(set(FAULTS)) == 21
