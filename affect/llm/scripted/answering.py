"""From a question to an HTTP answer, right or wrong: what both scripted servers share.

    answering = Answering(answers, FaultPlan(0.3), AnsweredLog(path), latency_seconds=0.1)
    return await answering.reply(request, asked, openai_wire)

A request that hangs is held until the client leaves. A reset is a real one: the socket is closed
with what was not sent thrown away, so that the client sees RST.
"""

import asyncio
import json
import socket
import struct
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Protocol

from aiohttp import web

from affect.llm.scripted.answered import Answered, AnsweredLog, Operation
from affect.llm.scripted.asked import Answers, Asked
from affect.llm.scripted.faults import SERVER_FAULTS, FaultPlan, kinds_for
from affect.llm.scripted.spoiled import spoil

_LOOK_SECONDS = 0.02
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_ERRORS = {
    "rate_limited": (429, "too many requests"),
    "rate_limited_seconds": (429, "too many requests; wait as told"),
    "rate_limited_date": (429, "too many requests; wait until then"),
    "server_error": (500, "the server had an error"),
    "unavailable": (503, "the server is overloaded"),
    "bad_request": (400, "the request is not understood"),
    "not_allowed": (401, "the key is not valid"),
}


class Wire(Protocol):
    """A module for one API's bodies: `openai_wire`, `gemini_wire`."""

    def reply_body(self, asked: Asked, text: str, fault: str | None) -> dict[str, Any]: ...

    def told_tokens(self, body: dict[str, Any]) -> tuple[int | None, int | None]: ...

    def error_body(self, status: int, message: str) -> dict[str, Any]: ...


@dataclass
class Answering:
    """answers: writes the replies. latency_seconds: before each answer. retry_after_seconds: what
    the 429s that say so tell the client to wait."""

    answers: Answers
    plan: FaultPlan
    log: AnsweredLog
    latency_seconds: float = 0.0
    retry_after_seconds: int = 1
    _came: Counter[str] = field(default_factory=Counter)
    _num_answered: int = 0

    async def reply(self, request: web.Request, asked: Asked, wire: Wire) -> web.StreamResponse:
        """Answer for the model, with the fault that the plan has for this request, if any."""
        question = asked.question
        right = self.answers(
            question.name, list(question.texts), len(asked.media), asked.schema, asked.digest
        )
        is_json = isinstance(right, dict)
        text = json.dumps(right, ensure_ascii=False) if is_json else str(right)
        times = self._comes(asked.digest)
        fault = self.plan.for_model(asked.model).fault(asked.digest, times, kinds_for(is_json))
        await asyncio.sleep(self.latency_seconds)
        about = _About("reply", asked.digest, asked.name, asked.model, times, len(asked.media))
        if response := await self._server_fault(request, about, fault, wire):
            return response
        body = wire.reply_body(asked, spoil(text, fault or "", asked.schema), fault)
        data = json.dumps(body, ensure_ascii=False).encode()
        if fault == "reset_within":
            return await self._reset(request, about, fault, data[: len(data) // 2], len(data))
        whole = _is_there(request)
        self._write(about, fault, 200, whole, wire.told_tokens(body))
        return web.Response(body=data, content_type="application/json")

    async def other(
        self, request: web.Request, operation: Operation, key: str, wire: Wire
    ) -> web.StreamResponse | None:
        """The same for what is not a model's reply: its fault, or None, and it is written down.

        Only an upload meets faults, and only those of a server.
        """
        digest = f"{operation}/{key}"
        times = self._comes(digest)
        kinds = tuple(kind for kind in SERVER_FAULTS if kind != "reset_within")
        fault = self.plan.fault(digest, times, kinds) if operation == "upload" else None
        if fault not in kinds:
            fault = None
        about = _About(operation, digest, key, "", times, 0)
        response = await self._server_fault(request, about, fault, wire)
        if response is None:
            self._write(about, None, 200, True)
        return response

    def refuse(self, message: str, wire: Wire, digest: str = "") -> web.Response:
        """400 for a request that no real server would take; always a mistake of the client's."""
        self._write(_About("reply", digest, "", "", 0, 0), "malformed", 400, True)
        return web.json_response(wire.error_body(400, message), status=400)

    def _comes(self, digest: str) -> int:
        self._came[digest] += 1
        return self._came[digest] - 1

    async def _server_fault(
        self, request: web.Request, about: "_About", fault: str | None, wire: Wire
    ) -> web.StreamResponse | None:
        if fault == "hang":
            self._write(about, fault, None, False)
            while _is_there(request):
                await asyncio.sleep(_LOOK_SECONDS)
            return web.Response(status=504)
        if fault == "reset_before":
            return await self._reset(request, about, fault, b"", 0)
        if fault not in _ERRORS:
            return None
        status, message = _ERRORS[fault]
        headers = {}
        if fault == "rate_limited_seconds":
            headers["Retry-After"] = str(self.retry_after_seconds)
        elif fault == "rate_limited_date":
            # Whole seconds only: rounded up, so that the wait is never shorter than told.
            when = datetime.now(UTC) + timedelta(seconds=self.retry_after_seconds, milliseconds=999)
            headers["Retry-After"] = format_datetime(when.replace(microsecond=0), usegmt=True)
        self._write(about, fault, status, True)
        return web.json_response(wire.error_body(status, message), status=status, headers=headers)

    async def _reset(
        self, request: web.Request, about: "_About", fault: str, start: bytes, length: int
    ) -> web.StreamResponse:
        self._write(about, fault, 200 if start else None, False)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        if start:
            response.content_length = length
            await response.prepare(request)
            await response.write(start)
        if (transport := request.transport) is not None:
            connection = transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
            transport.abort()
        return response

    def _write(
        self,
        about: "_About",
        fault: str | None,
        status: int | None,
        whole: bool,
        tokens: tuple[int | None, int | None] = (None, None),
    ) -> None:
        answered = Answered(
            number=self._num_answered,
            operation=about.operation,
            digest=about.digest,
            name=about.name,
            model=about.model,
            times=about.times,
            fault=fault,
            status=status,
            whole=whole,
            prompt_tokens=tokens[0],
            completion_tokens=tokens[1],
            num_media=about.num_media,
        )
        self._num_answered += 1
        self.log.write(answered)


@dataclass(frozen=True, slots=True)
class _About:
    operation: Operation
    digest: str
    name: str
    model: str
    times: int
    num_media: int


def _is_there(request: web.Request) -> bool:
    """Whether the client still holds the connection."""
    return request.transport is not None and not request.transport.is_closing()
