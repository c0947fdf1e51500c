"""A model behind any OpenAI-compatible server: OpenAI's own, vLLM, SGLang, llama.cpp's.

    section = ModelSection(base_url="http://127.0.0.1:8000/v1", model="Qwen/Qwen3-VL-32B-Instruct")
    client = OpenAIClient(section, key=None)

The SDK sends and gives back the body unread: its own trying again is off, ours counts and bounds
tries (`retrying`). The environment's OPENAI_* variables decide neither address nor key.
"""

import asyncio
from typing import Any

import openai

from affect.llm.chat import Question
from affect.llm.client import Client, RequestError, without_key
from affect.llm.http_faults import error_message, http_fault, json_body
from affect.llm.model_section import ModelSection
from affect.llm.openai_wire import read_completion, request_body
from affect.llm.reply import Reply

OPENAI_URL = "https://api.openai.com/v1"
_NO_KEY = "none"
"""Sent where no key is configured: the SDK wants one, and servers without one do not look."""

_FILTERED = {"content_filter", "content_policy_violation"}
"""Error codes of a request that a filter refused."""
_SPENT = {"insufficient_quota", "billing_hard_limit_reached"}
"""Sent with status 429, but waiting does not help."""


class OpenAIClient(Client):
    """key: never shown. Raises ValueError for a medium that this API does not have."""

    def __init__(self, section: ModelSection, key: str | None) -> None:
        if section.media not in ("frames", "video_url"):
            raise ValueError(
                f"model {section.model}: media {section.media!r} is Gemini's; an openai model "
                "takes frames or video_url"
            )
        self._section = section
        self._key = key
        self._sdk = openai.AsyncOpenAI(
            api_key=key or _NO_KEY,
            base_url=section.base_url or OPENAI_URL,
            max_retries=0,
            timeout=None,  # whoever calls bounds the whole try
        )

    async def request(self, question: Question, schema: dict[str, Any] | None) -> Reply:
        body = await asyncio.to_thread(request_body, self._section, question, schema)
        try:
            raw = await self._sdk.chat.completions.with_raw_response.create(
                **body, extra_body=self._section.extra_body or None
            )
            text = raw.text
        except openai.APIStatusError as error:
            raise self._fault(error) from None  # its text may quote the key
        except openai.APIConnectionError as error:
            cause = error.__cause__
            detail = f"{type(cause or error).__name__}: {cause or error}"
            raise RequestError(
                "connection", without_key(detail, self._key), can_retry=True
            ) from None
        try:
            return read_completion(text)
        except RequestError as error:
            raise RequestError(
                error.kind, without_key(error.detail, self._key), can_retry=error.can_retry
            ) from None

    async def aclose(self) -> None:
        await self._sdk.close()

    def _fault(self, error: openai.APIStatusError) -> RequestError:
        text = error.response.text
        body = json_body(text)
        detail = without_key(error_message(body, text), self._key)
        if error.code in _FILTERED:
            return RequestError("refused", detail, can_retry=False)
        if error.code in _SPENT:
            return RequestError("not_allowed", detail, can_retry=False)
        return http_fault(error.status_code, error.response.headers, detail, body)
