"""What a reasoner's reply must be; nothing in it is mended."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from affect.llm.chat import TooLongError
from affect.taxonomy import DAR_EMOTIONS
from data_prep.build.config import ReasonSection
from data_prep.stages.reason_reply import PairReply, ReasonReply, check_reply, reply_choosing
from tests.data_prep.stages.scripted_reasoning import SETTINGS, pair

GOOD = {"pairs": [pair("Fear", "one two three"), pair("Joy", "four five six")], "picked": 0}


def check(reply: Any, emotions: tuple[str, ...] = DAR_EMOTIONS) -> None:
    check_reply(ReasonReply.model_validate_json(json.dumps(reply), strict=True), emotions, SETTINGS)


def changed(index: int, **fields: str) -> dict[str, Any]:
    pairs = [dict(one) for one in GOOD["pairs"]]  # type: ignore[call-overload, attr-defined]
    pairs[index].update(fields)
    return {"pairs": pairs, "picked": 0}


def test_a_good_reply_and_both_word_bounds() -> None:
    check(GOOD)
    check(changed(0, reason=" ".join(["word"] * 12)))


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ({**GOOD, "picked": 2}, "picked: a place from 0 to 1, not 2"),
        ({**GOOD, "picked": -1}, "picked: a place from 0 to 1, not -1"),
        ({"pairs": [pair("Fear", "a b c")], "picked": 0}, "exactly 2 are needed, there are 1"),
        ({"pairs": [], "picked": 0}, "exactly 2 are needed, there are 0"),
        (changed(1, emotion="Awe"), r"pairs\[1\].emotion: 'Awe' is none of"),
        (changed(1, emotion=""), r"pairs\[1\].emotion: '' is none of"),
        (changed(1, emotion="joy"), "'joy' is none of"),
        (changed(1, emotion="Joy "), "'Joy ' is none of"),
        (changed(0, evidence=" ... "), r"pairs\[0\].evidence: blank"),
        (changed(0, trigger=""), r"pairs\[0\].trigger: blank"),
        (changed(1, reason="only two"), r"pairs\[1\].reason: 2 words, 3 to 12 words are needed"),
        (changed(1, reason="One TWO  three"), r"pairs\[1\].reason: the same as in pairs\[0\]"),
    ],
)
def test_what_is_refused(reply: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told) as error:
        check(reply)
    assert not isinstance(error.value, TooLongError)


def test_a_long_reason_is_too_long() -> None:
    with pytest.raises(TooLongError, match="13 words, 3 to 12 words are asked for"):
        check(changed(0, reason=" ".join(["word"] * 13)))


def test_half_a_character_is_refused() -> None:
    reply = ReasonReply.model_construct(
        pairs=(
            PairReply.model_construct(**pair("Fear", "one two \ud83d three")),
            PairReply(**pair("Joy", "four five six")),
        ),
        picked=0,
    )
    with pytest.raises(ValueError, match="half a character"):
        check_reply(reply, DAR_EMOTIONS, SETTINGS)
    with pytest.raises(ValueError):
        check(changed(0, reason="one two \ud83d three"))


@pytest.mark.parametrize("picked", ["0", 0.5, None, True])
def test_an_index_is_a_whole_number(picked: object) -> None:
    with pytest.raises(ValidationError):
        check({**GOOD, "picked": picked})


def test_the_schema_offers_the_27() -> None:
    schema = ReasonReply.model_json_schema()
    assert schema["$defs"]["PairReply"]["properties"]["emotion"]["enum"] == list(DAR_EMOTIONS)
    assert schema["$defs"]["PairReply"]["additionalProperties"] is False


def test_the_word_bounds_are_a_range() -> None:
    with pytest.raises(ValidationError, match="min_words 5 is above max_words 4"):
        ReasonSection(min_words=5, max_words=4)
    assert (ReasonSection().min_words, ReasonSection().max_words) == (40, 200)


def test_the_schema_offers_what_may_be_chosen_in_its_place() -> None:
    emotions = ("Fear", "Joy", "Relief")
    schema = reply_choosing(emotions).model_json_schema()
    pair = schema["$defs"]["PairReply"]["properties"]
    assert list(pair) == ["evidence", "appraisal", "trigger", "emotion", "reason"]
    assert pair["emotion"]["enum"] == list(emotions)
    assert list(schema["properties"]) == ["pairs", "picked"]
    assert "description" not in schema and "description" not in schema["$defs"]["PairReply"]
    assert reply_choosing(emotions) is reply_choosing(emotions)
