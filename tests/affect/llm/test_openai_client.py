"""The OpenAI client over real HTTP: what it sends, and what it makes of every kind of answer."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from affect.llm.chat import Question
from affect.llm.client import RequestError, open_client
from affect.llm.openai_client import OpenAIClient
from affect.llm.openai_wire import request_body
from affect.llm.reply import Reply
from affect.llm.wire_schema import wire_schema
from tests.affect.llm.replies import GOOD, JPEG, KEY, Tag, frames, question, section, video
from tests.affect.llm.told_server import TellingServer, Told, completion

SCHEMA = wire_schema(Tag, "tag")


def ask(told: Told, key: str | None = KEY, **settings: Any) -> tuple[Reply, TellingServer]:
    async def main() -> tuple[Reply, TellingServer]:
        async with TellingServer([told]) as server:
            client = open_client(section(base_url=server.base_url + "/v1", **settings), key)
            try:
                return await client.request(question(pictures=2), SCHEMA), server
            finally:
                await client.aclose()

    return asyncio.run(main())


def fails(told: Told, **settings: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        ask(told, **settings)
    return caught.value


def test_what_is_sent() -> None:
    reply, server = ask(
        completion(GOOD), temperature=0.7, top_p=0.9, extra_body={"top_k": 20}, media="frames"
    )
    assert reply == Reply(GOOD, "complete", 10, 5)
    assert len(server.requests) == 1
    got = server.requests[0]
    assert (got.method, got.path) == ("POST", "/v1/chat/completions")
    assert got.headers["Authorization"] == f"Bearer {KEY}"
    picture = {
        "type": "image_url",
        "image_url": {"url": "data:image/jpeg;base64," + base64.b64encode(JPEG).decode()},
    }
    assert got.body == {
        "model": "small",
        "messages": [
            {
                "role": "user",
                "content": [picture, picture, {"type": "text", "text": "What is it?"}],
            }
        ],
        "max_tokens": 50,
        "temperature": 0.7,
        "top_p": 0.9,
        "seed": 0,
        "top_k": 20,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "tag", "schema": SCHEMA, "strict": True},
        },
    }


def test_without_structured_output_the_schema_is_in_the_text() -> None:
    _, server = ask(completion(GOOD), structured_output=False)
    body = server.requests[0].body
    assert "response_format" not in body
    last = body["messages"][0]["content"][-1]["text"]
    assert last.startswith("Answer with one JSON object")
    assert '"required": ["genre", "number", "inner"]' in last


def test_a_whole_clip(tmp_path: Path) -> None:
    clip = tmp_path / "clip.avi"
    clip.write_bytes(b"not really webm")
    asked = Question("tag", (video(clip), "What?"), 50)
    sent = request_body(section(media="video_url"), asked, SCHEMA)["messages"][0]["content"]
    url = "data:video/webm;base64," + base64.b64encode(b"not really webm").decode()
    assert sent == [
        {"type": "video_url", "video_url": {"url": url}},
        {"type": "text", "text": "What?"},
    ]
    as_frames = request_body(section(), asked, SCHEMA)["messages"][0]["content"]
    assert [part["type"] for part in as_frames] == ["image_url", "image_url", "text"]
    shown = Question("tag", (frames(0.0),), 50)
    in_frames = request_body(section(media="video_url"), shown, SCHEMA)["messages"][0]["content"]
    assert [part["type"] for part in in_frames] == ["image_url"]


def test_the_apis_own_address_takes_the_new_name_of_the_limit() -> None:
    body = request_body(section(), question(), SCHEMA)
    assert body["max_completion_tokens"] == 50
    assert "max_tokens" not in body


@pytest.mark.parametrize(
    ("told", "reply"),
    [
        (completion(GOOD, "length"), Reply(GOOD, "cut_off", 10, 5)),
        (completion(None, "length", (10, 50)), Reply("", "cut_off", 10, 50)),
        (
            completion(None, refusal="I can't."),
            Reply("", "refused", 10, 5, "I can't."),
        ),
        (
            completion("Sorry", "content_filter"),
            Reply("Sorry", "refused", 10, 5, "the content filter stopped it"),
        ),
        (completion(None), Reply("", "empty", 10, 5, "finish_reason stop")),
        (completion(" \n"), Reply(" \n", "empty", 10, 5, "finish_reason stop")),
        (completion(GOOD, usage=None), Reply(GOOD, "complete", None, None)),
        (completion(GOOD, usage=(10, None)), Reply(GOOD, "complete", 10, None)),
        (completion(GOOD, usage=(0, 0)), Reply(GOOD, "complete", 0, 0)),
    ],
)
def test_how_replies_end(told: Told, reply: Reply) -> None:
    assert ask(told)[0] == reply


@pytest.mark.parametrize(
    ("told", "kind", "can_retry", "wait_seconds"),
    [
        (Told(429, {"retry-after": "7"}), "rate_limited", True, 7.0),
        (
            Told(
                429,
                {
                    "Date": "Mon, 30 Nov 2026 08:00:00 GMT",
                    "Retry-After": "Mon, 30 Nov 2026 08:00:09 GMT",
                },
            ),
            "rate_limited",
            True,
            9.0,
        ),
        (Told(429), "rate_limited", True, None),
        (
            Told(429, body={"error": {"code": "insufficient_quota", "message": "pay"}}),
            "not_allowed",
            False,
            None,
        ),
        (
            Told(400, body={"error": {"code": "content_filter", "message": "no"}}),
            "refused",
            False,
            None,
        ),
        (Told(400, body={"error": {"message": "bad"}}), "bad_request", False, None),
        (Told(401), "not_allowed", False, None),
        (Told(403, body="<html>"), "not_allowed", False, None),
        (Told(500, body="oops"), "server_error", True, None),
        (Told(503, {"retry-after": "2"}), "server_error", True, 2.0),
        (Told(body="<html>a proxy</html>"), "server_error", True, None),
        (Told(body={"error": {"message": "overloaded"}}), "server_error", True, None),
        (Told(body={"choices": []}), "server_error", True, None),
        (Told(body={"choices": None}), "server_error", True, None),
        (Told(body=""), "server_error", True, None),
        (Told(instead="reset"), "connection", True, None),
    ],
)
def test_faults(told: Told, kind: str, can_retry: bool, wait_seconds: float | None) -> None:
    error = fails(told)
    assert (error.kind, error.can_retry, error.retry_after_seconds) == (
        kind,
        can_retry,
        wait_seconds,
    )
    assert error.detail


def test_the_sdk_does_not_try_again() -> None:
    async def main() -> None:
        async with TellingServer([Told(500), completion(GOOD)]) as server:
            client = OpenAIClient(section(base_url=server.base_url), None)
            with pytest.raises(RequestError, match="HTTP 500"):
                await client.request(question(), SCHEMA)
            assert len(server.requests) == 1
            assert server.requests[0].headers["Authorization"] == "Bearer none"
            await client.aclose()

    asyncio.run(main())


def test_nobody_there() -> None:
    async def main() -> None:
        client = OpenAIClient(section(base_url="http://127.0.0.1:1/v1"), KEY)
        with pytest.raises(RequestError) as caught:
            await client.request(question(), SCHEMA)
        await client.aclose()
        assert (caught.value.kind, caught.value.can_retry) == ("connection", True)

    asyncio.run(main())


@pytest.mark.parametrize("status", [200, 401, 500])
def test_a_quoted_key_is_not_shown(status: int) -> None:
    error = fails(Told(status, body={"error": {"message": f"wrong key {KEY}!" + "x" * 900}}))
    assert KEY not in str(error)
    assert "wrong key [key]!" in str(error)
    assert len(error.detail) < 600


def test_the_environment_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    _, server = ask(completion(GOOD), key=None)
    assert KEY not in str(server.requests)


def test_other_media_are_refused() -> None:
    with pytest.raises(ValueError, match=r"small: media 'files' is Gemini's"):
        OpenAIClient(section(media="files"), None)
