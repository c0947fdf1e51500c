"""What overlapping requests to a model saves: 16 connections against one request at a time.

    compare_requests(folder, num_alone=60, num_overlapped=480)
    {"overlap_ratio": 13.1, "per_second_alone": 9.1, "per_second_overlapped": 119.6, ...}

The server is a scripted one in a process of its own that takes 100 ms for each reply. Both ways go
through the same clients as a build, reply cache included, with pictures of about 45 kB a request;
every question is another one. Wall time: waiting is what is saved.
"""

import asyncio
import io
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from pydantic import BaseModel, ConfigDict

from affect.llm.chat import Frame, Frames, Question
from affect.llm.model_section import ModelSection
from affect.llm.reply_cache import SqliteReplyCache
from affect.llm.role_models import RoleModels
from affect.llm.scripted.process import ScriptedServer

LATENCY_SECONDS = 0.1
NUM_CONNECTIONS = 16
FRAME_BYTES = 4200
NUM_FRAMES = 8
"""8 frames of 4,200 bytes are 44.8 kB in base64; with the texts a body stays below 50 kB."""
SIDE_PIXELS = 72


class DescribedReply(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str


def compare_requests(folder: Path, num_alone: int, num_overlapped: int) -> dict[str, Any]:
    """Requests a second both ways, and what one costs this process in CPU time.

    Raises AssertionError where a reply is missing or came twice.
    """
    with ScriptedServer(
        "openai", "speed.scripted_answer:answer", folder, latency_seconds=LATENCY_SECONDS
    ) as server:
        _run(folder / "warm.sqlite", server, NUM_CONNECTIONS, range(-NUM_CONNECTIONS, 0))
        alone = _run(folder / "alone.sqlite", server, 1, range(num_alone))
        later = range(num_alone, num_alone + num_overlapped)
        cpu_begun = time.process_time()
        overlapped = _run(folder / "overlapped.sqlite", server, NUM_CONNECTIONS, later)
        cpu_seconds = time.process_time() - cpu_begun
        digests = [line.digest for line in server.answered()]
    assert len(digests) == len(set(digests)) == NUM_CONNECTIONS + num_alone + num_overlapped
    return {
        "overlap_ratio": round(overlapped / alone, 2),
        "per_second_alone": round(alone, 2),
        "per_second_overlapped": round(overlapped, 2),
        "cpu_ms_per_request": round(1000 * cpu_seconds / num_overlapped, 2),
        "num_connections": NUM_CONNECTIONS,
        "latency_seconds": LATENCY_SECONDS,
    }


def _run(cache: Path, server: ScriptedServer, at_once: int, numbers: Sequence[int]) -> float:
    """Requests per second of wall time."""
    return asyncio.run(_ask_all(cache, server, at_once, numbers))


async def _ask_all(
    cache: Path, server: ScriptedServer, at_once: int, numbers: Sequence[int]
) -> float:
    jpeg = _jpeg()
    section = ModelSection(base_url=server.base_url, model="scripted", max_concurrent=at_once)
    with closing(SqliteReplyCache(cache)) as replies:
        models = RoleModels({"describe": "scripted"}, {"scripted": section}, cache=replies)
        begun = time.monotonic()
        try:
            async with asyncio.TaskGroup() as group:
                for number in numbers:
                    group.create_task(
                        models.ask("describe", _question(number, jpeg), DescribedReply)
                    )
            seconds = time.monotonic() - begun
        finally:
            await models.aclose()
        assert replies.num_replies() == len(numbers)
    return len(numbers) / seconds


def _question(number: int, jpeg: bytes) -> Question:
    frames = tuple(Frame(n / 2, jpeg) for n in range(NUM_FRAMES))
    text = f"Clip {number}: what changes in these pictures?"
    return Question("described", (text, Frames(f"{number:064x}"[-64:], frames)), max_tokens=200)


def _jpeg() -> bytes:
    """Noise: about `FRAME_BYTES` large."""
    noise = np.random.default_rng(0).integers(0, 256, (SIDE_PIXELS, SIDE_PIXELS, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "JPEG", quality=75)
    assert 0.8 * FRAME_BYTES < buffer.tell() < FRAME_BYTES, buffer.tell()
    return buffer.getvalue()
