"""Gemini's generateContent on the wire: reading a request, writing replies and errors.

    body = b'{"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}'
    asked = read_request(body, "flash", files={})
    reply_body(asked, "Hello", fault=None)["candidates"][0]["finishReason"]      # "STOP"

What the real service would not take (a file that is not ready, say) raises ValueError.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any

from affect.llm.scripted.asked import Asked, count_tokens, media_digest, quoted_schema

_STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL", 503: "UNAVAILABLE",
}  # fmt: skip


def read_request(body: bytes, model: str, files: Mapping[str, str]) -> Asked:
    """files: URI -> digest, of the files that are ready. Raises ValueError, for a 400."""
    request = json.loads(body)
    contents = request.get("contents") if isinstance(request, dict) else None
    if not isinstance(contents, list) or not contents:
        raise ValueError("contents: a list of at least one content is required")
    if isinstance(system := request.get("systemInstruction"), dict):
        contents = [system, *contents]
    texts: list[str] = []
    media: list[str] = []
    for number, content in enumerate(contents):
        parts = content.get("parts") if isinstance(content, dict) else None
        if not isinstance(parts, list) or not parts:
            raise ValueError(f"contents[{number}].parts: at least one part is required")
        for part in parts:
            _read_part(part, f"contents[{number}]", files, texts, media)
    settings = request.get("generationConfig", {})
    seed = settings.get("seed") if isinstance(settings, dict) else "none"
    if not isinstance(seed, int | None):
        raise ValueError("generationConfig: an object with a whole number as seed is required")
    schema = settings.get("responseJsonSchema") or settings.get("responseSchema")
    if not isinstance(schema, dict | None):
        raise ValueError("generationConfig: the schema must be an object")
    if schema is not None and settings.get("responseMimeType") != "application/json":
        raise ValueError("generationConfig: a schema needs responseMimeType application/json")
    schema = schema or quoted_schema(texts)
    name = str((schema or {}).get("title", ""))
    return Asked(name, model, tuple(texts), tuple(media), schema, seed)


def reply_body(asked: Asked, text: str, fault: str | None) -> dict[str, Any]:
    """A response with the text, or with what the fault makes of it."""
    usage: dict[str, Any] = {"promptTokenCount": asked.prompt_tokens}
    body: dict[str, Any] = {"modelVersion": asked.model, "responseId": asked.digest[:24]}
    completion = 0
    if fault == "blocked":
        body["promptFeedback"] = {"blockReason": "PROHIBITED_CONTENT"}
    else:
        finish = {"cut_off": "MAX_TOKENS", "null_at_limit": "MAX_TOKENS", "refused": "SAFETY"}
        candidate: dict[str, Any] = {"index": 0, "finishReason": finish.get(fault or "", "STOP")}
        if fault not in {"null_at_limit", "refused"}:
            text = "" if fault == "empty" else text
            candidate["content"] = {"role": "model", "parts": [{"text": text}]}
            completion = count_tokens(text)
        elif fault == "null_at_limit":
            candidate["content"] = {"role": "model"}
        body["candidates"] = [candidate]
    if fault != "no_usage":
        usage["candidatesTokenCount"] = completion
        usage["totalTokenCount"] = asked.prompt_tokens + completion
        body["usageMetadata"] = usage
    return body


def told_tokens(body: dict[str, Any]) -> tuple[int | None, int | None]:
    """The prompt's and the completion's tokens that a reply's body states."""
    usage = body.get("usageMetadata", {})
    return usage.get("promptTokenCount"), usage.get("candidatesTokenCount")


def error_body(status: int, message: str) -> dict[str, Any]:
    return {
        "error": {
            "code": status,
            "message": message,
            "status": _STATUSES.get(status, "UNKNOWN"),
        }
    }


def _read_part(
    part: Any, where: str, files: Mapping[str, str], texts: list[str], media: list[str]
) -> None:
    match _camel_keys(part):
        case {"text": str(text)}:
            texts.append(text)
        case {"inlineData": {"mimeType": str(mime), "data": str(data)}}:
            content = _read_base64(data, where)
            if not mime.startswith(("image/", "video/")) or not content:
                raise ValueError(f"{where}: {mime} of {len(content)} bytes is no picture or video")
            media.append(media_digest(content))
        case {"fileData": {"fileUri": str(uri), "mimeType": str(mime)}}:
            if uri not in files:
                raise ValueError(f"{where}: the file {uri} is not in an ACTIVE state")
            if not mime.startswith(("image/", "video/")):
                raise ValueError(f"{where}: {mime} is no picture or video")
            media.append(files[uri])
        case _:
            raise ValueError(f"{where}: a part with text, inlineData or fileData is required")


def _camel_keys(value: Any) -> Any:
    """Protocol buffers' JSON has two spellings of a key, and google-genai mixes them."""
    if not isinstance(value, dict):
        return value
    return {
        re.sub(r"_([a-z])", lambda match: match[1].upper(), key): _camel_keys(inner)
        for key, inner in value.items()
    }


def _read_base64(data: str, where: str) -> bytes:
    """Both alphabets, as the real service takes them."""
    try:
        return base64.b64decode(data.replace("-", "+").replace("_", "/"), validate=True)
    except binascii.Error as error:
        raise ValueError(f"{where}: inlineData: not base64: {error}") from error
