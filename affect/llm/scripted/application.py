"""The two scripted servers as aiohttp applications.

app = openai_application(answering)      # POST /v1/chat/completions, GET /v1/models
app = gemini_application(answering)      # POST /v1/models/{model}:generateContent, files
"""

import json
from collections.abc import Callable

from aiohttp import web

from affect.llm.scripted import gemini_wire, openai_wire
from affect.llm.scripted.answering import Answering
from affect.llm.scripted.files import GEMINI_VERSION, Files

MAX_BODY_BYTES = 256 * 1024 * 1024
"""Of one request; whole clips come in base64."""


def openai_application(answering: Answering) -> web.Application:
    models: dict[str, None] = {"scripted": None}

    async def complete(request: web.Request) -> web.StreamResponse:
        try:
            asked = openai_wire.read_request(await request.read())
        except (ValueError, RecursionError) as error:
            return answering.refuse(str(error), openai_wire)
        models.setdefault(asked.model)
        return await answering.reply(request, asked, openai_wire)

    async def list_models(request: web.Request) -> web.Response:
        data = [{"id": name, "object": "model", "owned_by": "scripted"} for name in models]
        return web.json_response({"object": "list", "data": data})

    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_get("/v1/models", list_models)
    return app


def gemini_application(answering: Answering) -> web.Application:
    files = Files(answering)

    async def generate(request: web.Request) -> web.StreamResponse:
        model = request.match_info["model"]
        try:
            asked = gemini_wire.read_request(await request.read(), model, files.ready)
        except (ValueError, RecursionError) as error:
            return answering.refuse(str(error), gemini_wire)
        return await answering.reply(request, asked, gemini_wire)

    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.router.add_post(f"{GEMINI_VERSION}/models/{{model}}:generateContent", generate)
    files.add_routes(app)
    return app


APPLICATIONS: dict[str, Callable[[Answering], web.Application]] = {
    "openai": openai_application,
    "gemini": gemini_application,
}
BASE_PATHS = {"openai": "/v1", "gemini": ""}
"""What a client's base URL has after the port."""


def listening_line(port: int, api: str) -> str:
    """The one line that a server prints once it listens."""
    return json.dumps({"port": port, "base_url": f"http://127.0.0.1:{port}{BASE_PATHS[api]}"})
