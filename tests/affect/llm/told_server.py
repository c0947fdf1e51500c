"""An HTTP server in the test's own event loop that answers what it is told to, one by one.

    async with TellingServer([completion('{"a": 1}'), Told(429, {"retry-after": "7"})]) as server:
        server.base_url, server.requests[0].body

A told `hang` never answers, a `reset` closes the connection. For faults by chance and for whole
runs there are the scripted servers of `affect.llm.scripted`.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from aiohttp import web


@dataclass(frozen=True)
class Told:
    """One answer. headers: `SERVER` in one is the server's address. body: as JSON, unless it is
    text."""

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = field(default_factory=dict)
    instead: Literal["hang", "reset"] | None = None


@dataclass(frozen=True)
class Got:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


def completion(
    text: str | None, finish: str = "stop", usage: Any = (10, 5), refusal: str | None = None
) -> Told:
    """A chat completion as OpenAI sends it."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    body: dict[str, Any] = {"choices": [{"message": message, "finish_reason": finish}]}
    if usage is not None:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return Told(body=body)


def gemini(text: str | None, finish: str = "STOP", usage: Any = (10, 15)) -> Told:
    """usage: prompt and total, as Gemini counts."""
    candidate: dict[str, Any] = {"finishReason": finish}
    if text is not None:
        candidate["content"] = {"role": "model", "parts": [{"text": text}]}
    body: dict[str, Any] = {"candidates": [candidate]}
    if usage is not None:
        body["usageMetadata"] = {"promptTokenCount": usage[0], "totalTokenCount": usage[1]}
    return Told(body=body)


class TellingServer:
    """told: answers in order; a further request is a mistake of the test's and gets 418.
    release: set it, and what waits for `held` is answered. held: hold answers back until then."""

    def __init__(self, told: list[Told], held: bool = False) -> None:
        self._told = list(told)
        self.requests: list[Got] = []
        self.release = asyncio.Event()
        if not held:
            self.release.set()
        self.arrived = asyncio.Event()
        self.base_url = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**28)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = self._runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        try:
            body = json.loads(raw)
        except ValueError:
            body = raw
        self.requests.append(Got(request.method, request.path_qs, dict(request.headers), body))
        told = self._told.pop(0) if self._told else Told(418)
        self.arrived.set()
        await self.release.wait()
        if told.instead == "hang":
            await asyncio.Event().wait()
        if told.instead == "reset":
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        headers = {
            name: value.replace("SERVER", self.base_url) for name, value in told.headers.items()
        }
        if isinstance(told.body, str):
            return web.Response(status=told.status, headers=headers, text=told.body)
        return web.json_response(told.body, status=told.status, headers=headers)
