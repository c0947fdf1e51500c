"""What every API's client does: one try of one request, and faults in one language.

    client = open_client(ModelSection(model="qwen", base_url="http://127.0.0.1:8000/v1"), key=None)
    reply = await client.request(question, wire_schema(TagReply, "tag"))    # or RequestError
    await client.aclose()                   # in the event loop in which it was used

Trying again, limits, cost, cache and the reply's reading are the same for all and stand above it.
"""

from typing import Any, Protocol

from affect.llm.chat import FailureKind, Question
from affect.llm.model_section import ModelSection
from affect.llm.reply import Reply

MAX_DETAIL_CHARACTERS = 500
"""Of a server's own words in an error."""


class RequestError(Exception):
    """One try that brought no reply.

    can_retry: whether the same request may do better. retry_after_seconds: what the server asked
    to wait at least, None where it did not say.
    """

    def __init__(
        self,
        kind: FailureKind,
        detail: str,
        *,
        can_retry: bool,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(kind, detail)
        self.kind: FailureKind = kind
        self.detail = detail
        self.can_retry = can_retry
        self.retry_after_seconds = retry_after_seconds

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}"


class Client(Protocol):
    """One model on one server, within one event loop."""

    async def request(self, question: Question, schema: dict[str, Any] | None) -> Reply:
        """Try once, without a time-out of its own. schema: None asks for words as they come.

        Raises RequestError.
        """
        ...

    async def aclose(self) -> None: ...


def open_client(section: ModelSection, key: str | None) -> Client:
    """The client for a model. The SDK is imported here, so that only its users need it.

    Raises ValueError for a medium that the API does not have and for Gemini without a key.
    """
    if section.api == "gemini":
        from affect.llm.gemini_client import GeminiClient

        return GeminiClient(section, key)
    from affect.llm.openai_client import OpenAIClient

    return OpenAIClient(section, key)


def without_key(text: str, key: str | None) -> str:
    """A server's words, shortened, without the key that it may have quoted."""
    if key:
        text = text.replace(key, "[key]")
    text = " ".join(text.split())
    short = text[:MAX_DETAIL_CHARACTERS]
    return short if len(short) == len(text) else short + "..."
