"""Chat completions on the wire: a question as the request's JSON, the answer's JSON as a `Reply`.

    {"model": "qwen", "max_tokens": 400, "messages": [{"role": "user", "content": [
        {"type": "text", "text": "Second 3.0 to 5.5."},
        {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,..."}}]}], ...}

What OpenAI's API, vLLM, SGLang and llama.cpp's server have in common; `video_url` is vLLM's and
SGLang's.
"""

import base64
from typing import Any

from pydantic import BaseModel, Field, ValidationError

from affect.llm.chat import Frames, Part, Question, VideoFile
from affect.llm.client import RequestError
from affect.llm.http_faults import error_message, json_body
from affect.llm.model_section import ModelSection
from affect.llm.reply import Reply
from affect.llm.wire_schema import schema_in_words


def request_body(
    section: ModelSection, question: Question, schema: dict[str, Any] | None
) -> dict[str, Any]:
    """Reads the clip's file where whole clips go as `video_url`."""
    content = [piece for part in question.parts for piece in _content(part, section)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if question.system:
        messages.insert(0, {"role": "system", "content": question.system})
    body: dict[str, Any] = {
        "model": section.model,
        "messages": messages,
        # OpenAI's own newer models refuse the old name, other servers may not know the new one.
        "max_completion_tokens" if section.base_url is None else "max_tokens": question.max_tokens,
        "temperature": section.temperature,
        "top_p": section.top_p,
        "seed": question.seed,
    }
    if schema is None:
        return body
    if section.structured_output:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": question.name, "schema": schema, "strict": True},
        }
    else:
        content.append({"type": "text", "text": schema_in_words(schema)})
    return body


def _content(part: Part, section: ModelSection) -> list[dict[str, Any]]:
    if isinstance(part, str):
        return [{"type": "text", "text": part}]
    if isinstance(part, VideoFile):
        if section.media == "frames":
            return _content(part.frames, section)
        url = _data_url(part.mime_type, part.path.read_bytes())
        return [{"type": "video_url", "video_url": {"url": url}}]
    assert isinstance(part, Frames), part
    return [
        {"type": "image_url", "image_url": {"url": _data_url("image/jpeg", frame.jpeg)}}
        for frame in part.frames
    ]


def _data_url(mime_type: str, data: bytes) -> str:
    return f"data:{mime_type};base64,{base64.b64encode(data).decode('ascii')}"


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: int | None = Field(None, ge=0)
    completion_tokens: int | None = Field(None, ge=0)


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


def read_completion(text: str) -> Reply:
    """The first choice of a successful answer's body.

    Raises RequestError (`server_error`) for a body that is no chat completion, such as a proxy's
    page or an error sent with status 200.
    """
    try:
        completion = _Completion.model_validate_json(text)
    except ValidationError:
        said = error_message(json_body(text), text)
        raise RequestError(
            "server_error", f"HTTP 200, but no chat completion: {said}", can_retry=True
        ) from None
    choice = completion.choices[0]
    usage = completion.usage or _Usage()
    written = choice.message.content or ""
    counts = (usage.prompt_tokens, usage.completion_tokens)
    if choice.message.refusal:
        return Reply(written, "refused", *counts, detail=choice.message.refusal)
    if choice.finish_reason == "content_filter":
        return Reply(written, "refused", *counts, detail="the content filter stopped it")
    if choice.finish_reason == "length":
        return Reply(written, "cut_off", *counts)
    if not written.strip():
        return Reply(written, "empty", *counts, detail=f"finish_reason {choice.finish_reason}")
    return Reply(written, "complete", *counts)
