"""Replies as they came: no schema on the wire, no reading, no asking again; kept and counted."""

import asyncio
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from affect.llm.call import Call
from affect.llm.chat import BudgetSpentError, ModelFailure, Question
from affect.llm.gemini_wire import generate_config
from affect.llm.openai_wire import request_body
from affect.llm.reply import Reply
from affect.llm.reply_cache import SqliteReplyCache
from affect.llm.request_key import request_key
from affect.llm.retrying import RetryPolicy
from affect.llm.role_models import RoleModels
from affect.llm.scripted import gemini_wire as scripted_gemini
from affect.llm.scripted import openai_wire as scripted_openai
from affect.llm.scripted_models import ScriptedModels
from affect.llm.shown_as import shown_as_frames
from affect.llm.wire_schema import wire_schema
from tests.affect.llm.replies import KEY, Tag, question, section, video
from tests.affect.llm.told_server import TellingServer, Told, completion, gemini

SCHEMA = wire_schema(Tag, "tag")
PRICES = {"price_per_million_prompt_tokens": 1000.0, "price_per_million_completion_tokens": 2000.0}
FROZEN_UNREAD = "dd841695e4dc372251032d8595873d6407816e5a5b65e86c1dafc0d2f2294d75"


def ask(
    told: list[Told],
    *asked: Question,
    schema: dict[str, Any] | None = None,
    cache: SqliteReplyCache | None = None,
    max_cost: float | None = None,
    **settings: Any,
) -> tuple[list[Any], list[Call], TellingServer]:
    """One after the other: a reply, or what was raised in its place."""
    server = TellingServer(told)
    calls: list[Call] = []

    async def main() -> list[Any]:
        async with server:
            url = server.base_url + ("" if settings.get("api") == "gemini" else "/v1")
            models = RoleModels(
                {"say": "small"},
                {"small": section(base_url=url, **{**PRICES, **settings})},
                cache=cache,
                policy=RetryPolicy(3, 0.01, 0.001),
                max_cost=max_cost,
                on_call=calls.append,
                environ={"A_KEY": KEY},
            )
            came: list[Any] = []
            try:
                for one in asked:
                    try:
                        came.append(await models.reply("say", one, schema))
                    except (ModelFailure, BudgetSpentError) as error:
                        came.append(error)
            finally:
                await models.aclose()
            return came

    return asyncio.run(main()), calls, server


def test_words_are_given_back_as_they_came() -> None:
    words = "  Well, ```json\n{}```\n"
    (reply,), (call,), server = ask([completion(words)], question(pictures=2))
    assert reply == Reply(words, "complete", 10, 5)
    assert (call.outcome, call.num_ask, call.cost, call.from_cache) == ("usable", 1, 0.02, False)
    assert "response_format" not in server.requests[0].body


@pytest.mark.parametrize(
    ("told", "reply"),
    [
        (completion('{"a', "length"), Reply('{"a', "cut_off", 10, 5)),
        (completion(""), Reply("", "empty", 10, 5, "finish_reason stop")),
        (completion(None, refusal="I can't."), Reply("", "refused", 10, 5, "I can't.")),
    ],
)
def test_what_can_not_be_used_is_a_reply_and_not_asked_for_again(told: Told, reply: Reply) -> None:
    (came,), (call,), server = ask([told], question())
    assert came == reply
    assert (call.outcome, call.has_reply) == (reply.finish, True)
    assert len(server.requests) == 1


def test_a_schema_is_asked_for_where_one_is_given() -> None:
    _, _, server = ask([completion("no")], question(), schema=SCHEMA)
    assert server.requests[0].body["response_format"]["json_schema"]["schema"] == SCHEMA
    _, _, server = ask([completion("no")], question(), schema=SCHEMA, structured_output=False)
    body = server.requests[0].body
    assert "response_format" not in body
    assert len(body["messages"][0]["content"]) == 2
    _, _, server = ask([completion("no")], question(), structured_output=False)
    assert len(server.requests[0].body["messages"][0]["content"]) == 1


def test_faults_are_tried_again_and_then_a_failure() -> None:
    (reply,), calls, _ = ask([Told(500), Told(429), completion("yes")], question())
    assert reply.text == "yes"
    assert [call.has_reply for call in calls] == [False, False, True]
    (failure,), _, _ = ask([Told(404, body={"error": {"message": "no model"}})], question())
    assert isinstance(failure, ModelFailure)
    assert (failure.kind, failure.detail) == ("not_found", "tag: HTTP 404: no model")
    filtered = Told(400, body={"error": {"message": "filtered", "code": "content_filter"}})
    (failure,), (call,), _ = ask([filtered], question())
    assert (failure.kind, call.outcome, call.has_reply) == ("refused", "refused", False)


def test_replies_are_kept_and_paid_for_once(tmp_path: Path) -> None:
    cache = SqliteReplyCache(tmp_path / "replies.sqlite")
    first, _, _ = ask(
        [completion("yes"), completion("", usage=(1, 0))], question("a"), question("b"), cache=cache
    )
    again, calls, server = ask([], question("a"), question("b"), cache=cache)
    assert again == first
    assert [call.from_cache for call in calls] == [True, True]
    assert not server.requests
    cache.close()


def test_the_limit_ends_the_asking() -> None:
    came, _, server = ask([completion("yes")], question("a"), question("b"), max_cost=0.02)
    assert came[0].text == "yes"
    assert isinstance(came[1], BudgetSpentError)
    assert len(server.requests) == 1


def test_a_role_that_nobody_plays() -> None:
    models = RoleModels({"say": "small"}, {"small": section()})
    with pytest.raises(ValueError, match="nobody plays the role 'sing'; roles: say"):
        asyncio.run(models.reply("sing", question()))


def with_system(text: str = "You are brief.") -> Question:
    return dataclasses.replace(question(pictures=1), system=text)


def test_a_system_turn_reaches_both_apis() -> None:
    _, _, server = ask([completion("yes")], with_system())
    assert server.requests[0].body["messages"][0] == {"role": "system", "content": "You are brief."}
    assert [message["role"] for message in server.requests[0].body["messages"]] == [
        "system",
        "user",
    ]
    _, _, server = ask([gemini("yes")], with_system(), api="gemini", api_key_env="A_KEY")
    body = server.requests[0].body
    assert body["systemInstruction"]["parts"] == [{"text": "You are brief."}]
    assert "responseMimeType" not in body["generationConfig"]
    assert scripted_gemini.read_request(server_body(body), "m", {}).texts[0] == "You are brief."


def server_body(body: Any) -> bytes:
    return json.dumps(body).encode()


def test_scripted_openai_reads_a_system_turn_first() -> None:
    body = request_body(section(), with_system(), None)
    asked = scripted_openai.read_request(server_body(body))
    assert asked.texts == ("You are brief.", "What is it?")
    assert (asked.name, asked.schema) == ("", None)


def test_without_one_the_wires_and_the_key_are_what_they_were() -> None:
    """A reply that was kept before questions had a system turn is found again."""
    plain = question(pictures=2)
    assert len(request_body(section(), plain, SCHEMA)["messages"]) == 1
    assert generate_config(section(), plain, SCHEMA).system_instruction is None
    assert request_key(section(), plain, SCHEMA) == request_key(section(), with_none(), SCHEMA)
    assert request_key(section(), plain, None) == FROZEN_UNREAD
    keys = {
        request_key(section(), one, schema)
        for one in (
            plain,
            dataclasses.replace(plain, system="a"),
            dataclasses.replace(plain, system="b"),
        )
        for schema in (SCHEMA, None)
    }
    assert len(keys) == 6


def with_none() -> Question:
    return Question("tag", question(pictures=2).parts, 50, 0)


def test_scripted_models_reply_too() -> None:
    models = ScriptedModels(
        lambda role, asked, num_ask: "" if asked.system else f"{role} {num_ask}"
    )
    assert asyncio.run(models.reply("say", question())) == Reply("say 1", "complete")
    assert asyncio.run(models.reply("say", with_system())) == Reply("", "empty")
    assert len(models.questions) == 2


def test_what_a_clip_is_shown_as(tmp_path: Path) -> None:
    webm, matroska = video(tmp_path / "a"), video(tmp_path / "a", "video/x-matroska")
    assert shown_as_frames(section(), webm)
    assert not shown_as_frames(section(media="video_url"), matroska)
    for media in ("inline", "files"):
        assert not shown_as_frames(section(api="gemini", media=media), webm)
        assert shown_as_frames(section(api="gemini", media=media), matroska)
