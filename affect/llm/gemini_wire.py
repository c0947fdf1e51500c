"""Gemini's `generateContent` on the wire: the settings it takes, and its answer as a `Reply`.

    {"candidates": [{"content": {"parts": [{"text": "{...}"}]}, "finishReason": "STOP"}],
     "usageMetadata": {"promptTokenCount": 812, "candidatesTokenCount": 9, "totalTokenCount": 821}}

The body is read here and not by the SDK, whose `text` and `parsed` are None for five different
reasons: no candidate because the prompt was blocked, SAFETY, RECITATION, MAX_TOKENS before the
first word, or nothing to say.
"""

from typing import Any

from google.genai import types
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from affect.llm.chat import Question
from affect.llm.client import RequestError
from affect.llm.http_faults import error_message, json_body
from affect.llm.model_section import ModelSection
from affect.llm.reply import Reply

_CUT_OFF = {"MAX_TOKENS", "CONTINUATION"}
_REFUSED = {
    "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "ESCALATION", "MODEL_ARMOR",
    "PUP_LIMITED_DISABLED",
}  # fmt: skip


def generate_config(
    section: ModelSection, question: Question, schema: dict[str, Any] | None
) -> types.GenerateContentConfig:
    config = types.GenerateContentConfig(
        temperature=section.temperature,
        top_p=section.top_p,
        seed=question.seed % 2**31,  # the API's seed has 32 bits
        max_output_tokens=question.max_tokens,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        should_return_http_response=True,  # the body, unread
    )
    if question.system:
        config.system_instruction = question.system
    if schema is not None and section.structured_output:
        config.response_mime_type = "application/json"
        config.response_json_schema = schema
    if section.extra_body:
        config.http_options = types.HttpOptions(extra_body=section.extra_body)
    return config


class _Wire(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)


class _Part(_Wire):
    text: str | None = None
    thought: bool = False


class _Content(_Wire):
    parts: list[_Part] | None = None


class _Candidate(_Wire):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _PromptFeedback(_Wire):
    block_reason: str | None = None
    block_reason_message: str | None = None


class _Usage(_Wire):
    prompt_token_count: int | None = Field(None, ge=0)
    total_token_count: int | None = Field(None, ge=0)

    @property
    def completion_tokens(self) -> int | None:
        """All that was written and is billed, thoughts too. The total less the prompt, because the
        API leaves counts of 0 out: a missing one is not known to be 0, a difference is."""
        if self.prompt_token_count is None or self.total_token_count is None:
            return None
        return max(0, self.total_token_count - self.prompt_token_count)


class _Response(_Wire):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _PromptFeedback | None = None
    usage_metadata: _Usage | None = None


def read_response(text: str) -> Reply:
    """The first candidate of a successful answer's body, or why there is none.

    Raises RequestError (`server_error`) for a body that is no answer of Gemini's.
    """
    try:
        response = _Response.model_validate_json(text or "{}")
    except ValidationError:
        raise _no_response(text) from None
    usage = response.usage_metadata or _Usage()
    counts = (usage.prompt_token_count, usage.completion_tokens)
    feedback = response.prompt_feedback
    if not response.candidates:
        if feedback is None:
            raise _no_response(text)
        reason = feedback.block_reason_message or feedback.block_reason or "no reason given"
        return Reply("", "refused", *counts, detail=f"the prompt was blocked: {reason}")
    candidate = response.candidates[0]
    parts = (candidate.content.parts if candidate.content else None) or []
    written = "".join(part.text or "" for part in parts if not part.thought)
    reason = candidate.finish_reason or "none"
    said = f"{reason}: {candidate.finish_message}" if candidate.finish_message else reason
    if reason in _CUT_OFF:
        return Reply(written, "cut_off", *counts)
    if reason in _REFUSED:
        return Reply(written, "refused", *counts, detail=said)
    if not written.strip():
        return Reply(written, "empty", *counts, detail=f"finishReason {said}")
    return Reply(written, "complete", *counts)


def _no_response(text: str) -> RequestError:
    said = error_message(json_body(text), text)
    return RequestError("server_error", f"HTTP 200, but no answer: {said}", can_retry=True)
