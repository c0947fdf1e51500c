"""Scripted servers as processes: what is on the wire, what is written down, how they end."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from google import genai
from google.genai import errors, types

from affect.llm.scripted.process import ScriptedServer
from tests.affect.llm.numbered_questions import ANSWERS, TagReply
from tests.affect.video.clips import write_clip
from tests.paths import ROOT
from tests.processes import wait_until_gone


@pytest.fixture(scope="module")
def openai_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    folder = tmp_path_factory.mktemp("openai")
    with ScriptedServer("openai", ANSWERS, folder, by_model=True, most_in_a_row=1) as server:
        yield server


@pytest.fixture(scope="module")
def gemini_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    with ScriptedServer("gemini", ANSWERS, tmp_path_factory.mktemp("gemini")) as server:
        yield server


def body_of(number: int, model: str = "small") -> dict[str, Any]:
    schema = TagReply.model_json_schema()
    return {
        "model": model,
        "messages": [{"role": "user", "content": f"This is question {number}."}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "tag", "schema": schema, "strict": True},
        },
    }


def complete(server: ScriptedServer, body: Any) -> httpx.Response:
    return httpx.post(f"{server.base_url}/chat/completions", json=body, timeout=30)


def test_a_chat_completion(openai_server: ScriptedServer) -> None:
    """5 tokens of prompt (three words, a number, a full stop); 15 in the reply."""
    answered = complete(openai_server, body_of(7)).json()
    choice = answered["choices"][0]
    assert json.loads(choice["message"]["content"]) == {"number": 7, "genre": "Sports"}
    assert (choice["finish_reason"], answered["model"]) == ("stop", "small")
    usage = {"prompt_tokens": 5, "completion_tokens": 15, "total_tokens": 20}
    assert answered["usage"] == usage
    line = openai_server.answered()[-1]
    assert (line.operation, line.name, line.model, line.status) == ("reply", "tag", "small", 200)
    assert (line.fault, line.whole, line.is_paid, line.times) == (None, True, True, 0)
    assert (line.prompt_tokens, line.completion_tokens) == (5, 15)


def test_words_where_no_schema_is_asked_for(openai_server: ScriptedServer) -> None:
    body = {key: value for key, value in body_of(7).items() if key != "response_format"}
    text = complete(openai_server, body).json()["choices"][0]["message"]["content"]
    assert text == "The answer to question 7 by nobody."


def test_the_models_that_were_asked_are_listed(openai_server: ScriptedServer) -> None:
    complete(openai_server, body_of(1, model="large"))
    models = httpx.get(f"{openai_server.base_url}/models", timeout=30).json()["data"]
    assert {"scripted", "large"} <= {model["id"] for model in models}


@pytest.mark.parametrize("body", [[], {"model": "m"}, {"model": "m", "messages": [{}]}])
def test_what_no_server_takes_is_refused_and_written_down(
    openai_server: ScriptedServer, body: Any
) -> None:
    answered = complete(openai_server, body)
    assert answered.status_code == 400
    assert answered.json()["error"]["type"] == "invalid_request_error"
    assert openai_server.answered()[-1].fault == "malformed"


def test_retry_after_in_seconds_and_as_a_date(openai_server: ScriptedServer) -> None:
    """A fault once, then the answer; the log has both under one digest."""
    first = complete(openai_server, body_of(8, "rate_limited_seconds"))
    assert (first.status_code, first.headers["Retry-After"]) == (429, "1")
    dated = complete(openai_server, body_of(8, "rate_limited_date"))
    assert dated.headers["Retry-After"].endswith(" GMT")
    assert "Retry-After" not in complete(openai_server, body_of(8, "rate_limited")).headers
    assert complete(openai_server, body_of(8, "rate_limited_seconds")).status_code == 200
    lines = [line for line in openai_server.answered() if line.model == "rate_limited_seconds"]
    assert [(line.times, line.fault, line.status) for line in lines] == [
        (0, "rate_limited_seconds", 429),
        (1, None, 200),
    ]
    assert lines[0].digest == lines[1].digest


@pytest.mark.parametrize(("fault", "status"), [("reset_before", None), ("reset_within", 200)])
def test_resets_break_the_connection(
    openai_server: ScriptedServer, fault: str, status: int | None
) -> None:
    with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
        complete(openai_server, body_of(9, fault))
    line = openai_server.answered()[-1]
    assert (line.fault, line.status, line.whole, line.is_paid) == (fault, status, False, False)


def test_a_hang_lasts_until_the_client_leaves(openai_server: ScriptedServer) -> None:
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(
            f"{openai_server.base_url}/chat/completions", json=body_of(10, "hang"), timeout=0.3
        )
    deadline = time.monotonic() + 15
    while not (hung := [line for line in openai_server.answered() if line.fault == "hang"]):
        assert time.monotonic() < deadline, "the request never came"
        time.sleep(0.02)
    assert [(line.status, line.whole, line.times) for line in hung] == [(None, False, 0)]
    assert complete(openai_server, body_of(10, "hang")).status_code == 200


def gemini(server: ScriptedServer) -> genai.Client:
    options = types.HttpOptions(
        base_url=server.base_url, retry_options=types.HttpRetryOptions(attempts=1)
    )
    return genai.Client(api_key="key", vertexai=False, http_options=options)


def test_gemini_takes_a_file_once_it_is_active(
    gemini_server: ScriptedServer, tmp_path: Path
) -> None:
    """Two uploads of one clip are one question: its digest holds the content, not the name."""
    client = gemini(gemini_server)
    clip = write_clip(tmp_path / "clip.mp4", 5)
    for _ in range(2):
        file = client.files.upload(file=clip, config=types.UploadFileConfig(mime_type="video/mp4"))
        assert file.name and file.uri and file.size_bytes == clip.stat().st_size
        shown = types.Part.from_uri(file_uri=file.uri, mime_type="video/mp4")
        with pytest.raises(errors.ClientError, match="ACTIVE"):
            client.models.generate_content(model="flash", contents=[shown])
        states = [client.files.get(name=file.name).state for _ in range(2)]
        assert states == [types.FileState.PROCESSING, types.FileState.ACTIVE]
        config = types.GenerateContentConfig(
            response_mime_type="application/json",
            response_json_schema=TagReply.model_json_schema(),
        )
        reply = client.models.generate_content(
            model="flash", contents=[shown, "This is question 3."], config=config
        )
        assert json.loads(reply.text or "") == {"number": 3, "genre": "Sports"}
        assert reply.usage_metadata and reply.usage_metadata.prompt_token_count == 5 + 256
        client.files.delete(name=file.name)
        with pytest.raises(errors.ClientError, match="no file"):
            client.files.get(name=file.name)
    lines = gemini_server.answered()
    assert [line.operation for line in lines if line.operation != "file"] == [
        "upload", "reply", "reply", "delete",
    ] * 2  # fmt: skip
    paid = [line for line in lines if line.is_paid]
    assert paid[0].digest == paid[1].digest and [line.times for line in paid] == [0, 1]
    assert (paid[0].name, paid[0].num_media) == ("TagReply", 1)


def test_gemini_reads_both_alphabets_and_the_system(gemini_server: ScriptedServer) -> None:
    picture = types.Part.from_bytes(data=b"\xff\xd8\xff\xfb\xef", mime_type="image/jpeg")
    client = gemini(gemini_server)  # it closes itself when nobody holds it
    reply = client.models.generate_content(
        model="flash",
        contents=[picture],
        config=types.GenerateContentConfig(system_instruction="This is question 5."),
    )
    assert reply.text == "The answer to question 5 by nobody."


def test_a_server_started_again_gives_the_same_replies(tmp_path: Path) -> None:
    replies = []
    for _ in range(2):
        with ScriptedServer("openai", ANSWERS, tmp_path) as server:
            replies.append(complete(server, body_of(11)).content)
    assert replies[0] == replies[1]
    assert [line.number for line in server.answered()] == [0, 0]


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no_such_module"):
        ScriptedServer("openai", "no_such_module:answer", tmp_path).start()


PARENT = """
import sys, os
from pathlib import Path
from affect.llm.scripted.process import ScriptedServer
server = ScriptedServer("openai", sys.argv[1], Path(sys.argv[2])).start()
print(server._process.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_server_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PARENT, ANSWERS, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == -9, run.stderr
    wait_until_gone(int(run.stdout))
