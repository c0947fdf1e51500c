"""The Gemini client over real HTTP: frames, inline bytes, files, and every kind of answer."""

import asyncio
import base64
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from affect.llm.chat import Question
from affect.llm.client import RequestError
from affect.llm.gemini_client import GeminiClient
from affect.llm.reply import Reply
from affect.llm.wire_schema import wire_schema
from tests.affect.llm.replies import GOOD, JPEG, KEY, Tag, question, section, video
from tests.affect.llm.told_server import Got, TellingServer, Told, gemini

SCHEMA = wire_schema(Tag, "tag")
GENERATE = "/v1beta/models/small:generateContent"


def ask_all(
    told: list[Told], questions: list[Question], **settings: Any
) -> tuple[list[Reply | RequestError], list[Got]]:
    async def main() -> tuple[list[Reply | RequestError], list[Got]]:
        async with TellingServer(told) as server:
            client = GeminiClient(section(api="gemini", base_url=server.base_url, **settings), KEY)
            came: list[Reply | RequestError] = []
            for asked in questions:
                try:
                    came.append(await client.request(asked, SCHEMA))
                except RequestError as error:
                    came.append(error)
            await client.aclose()
            return came, server.requests

    return asyncio.run(main())


def ask(told: Told, **settings: Any) -> tuple[Reply | RequestError, list[Got]]:
    came, requests = ask_all([told], [question(pictures=1)], **settings)
    return came[0], requests


def test_what_is_sent() -> None:
    reply, requests = ask(gemini(GOOD), temperature=0.5, extra_body={"labels": {"a": "b"}})
    assert reply == Reply(GOOD, "complete", 10, 5)
    assert [(got.method, got.path) for got in requests] == [("POST", GENERATE)]
    assert requests[0].headers["x-goog-api-key"] == KEY
    assert requests[0].body == {
        "contents": [
            {
                "role": "user",
                "parts": [
                    {
                        "inlineData": {
                            "data": base64.urlsafe_b64encode(JPEG).decode(),
                            "mime_type": "image/jpeg",
                        }
                    },
                    {"text": "What is it?"},
                ],
            }
        ],
        "generationConfig": {
            "temperature": 0.5,
            "topP": 1.0,
            "maxOutputTokens": 50,
            "seed": 0,
            "responseMimeType": "application/json",
            "responseJsonSchema": SCHEMA,
        },
        "labels": {"a": "b"},
    }


def test_without_structured_output_the_schema_is_in_the_text() -> None:
    _, requests = ask(gemini(GOOD), structured_output=False)
    body = requests[0].body
    assert "responseMimeType" not in body["generationConfig"]
    last = body["contents"][0]["parts"][-1]["text"]
    assert last.startswith("Answer with one JSON object")


def feedback(**said: str) -> Told:
    usage = {"promptTokenCount": 10, "totalTokenCount": 10}
    return Told(body={"promptFeedback": said, "usageMetadata": usage})


@pytest.mark.parametrize(
    ("told", "reply"),
    [
        (gemini(None, "MAX_TOKENS", (10, 60)), Reply("", "cut_off", 10, 50)),
        (gemini(GOOD, "MAX_TOKENS"), Reply(GOOD, "cut_off", 10, 5)),
        (gemini(None, "SAFETY"), Reply("", "refused", 10, 5, "SAFETY")),
        (gemini("a", "RECITATION"), Reply("a", "refused", 10, 5, "RECITATION")),
        (gemini(None), Reply("", "empty", 10, 5, "finishReason STOP")),
        (gemini("", "OTHER"), Reply("", "empty", 10, 5, "finishReason OTHER")),
        (gemini(GOOD, usage=None), Reply(GOOD, "complete", None, None)),
        (gemini(GOOD, usage=(10, None)), Reply(GOOD, "complete", 10, None)),
        (
            feedback(blockReason="SAFETY"),
            Reply("", "refused", 10, 0, "the prompt was blocked: SAFETY"),
        ),
        (
            Told(
                body={
                    "candidates": [
                        {
                            "finishReason": "STOP",
                            "content": {
                                "parts": [
                                    {"text": "hm", "thought": True},
                                    {"text": '{"a"'},
                                    {"text": ": 1}"},
                                ]
                            },
                        }
                    ]
                }
            ),
            Reply('{"a": 1}', "complete", None, None),
        ),
        (gemini("[" * 100_000), Reply("[" * 100_000, "complete", 10, 5)),
    ],
)
def test_how_replies_end(told: Told, reply: Reply) -> None:
    assert ask(told)[0] == reply


RETRY_INFO = {
    "error": {
        "code": 429,
        "message": "quota",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}],
    }
}


@pytest.mark.parametrize(
    ("told", "kind", "can_retry", "wait_seconds"),
    [
        (Told(429, body=RETRY_INFO), "rate_limited", True, 3.0),
        (Told(429, {"retry-after": "5"}), "rate_limited", True, 5.0),
        (Told(400, body={"error": {"message": f"API key {KEY}"}}), "bad_request", False, None),
        (Told(403, body={"error": {"message": f"API key {KEY}"}}), "not_allowed", False, None),
        (Told(500, body="oops"), "server_error", True, None),
        (Told(503), "server_error", True, None),
        (Told(body="<html>"), "server_error", True, None),
        (Told(body={}), "server_error", True, None),
        (Told(body={"candidates": [{"content": {"parts": 3}}]}), "server_error", True, None),
        (Told(instead="reset"), "connection", True, None),
    ],
)
def test_faults(told: Told, kind: str, can_retry: bool, wait_seconds: float | None) -> None:
    error, requests = ask(told)
    assert isinstance(error, RequestError)
    assert (error.kind, error.can_retry, error.retry_after_seconds) == (
        kind,
        can_retry,
        wait_seconds,
    )
    assert len(requests) == 1, "the SDK must not try again"
    assert KEY not in str(error)


@pytest.mark.parametrize(
    ("container", "name"),
    [
        ("video/quicktime", "video/mov"),
        ("video/x-msvideo", "video/avi"),
        ("video/3gpp", "video/3gpp"),
        ("video/x-matroska", None),
    ],
)
def test_containers_go_by_geminis_names_or_as_frames(
    tmp_path: Path, container: str, name: str | None
) -> None:
    clip = tmp_path / "clip"
    clip.write_bytes(b"a clip")
    asked = Question("tag", (video(clip, container),), 50)
    _, requests = ask_all([gemini(GOOD)], [asked], media="inline")
    sent = [part["inlineData"]["mime_type"] for part in requests[0].body["contents"][0]["parts"]]
    assert sent == (["image/jpeg"] * 2 if name is None else [name])


def test_inline_bytes_have_the_containers_type(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"webm in truth")
    asked = Question("tag", (video(clip), "What?"), 50)
    _, requests = ask_all([gemini(GOOD)], [asked], media="inline")
    part = requests[0].body["contents"][0]["parts"][0]["inlineData"]
    assert part == {"data": base64.b64encode(b"webm in truth").decode(), "mime_type": "video/webm"}
    _, requests = ask_all([gemini(GOOD)], [asked], media="frames")
    parts = requests[0].body["contents"][0]["parts"]
    assert [list(part) for part in parts] == [["inlineData"], ["inlineData"], ["text"]]


def file(state: str, name: str = "files/one", hours: float = 48.0, **more: Any) -> dict[str, Any]:
    until = datetime.now(UTC) + timedelta(hours=hours)
    return {
        "name": name,
        "uri": f"https://x/{name}",
        "state": state,
        "mimeType": "video/webm",
        "expirationTime": until.strftime("%Y-%m-%dT%H:%M:%SZ"),
        **more,
    }


def upload(state: str, **more: Any) -> list[Told]:
    """The two answers of a resumable upload."""
    return [
        Told(headers={"x-goog-upload-url": "SERVER/upload/one?upload_id=7"}),
        Told(headers={"x-goog-upload-status": "final"}, body={"file": file(state, **more)}),
    ]


def paths(requests: list[Got]) -> list[str]:
    return [f"{got.method} {got.path}" for got in requests]


@pytest.fixture
def clip_question(tmp_path: Path) -> Question:
    clip = tmp_path / "clip.mp4"
    clip.write_bytes(b"webm in truth")
    return Question("tag", (video(clip), "What?"), 50)


START = "POST /upload/v1beta/files"
SEND = "POST /upload/one?upload_id=7"


def test_a_file_is_uploaded_once_waited_for_and_deleted(clip_question: Question) -> None:
    told = [*upload("PROCESSING"), Told(body=file("ACTIVE"))]
    told += [gemini(GOOD), gemini(GOOD), Told()]
    came, requests = ask_all(told, [clip_question, clip_question], media="files")
    assert came == [Reply(GOOD, "complete", 10, 5)] * 2
    look = "GET /v1beta/files/one"
    assert paths(requests) == [
        *(START, SEND, look, f"POST {GENERATE}", f"POST {GENERATE}"),
        "DELETE /v1beta/files/one",
    ]
    assert requests[0].headers["X-Goog-Upload-Header-Content-Type"] == "video/webm"
    assert requests[1].body == b"webm in truth"
    part = requests[3].body["contents"][0]["parts"][0]
    assert part == {"fileData": {"file_uri": "https://x/files/one", "mime_type": "video/webm"}}


def test_a_file_about_to_expire_is_uploaded_anew(clip_question: Question) -> None:
    told = [*upload("ACTIVE", hours=0.5), gemini(GOOD)] * 2
    _, requests = ask_all([*told, Told()], [clip_question, clip_question], media="files")
    assert paths(requests)[:6] == [START, SEND, f"POST {GENERATE}"] * 2


def test_a_file_that_the_server_lost_is_uploaded_anew(clip_question: Question) -> None:
    lost = Told(403, body={"error": {"message": "You do not have permission to access the File"}})
    told = [*upload("ACTIVE"), lost, *upload("ACTIVE"), gemini(GOOD), Told()]
    came, requests = ask_all(told, [clip_question, clip_question], media="files")
    assert isinstance(came[0], RequestError)
    assert (came[0].kind, came[0].can_retry) == ("not_allowed", True)
    assert came[1] == Reply(GOOD, "complete", 10, 5)
    assert paths(requests)[3:5] == [START, SEND]


def test_files_not_used_for_longest_make_room(
    clip_question: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("affect.llm.gemini_files.MAX_KEPT_FILES", 2)
    (tmp_path / "other.mp4").write_bytes(b"another clip")
    first, second, third = (
        replace(clip_question, parts=(replace(video(tmp_path / "other.mp4"), sha256=sha256),))
        for sha256 in ("01" * 32, "02" * 32, "03" * 32)
    )
    told = [*upload("ACTIVE", name="files/one"), gemini(GOOD)]
    told += [*upload("ACTIVE", name="files/two"), gemini(GOOD), gemini(GOOD)]
    told += [*upload("ACTIVE", name="files/three"), Told(404), gemini(GOOD), Told(), Told()]
    came, requests = ask_all(told, [first, second, first, third], media="files")
    assert came == [Reply(GOOD, "complete", 10, 5)] * 4
    generate, sent = f"POST {GENERATE}", [START, SEND]
    assert paths(requests) == [
        *(*sent, generate, *sent, generate, generate),
        *(*sent, "DELETE /v1beta/files/two", generate),
        *("DELETE /v1beta/files/one", "DELETE /v1beta/files/three"),
    ]


def test_what_is_passed_on_joins_what_is_set() -> None:
    thinking = {"thinkingConfig": {"thinkingBudget": 64}}
    _, requests = ask(gemini(GOOD), extra_body={"generationConfig": thinking})
    sent = requests[0].body["generationConfig"]
    assert sent["thinkingConfig"] == {"thinkingBudget": 64}
    assert (sent["maxOutputTokens"], sent["responseJsonSchema"]) == (50, SCHEMA)


def test_a_clip_that_cannot_be_processed(clip_question: Question) -> None:
    told = upload("FAILED", error={"code": 3, "message": "no video stream"})
    came, _ = ask_all(told, [clip_question], media="files")
    assert isinstance(came[0], RequestError)
    assert (came[0].kind, came[0].can_retry) == ("bad_request", False)
    assert "no video stream" in came[0].detail


def test_an_upload_that_is_not_understood(clip_question: Question) -> None:
    came, _ = ask_all([Told()], [clip_question], media="files")
    assert isinstance(came[0], RequestError)
    assert (came[0].kind, came[0].can_retry) == ("server_error", True)


def test_the_environment_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "another-key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_GENAI_USE_ENTERPRISE", "true")
    reply, requests = ask(gemini(GOOD))
    assert isinstance(reply, Reply)
    assert requests[0].headers["x-goog-api-key"] == KEY


def test_what_cannot_be_set_up() -> None:
    with pytest.raises(ValueError, match="media 'video_url' is for openai models"):
        GeminiClient(section(api="gemini", media="video_url"), KEY)
    with pytest.raises(ValueError, match="Gemini needs a key; name its environment variable"):
        GeminiClient(section(api="gemini"), None)
