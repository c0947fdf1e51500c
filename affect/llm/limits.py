"""How much one endpoint is asked at once and per minute, whoever asks.

    limits = EndpointLimits(max_concurrent=16, requests_per_minute=600, tokens_per_minute=None)
    async with limits.slot(estimated_tokens=3000) as use:
        reply = await client.request(question, schema)
        use.num_tokens = reply.prompt_tokens + reply.completion_tokens

In any 60 s no more requests begin than allowed, and no more tokens are asked for than allowed, as
far as they are known: what a request will use is estimated before, and counted after. One that is
over the limit by itself goes alone. Who comes first is served first.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from affect.llm.chat import Frames, Question, VideoFile

_CHARACTERS_PER_TOKEN = 4.0
_TOKENS_PER_FRAME = 300
_LONGEST_SLEEP_SECONDS = 1.0
"""Then it looks again: requests that used less than was thought have made room meanwhile."""


@dataclass(slots=True)
class Use:
    """One request: when it began, how many tokens it asked for or, once known, used."""

    start_seconds: float
    num_tokens: float


class EndpointLimits:
    """clock, sleep: for tests; a clock in seconds that never goes back."""

    def __init__(
        self,
        max_concurrent: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._slots = asyncio.Semaphore(max_concurrent)
        self._gate = asyncio.Lock()
        self._requests_per_minute = requests_per_minute
        self._tokens_per_minute = tokens_per_minute
        # Less than one a minute is one in a longer window.
        self._window_seconds = 60.0 / min(1.0, requests_per_minute or 1.0)
        self._uses: deque[Use] = deque()
        self._clock = clock
        self._sleep = sleep

    @asynccontextmanager
    async def slot(self, estimated_tokens: float) -> AsyncIterator[Use]:
        """Wait until the request may begin; it has ended when the block is left."""
        async with self._slots:
            async with self._gate:
                while (wait := self._wait_seconds(estimated_tokens)) > 0:
                    await self._sleep(min(wait, _LONGEST_SLEEP_SECONDS))
                use = Use(self._clock(), estimated_tokens)
                if self._requests_per_minute or self._tokens_per_minute:
                    self._uses.append(use)
            yield use

    def _wait_seconds(self, num_tokens: float) -> float:
        now = self._clock()
        while self._uses and self._uses[0].start_seconds + self._window_seconds <= now:
            self._uses.popleft()
        return max(self._until_request(now), self._until_tokens(now, num_tokens))

    def _until_request(self, now: float) -> float:
        if self._requests_per_minute is None:
            return 0.0
        most = max(1, math.floor(self._requests_per_minute))
        if len(self._uses) < most:
            return 0.0
        return self._uses[-most].start_seconds + self._window_seconds - now

    def _until_tokens(self, now: float, num_tokens: float) -> float:
        if self._tokens_per_minute is None:
            return 0.0
        wait, room = 0.0, self._tokens_per_minute - num_tokens
        # From the newest back: the first that leaves no room must be a minute old.
        for use in reversed(self._uses):
            room -= use.num_tokens
            if room < 0:
                wait = use.start_seconds + 60.0 - now
                break
        return max(0.0, wait)


def estimate_tokens(question: Question) -> float:
    """Roughly what a request asks for, before its server has counted: a token per 4 characters, 300
    per picture, and all that the reply may use."""
    num = question.max_tokens + len(question.system) / _CHARACTERS_PER_TOKEN
    for part in question.parts:
        if isinstance(part, str):
            num += len(part) / _CHARACTERS_PER_TOKEN
        else:
            frames = part.frames if isinstance(part, VideoFile) else part
            assert isinstance(frames, Frames)
            num += _TOKENS_PER_FRAME * len(frames.frames)
    return num
