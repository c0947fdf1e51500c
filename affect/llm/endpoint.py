"""One model as it is asked: its client, its turn among others, tries, time-out and price.

    endpoints = open_endpoints({"qwen": section}, policy, environ=os.environ)
    attempt = await endpoints["qwen"].request(question, schema, on_fault)
    attempt.reply, attempt.cost, attempt.seconds

Two names for the same model at the same address share one set of limits, the stricter of both.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from affect.llm.budget import cost_of
from affect.llm.chat import Question
from affect.llm.client import Client, RequestError, open_client
from affect.llm.limits import EndpointLimits, estimate_tokens
from affect.llm.model_section import ModelSection
from affect.llm.reply import Reply
from affect.llm.retrying import RetryPolicy


@dataclass(frozen=True, slots=True)
class Bought:
    """A reply with what it took. seconds: of the try that brought it."""

    reply: Reply
    num_attempt: int
    cost: float | None
    seconds: float


OnFault = Callable[[int, RequestError, float], None]
"""Told the number of a try that failed, how, and after how many seconds."""


@dataclass(frozen=True)
class Endpoint:
    section: ModelSection
    client: Client
    limits: EndpointLimits
    policy: RetryPolicy

    async def request(
        self,
        question: Question,
        schema: dict[str, Any] | None,
        on_fault: OnFault,
        before: Callable[[], None] = lambda: None,
    ) -> Bought:
        """before: called when it is this request's turn; what it raises ends the request.

        Raises the RequestError of the last try.
        """
        started_seconds = 0.0

        async def attempt(num_attempt: int) -> Bought:
            nonlocal started_seconds
            started_seconds = time.monotonic()
            async with self.limits.slot(estimate_tokens(question)) as use:
                before()
                started_seconds = time.monotonic()
                reply = await self._try(question, schema)
                tokens = (reply.prompt_tokens, reply.completion_tokens)
                if tokens[0] is not None and tokens[1] is not None:
                    use.num_tokens = tokens[0] + tokens[1]
            cost = cost_of(self.section, *tokens)
            return Bought(reply, num_attempt, cost, time.monotonic() - started_seconds)

        def told(num_attempt: int, error: RequestError) -> None:
            on_fault(num_attempt, error, time.monotonic() - started_seconds)

        return await self.policy.run(attempt, told)

    async def _try(self, question: Question, schema: dict[str, Any] | None) -> Reply:
        try:
            async with asyncio.timeout(self.section.timeout_seconds):
                return await self.client.request(question, schema)
        except TimeoutError:
            detail = f"no reply within {self.section.timeout_seconds:g} s (timeout_seconds)"
            raise RequestError("timeout", detail, can_retry=True) from None


def open_endpoints(
    models: Mapping[str, ModelSection], policy: RetryPolicy, environ: Mapping[str, str]
) -> dict[str, Endpoint]:
    """Raises ValueError naming the model for a missing key or a medium its API does not have."""
    limits: dict[tuple[str, str | None, str], EndpointLimits] = {}
    for address in {_address(section) for section in models.values()}:
        sharing = [section for section in models.values() if _address(section) == address]
        limits[address] = EndpointLimits(
            min(section.max_concurrent for section in sharing),
            _least([section.requests_per_minute for section in sharing]),
            _least([section.tokens_per_minute for section in sharing]),
        )
    keys = {name: _key(name, section, environ) for name, section in models.items()}
    return {
        name: Endpoint(section, open_client(section, keys[name]), limits[_address(section)], policy)
        for name, section in models.items()
    }


def _address(section: ModelSection) -> tuple[str, str | None, str]:
    return section.api, section.base_url, section.model


def _least(limits: list[float | None]) -> float | None:
    return min((limit for limit in limits if limit is not None), default=None)


def _key(name: str, section: ModelSection, environ: Mapping[str, str]) -> str | None:
    if section.api_key_env is None:
        return None
    key = environ.get(section.api_key_env, "").strip()
    if not key:
        raise ValueError(
            f"models.{name}: its key is read from the environment variable "
            f"{section.api_key_env}, which is not set"
        )
    return key
