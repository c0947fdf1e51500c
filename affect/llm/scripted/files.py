"""Gemini's files API: a resumable upload, a file that is PROCESSING and then ACTIVE, and its end.

    POST   /upload/v1/files          start; the answer's X-Goog-Upload-URL says where to send
    POST   /upload/v1/files?upload_id=scripted-0       upload, finalize
    GET    /v1/files/{name}          PROCESSING at the first look, ACTIVE from the second on
    DELETE /v1/files/{name}

A file has a new name each time it is uploaded; its content's digest is what a request's digest
holds, so that the same question about the same clip stays the same question.
"""

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from affect.llm.scripted import gemini_wire
from affect.llm.scripted.answering import Answering
from affect.llm.scripted.asked import media_digest

GEMINI_VERSION = "/{version:v1|v1beta}"
"""Clients have used both."""


@dataclass
class _File:
    """looks: how often somebody has asked for it since it was uploaded."""

    name: str
    mime_type: str
    num_bytes: int
    uri: str
    content: bytearray = field(default_factory=bytearray)
    is_whole: bool = False
    looks: int = 0


class Files:
    """All files of one server process; `ready` is what requests may show."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._files: dict[str, _File] = {}
        self._num_started = 0

    @property
    def ready(self) -> dict[str, str]:
        """URI -> digest of the content, of the files that are ACTIVE."""
        return {
            file.uri: media_digest(bytes(file.content))
            for file in self._files.values()
            if _state(file) == "ACTIVE"
        }

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post(f"/upload{GEMINI_VERSION}/files", self._upload)
        app.router.add_get(f"{GEMINI_VERSION}/files/{{name}}", self._get)
        app.router.add_delete(f"{GEMINI_VERSION}/files/{{name}}", self._delete)

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        if (name := request.query.get("upload_id")) is not None:
            return await self._receive(request, name)
        size = request.headers.get("X-Goog-Upload-Header-Content-Length", "")
        mime = request.headers.get("X-Goog-Upload-Header-Content-Type", "")
        if request.headers.get("X-Goog-Upload-Command") != "start" or not size.isdecimal():
            return _error(400, "a resumable upload begins with the command start and a length")
        if not mime.startswith(("video/", "image/")):
            return _error(400, f"the type {mime!r} is not supported")
        if fault := await self._answering.other(request, "upload", f"{mime}/{size}", gemini_wire):
            return fault
        name = f"scripted-{self._num_started}"
        self._num_started += 1
        version = request.match_info["version"]
        uri = f"{request.scheme}://{request.host}/{version}/files/{name}"
        self._files[name] = _File(name, mime, int(size), uri)
        where = f"{request.scheme}://{request.host}/upload/{version}/files?upload_id={name}"
        headers = {"X-Goog-Upload-URL": where, "X-Goog-Upload-Status": "active"}
        return web.json_response({}, headers=headers)

    async def _receive(self, request: web.Request, name: str) -> web.Response:
        file = self._files.get(name)
        if file is None or file.is_whole:
            return _error(404, f"no upload {name} is open")
        if int(request.headers.get("X-Goog-Upload-Offset", "-1")) != len(file.content):
            return _error(400, f"the next byte is {len(file.content)}")
        file.content += await request.read()
        if "finalize" not in request.headers.get("X-Goog-Upload-Command", ""):
            return web.json_response({}, headers={"X-Goog-Upload-Status": "active"})
        if len(file.content) != file.num_bytes:
            return _error(400, f"{file.num_bytes} bytes were announced, {len(file.content)} came")
        file.is_whole = True
        body = {"file": _describe(file)}
        return web.json_response(body, headers={"X-Goog-Upload-Status": "final"})

    async def _get(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if (file := self._files.get(name)) is None or not file.is_whole:
            return _error(404, f"there is no file {name}")
        await self._answering.other(request, "file", name, gemini_wire)
        file.looks += 1
        return web.json_response(_describe(file))

    async def _delete(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if self._files.pop(name, None) is None:
            return _error(404, f"there is no file {name}")
        await self._answering.other(request, "delete", name, gemini_wire)
        return web.json_response({})


def _state(file: _File) -> str:
    return "ACTIVE" if file.is_whole and file.looks >= 2 else "PROCESSING"


def _describe(file: _File) -> dict[str, Any]:
    return {
        "name": f"files/{file.name}",
        "mimeType": file.mime_type,
        "sizeBytes": str(file.num_bytes),
        "createTime": "2026-01-01T00:00:00Z",
        "updateTime": "2026-01-01T00:00:00Z",
        "expirationTime": "2026-01-03T00:00:00Z",
        "sha256Hash": base64.b64encode(hashlib.sha256(file.content).digest()).decode(),
        "uri": file.uri,
        "state": _state(file),
        "source": "UPLOADED",
    }


def _error(status: int, message: str) -> web.Response:
    # The client library repeats an upload whose answer lacks this header: say that it is over.
    headers = {"X-Goog-Upload-Status": "cancelled"}
    return web.json_response(
        gemini_wire.error_body(status, message), status=status, headers=headers
    )
