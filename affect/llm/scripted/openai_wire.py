"""OpenAI's chat completions on the wire: reading a request, writing replies and errors.

    asked = read_request(b'{"model": "small", "messages": [{"role": "user", "content": "Hi"}]}')
    reply_body(asked, "Hello", fault=None)["choices"][0]["message"]["content"]        # "Hello"

What no real server would take (a picture that is none, a schema without a name) raises ValueError
and is answered with 400, so that the scripted server is also a check of what clients send.
"""

import base64
import binascii
import json
import re
from typing import Any

from affect.llm.scripted.asked import Asked, count_tokens, media_digest, quoted_schema

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.DOTALL)
_SCHEMA_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ROLES = ("system", "developer", "user", "assistant")
_IMAGE_STARTS = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF")


def read_request(body: bytes) -> Asked:
    """Raises ValueError in the words of the 400 that is answered."""
    request = json.loads(body)
    if not isinstance(request, dict) or not isinstance(request.get("model"), str):
        raise ValueError("model: a string is required")
    if request.get("stream"):
        raise ValueError("stream: the scripted server answers whole")
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        raise ValueError("messages: a list of at least one message is required")
    texts: list[str] = []
    media: list[str] = []
    for number, message in enumerate(messages):
        if not isinstance(message, dict) or message.get("role") not in _ROLES:
            raise ValueError(f"messages[{number}]: its role must be one of {', '.join(_ROLES)}")
        _read_content(message.get("content"), f"messages[{number}].content", texts, media)
    name, schema = _read_format(request.get("response_format"), texts)
    seed = request.get("seed")
    if not isinstance(seed, int | None):
        raise ValueError("seed: a whole number is required")
    return Asked(name, request["model"], tuple(texts), tuple(media), schema, seed)


def reply_body(asked: Asked, text: str, fault: str | None) -> dict[str, Any]:
    """A chat completion with the text, or with what the fault makes of it."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    finish = "stop"
    if fault in {"cut_off", "null_at_limit"}:
        finish = "length"
    if fault == "null_at_limit":
        message["content"] = None
    elif fault == "empty":
        message["content"] = ""
    elif fault == "refused":
        message |= {"content": None, "refusal": "I can't help with that."}
    elif fault == "blocked":
        message["content"], finish = None, "content_filter"
    body: dict[str, Any] = {
        "id": f"chatcmpl-{asked.digest[:24]}",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": asked.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
    }
    if fault != "no_usage":
        completion = count_tokens(message["content"] or "")
        body["usage"] = {
            "prompt_tokens": asked.prompt_tokens,
            "completion_tokens": completion,
            "total_tokens": asked.prompt_tokens + completion,
        }
    return body


def told_tokens(body: dict[str, Any]) -> tuple[int | None, int | None]:
    """The prompt's and the completion's tokens that a reply's body states."""
    usage = body.get("usage", {})
    return usage.get("prompt_tokens"), usage.get("completion_tokens")


def error_body(status: int, message: str) -> dict[str, Any]:
    kind = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
    return {
        "error": {
            "message": message,
            "type": kind.get(status, "server_error"),
            "param": None,
            "code": None,
        }
    }


def read_data_url(url: Any, where: str) -> tuple[str, bytes]:
    """(mime type, bytes). Raises ValueError."""
    match = _DATA_URL.fullmatch(url) if isinstance(url, str) else None
    if match is None:
        raise ValueError(f"{where}: a data URL in base64 is required")
    try:
        return match[1], base64.b64decode(match[2], validate=True)
    except binascii.Error as error:
        raise ValueError(f"{where}: not base64: {error}") from error


def _read_content(content: Any, where: str, texts: list[str], media: list[str]) -> None:
    if isinstance(content, str):
        texts.append(content)
        return
    if not isinstance(content, list) or not content:
        raise ValueError(f"{where}: a string or a list of parts is required")
    for number, part in enumerate(content):
        place = f"{where}[{number}]"
        match part:
            case {"type": "text", "text": str(text)}:
                texts.append(text)
            case {"type": "image_url", "image_url": {"url": url}}:
                mime, data = read_data_url(url, place)
                if not mime.startswith("image/") or not data.startswith(_IMAGE_STARTS):
                    raise ValueError(f"{place}: {mime} of {len(data)} bytes is no picture")
                media.append(media_digest(data))
            case {"type": "video_url", "video_url": {"url": url}}:
                mime, data = read_data_url(url, place)
                if not mime.startswith("video/") or not data:
                    raise ValueError(f"{place}: {mime} of {len(data)} bytes is no video")
                media.append(media_digest(data))
            case _:
                raise ValueError(f"{place}: a text, image_url or video_url part is required")


def _title(schema: dict[str, Any] | None) -> str:
    return str((schema or {}).get("title", ""))


def _read_format(wanted: Any, texts: list[str]) -> tuple[str, dict[str, Any] | None]:
    match wanted:
        case None | {"type": "text" | "json_object"}:
            return _title(schema := quoted_schema(texts)), schema
        case {"type": "json_schema", "json_schema": {"name": str(name), "schema": dict(schema)}}:
            if not _SCHEMA_NAME.fullmatch(name):
                raise ValueError(f"response_format.json_schema.name: {name!r} is not allowed")
            return name, schema
    raise ValueError("response_format: json_schema needs a name and a schema")
