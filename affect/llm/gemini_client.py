"""A Gemini model through google-genai: clips as frames, as inline bytes or through the files API.

    section = ModelSection(api="gemini", model="gemini-2.5-pro", media="files",
                           api_key_env="GEMINI_API_KEY")
    client = GeminiClient(section, key=os.environ["GEMINI_API_KEY"])

Inline bytes are sent with every question and the whole request may have 20 MB; the files API takes
a clip once. The SDK's own trying again is off, ours counts and bounds tries (`retrying`).
"""

import asyncio
import json
from dataclasses import replace
from typing import Any

import httpx
from google import genai
from google.genai import errors, types

from affect.llm.chat import Part, Question, VideoFile
from affect.llm.client import Client, RequestError, without_key
from affect.llm.gemini_files import GeminiFiles
from affect.llm.gemini_video_types import gemini_video_type
from affect.llm.gemini_wire import generate_config, read_response
from affect.llm.http_faults import error_message, http_fault
from affect.llm.model_section import ModelSection
from affect.llm.reply import Reply
from affect.llm.wire_schema import schema_in_words

GEMINI_URL = "https://generativelanguage.googleapis.com/"


class GeminiClient(Client):
    """key: never shown. Raises ValueError for a medium that this API does not have, and without
    a key."""

    def __init__(self, section: ModelSection, key: str | None) -> None:
        if section.media == "video_url":
            raise ValueError(
                f"model {section.model}: media 'video_url' is for openai models; a gemini model "
                "takes frames, inline or files"
            )
        if not key:
            raise ValueError(
                f"model {section.model}: Gemini needs a key; name its environment variable in "
                "api_key_env"
            )
        self._section = section
        self._key = key
        # A client of ours, since the SDK's own on aiohttp tries again by itself.
        self._http = httpx.AsyncClient(timeout=None, follow_redirects=True)
        self._sdk = genai.Client(
            api_key=key,
            vertexai=False,
            http_options=types.HttpOptions(
                base_url=section.base_url or GEMINI_URL,
                api_version="v1beta",  # the version whose schemas are JSON Schema
                httpx_async_client=self._http,
                retry_options=types.HttpRetryOptions(attempts=1),
            ),
        )
        self._files = GeminiFiles(self._sdk.aio)

    async def request(self, question: Question, schema: dict[str, Any] | None) -> Reply:
        try:
            text = await self._generate(question, schema)
            return read_response(text)
        except errors.APIError as error:
            raise self._fault(error, question) from None  # its text may quote the key
        except httpx.HTTPError as error:
            raise self._error("connection", f"{type(error).__name__}: {error}") from None
        except (json.JSONDecodeError, errors.UnknownApiResponseError) as error:
            # The SDK's words for a body that is no JSON.
            raise self._error("server_error", f"{type(error).__name__}: {error}") from None
        except RequestError as error:
            raise RequestError(
                error.kind, without_key(error.detail, self._key), can_retry=error.can_retry
            ) from None

    async def aclose(self) -> None:
        """Deletes what was uploaded."""
        try:
            await self._files.delete_all()
        except httpx.HTTPError:
            pass  # the files expire by themselves
        finally:
            await self._sdk.aio.aclose()
            await self._http.aclose()
            self._sdk.close()

    async def _generate(self, question: Question, schema: dict[str, Any] | None) -> str:
        parts = [piece for part in question.parts for piece in await self._parts(part)]
        if schema is not None and not self._section.structured_output:
            parts.append(types.Part.from_text(text=schema_in_words(schema)))
        response = await self._sdk.aio.models.generate_content(
            model=self._section.model,
            contents=types.Content(role="user", parts=parts),
            config=generate_config(self._section, question, schema),
        )
        assert response.sdk_http_response is not None
        return response.sdk_http_response.body or ""

    async def _parts(self, part: Part) -> list[types.Part]:
        if isinstance(part, str):
            return [types.Part.from_text(text=part)]
        if isinstance(part, VideoFile):
            mime_type = gemini_video_type(part.mime_type)
            if self._section.media == "frames" or mime_type is None:
                part = part.frames
            elif self._section.media == "files":
                return [await self._files.part(replace(part, mime_type=mime_type))]
            else:
                data = await asyncio.to_thread(part.path.read_bytes)
                return [types.Part.from_bytes(data=data, mime_type=mime_type)]
        return [
            types.Part.from_bytes(data=frame.jpeg, mime_type="image/jpeg") for frame in part.frames
        ]

    def _fault(self, error: errors.APIError, question: Question) -> RequestError:
        headers = getattr(error.response, "headers", None) or {}
        detail = without_key(error_message(error.details, str(error.message)), self._key)
        fault = http_fault(error.code, headers, detail, error.details)
        if error.code in (403, 404) and self._section.media == "files":
            # A file that has expired or was deleted: it is uploaded anew, and a key or a model
            # that is really refused is refused again.
            for part in question.parts:
                if isinstance(part, VideoFile):
                    self._files.forget(part.sha256)
                    fault.can_retry = True
        return fault

    def _error(self, kind: Any, detail: str) -> RequestError:
        return RequestError(kind, without_key(detail, self._key), can_retry=True)
