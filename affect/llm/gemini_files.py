"""Clips in Gemini's files API: uploaded once, used by all questions about them, then deleted.

    files = GeminiFiles(sdk.aio)
    part = await files.part(video)            # uploads, waits until it may be used
    files.forget(video.sha256)                # the server no longer has it
    await files.delete_all()

The API keeps a file for two days; one that is about to go is uploaded anew. A project's files may
hold 20 GB in all, so only the last ones used stay there.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import httpx
from google.genai import errors, types
from google.genai.client import AsyncClient

from affect.llm.chat import VideoFile
from affect.llm.client import RequestError

_MARGIN = timedelta(hours=1)
"""A file with less time left is not used: the request itself takes some."""
MAX_KEPT_FILES = 256
"""Far more than are asked about at once, and at 50 MB each far less than the API has room for."""
_FIRST_POLL_SECONDS = 0.25
_MAX_POLL_SECONDS = 5.0


class GeminiFiles:
    """now, sleep: for tests."""

    def __init__(
        self,
        sdk: AsyncClient,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._sdk = sdk
        self._now = now
        self._sleep = sleep
        self._files: dict[str, types.File] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    async def part(self, video: VideoFile) -> types.Part:
        """Raises RequestError (`bad_request`) for a clip that the API can't process, and the SDK's
        errors. A wait that was cut short goes on with the same upload next time."""
        async with self._locks.setdefault(video.sha256, asyncio.Lock()):
            file = self._files.get(video.sha256)
            if file is None or self._is_expiring(file):
                file = await self._upload(video)
                self._files[video.sha256] = file
            poll_seconds = _FIRST_POLL_SECONDS
            while file.state != types.FileState.ACTIVE:
                if file.state == types.FileState.FAILED or file.name is None:
                    del self._files[video.sha256]
                    said = file.error.message if file.error else "it did not say why"
                    raise RequestError(
                        "bad_request", f"Gemini could not process the clip: {said}", can_retry=False
                    )
                await self._sleep(poll_seconds)
                poll_seconds = min(poll_seconds * 2, _MAX_POLL_SECONDS)
                file = await self._sdk.files.get(name=file.name)
                self._files[video.sha256] = file
            if file.uri is None:
                raise RequestError("server_error", "an uploaded file has no URI", can_retry=True)
            self._files[video.sha256] = self._files.pop(video.sha256, file)  # the last one used
        await self._make_room()
        return types.Part.from_uri(file_uri=file.uri, mime_type=video.mime_type)

    def forget(self, sha256: str) -> None:
        """The server says that it does not have the file: upload it again next time."""
        self._files.pop(sha256, None)

    async def delete_all(self) -> None:
        """Free the API's space. A file that can't be deleted expires by itself."""
        files, self._files = self._files, {}
        for file in files.values():
            await self._delete(file)

    async def _make_room(self) -> None:
        """Delete what was not used for longest. Where somebody still asks about it, the server says
        that it has it no more, and it is uploaded anew."""
        while len(self._files) > MAX_KEPT_FILES:
            oldest = next(iter(self._files))
            file = self._files.pop(oldest)
            self._locks.pop(oldest, None)
            try:
                await self._delete(file)
            except httpx.HTTPError:
                continue  # it expires by itself

    async def _delete(self, file: types.File) -> None:
        if file.name is None:
            return
        with contextlib.suppress(errors.APIError):
            await self._sdk.files.delete(name=file.name)

    async def _upload(self, video: VideoFile) -> types.File:
        config = types.UploadFileConfig(mime_type=video.mime_type, display_name=video.sha256[:16])
        try:
            return await self._sdk.files.upload(file=video.path, config=config)
        except (KeyError, ValueError) as error:  # the SDK's words for an answer it can't go on from
            raise RequestError("server_error", f"upload: {error}", can_retry=True) from None

    def _is_expiring(self, file: types.File) -> bool:
        return file.expiration_time is not None and (file.expiration_time - self._now() < _MARGIN)
