"""Answers from a model on a server: any OpenAI-compatible one, or Gemini's API.

Example:
    section = ModelSection(base_url="http://gpu7:8000/v1", model="qwen3-vl")
    cache = SqliteReplyCache(run.replies)
    model = ServerModel(section, budget, "segment", Sampling(400), video_root, reader, cache=cache)
    for answers in model.answer(rows): ...

Many rows are asked at once (`max_concurrent`), a few more are decoded ahead of them, and answers
come in the order in which they are ready. Replies are bought once: the cache has them when the same
rows are asked again after a kill.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from affect.llm.call import Call
from affect.llm.chat import BudgetSpentError, ModelFailure
from affect.llm.model_section import ModelSection
from affect.llm.reply_cache import ReplyCache
from affect.llm.retrying import RetryPolicy
from affect.llm.role_models import RoleModels
from affect.records import Row
from affect.usable_cores import num_usable_cores
from affect.video import FrameBudget, GuardedReader
from evaluation.paid_cost import PaidCost
from evaluation.predictions import Answer
from evaluation.predictors.server_doubts import ServerDoubts
from evaluation.predictors.server_question import (
    answer_of,
    asked_section,
    question_of,
    reply_schema,
)
from evaluation.settings import Sampling
from evaluation.shown import ShownClips

ROLE = "predict"
ENDPOINT = "endpoint"
"""What the model is called in messages, as in `--endpoint.model`."""
MAX_DECODERS = 4
"""Clips decoded at once, each in a process of its own, and so many wait decoded for their turn."""


class ServerModel:
    """A model that is reached as `section` says, with the sampling of `sampling`.

    reader: its time limit and quarantine are used; workers are this object's own, so that a stop
    does not wait for them. cache: None keeps nothing. max_cost, spent_cost: a limit on what is
    paid, and what has been. paid: what this object's replies have cost so far.
    """

    def __init__(
        self,
        section: ModelSection,
        budget: FrameBudget,
        prompt: str,
        sampling: Sampling,
        video_root: Path,
        reader: GuardedReader,
        *,
        cache: ReplyCache | None = None,
        max_cost: float | None = None,
        spent_cost: float = 0.0,
        policy: RetryPolicy | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.section = asked_section(section, sampling)
        self.budget = budget
        self.prompt = prompt
        self.sampling = sampling
        self.video_root = video_root
        self.reader = reader
        self.cache = cache
        self.max_cost = max_cost
        self.spent_cost = spent_cost
        self.policy = policy
        self.environ = environ
        self.paid = PaidCost()

    def answer(self, rows: Sequence[Row]) -> Iterator[Mapping[str, Answer]]:
        """Answers as they come.

        Raises ServerGoneError (`server_doubts`), BudgetSpentError once all that was paid for has
        been handed over, and ValueError for a missing key, a medium that the API does not have and
        a limit that can't be kept for want of prices.
        """
        reader = GuardedReader(self.reader.timeout_seconds, self.reader.quarantine)
        decoders = ThreadPoolExecutor(_num_decoders(), thread_name_prefix="decode")
        # The loop runs only while more is waited for; what arrives meanwhile waits in its sockets.
        with asyncio.Runner() as runner:
            asking = _Asking(self, rows, reader, decoders)
            try:
                while (answers := runner.run(asking.more())) is not None:
                    yield answers
            finally:
                reader.close()  # first: it ends the decodes that the next line waits for
                decoders.shutdown(wait=True, cancel_futures=True)
                runner.run(asking.aclose())

    def role_models(self, asking: "_Asking") -> RoleModels:
        """Who is asked, within one event loop."""
        try:
            return RoleModels(
                {ROLE: ENDPOINT},
                {ENDPOINT: self.section},
                cache=self.cache,
                policy=self.policy,
                max_cost=self.max_cost,
                spent_cost=self.spent_cost + self.paid.cost,
                limit_name="--max-cost",
                on_call=asking.note_call,
                environ=self.environ,
            )
        except ValueError as error:  # it knows models by name; here is but one, without a name
            told = str(error).replace(f"models.{ENDPOINT}: ", f"--{ENDPOINT}: ")
            raise ValueError(told) from error

    @property
    def server(self) -> str:
        """For messages: never the whole address, which may hold a password."""
        address = urlsplit(self.section.base_url or "")
        port = f":{address.port}" if address.port else ""
        where = f"{address.hostname}{port}" if address.hostname else f"the {self.section.api} API"
        return f"{self.section.model} at {where}"


class _Asking:
    """One `answer`, within one event loop: rows under way, at most so many at once that the
    requests are kept busy."""

    def __init__(
        self,
        model: ServerModel,
        rows: Sequence[Row],
        reader: GuardedReader,
        decoders: ThreadPoolExecutor,
    ) -> None:
        self._model = model
        self._rows = iter(rows)
        self._clips = ShownClips(model.video_root, model.budget, reader)
        self._decoders = decoders
        self._schema = reply_schema(model.section)
        self._doubts = ServerDoubts(model.server)
        self._most_at_once = model.section.max_concurrent + _num_decoders()
        self._under_way: dict[asyncio.Task[Answer], str] = {}
        self._cleared: dict[str, Answer] = {}
        self._stop: Exception | None = None
        self._models = model.role_models(self)

    async def more(self) -> dict[str, Answer] | None:
        """What has come, at least one answer; None when all rows have theirs."""
        while True:
            if self._stop is None:
                self._start()
            elif not isinstance(self._stop, BudgetSpentError):
                raise self._stop
            if not self._under_way:
                return self._end()
            done, _ = await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
            answers: dict[str, Answer] = {}
            # In the order of the rows, as a set has none.
            for task in [task for task in self._under_way if task in done]:
                answers |= self._came(self._under_way.pop(task), task)
            answers |= self._cleared
            self._cleared = {}
            if answers:
                return answers

    def note_call(self, call: Call) -> None:
        """Told of every try and every reply."""
        self._model.paid.add(call)
        if call.has_reply and not call.from_cache:
            self._cleared |= self._doubts.replied()

    async def aclose(self) -> None:
        """Cancel what is under way and close all connections."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)
        await self._models.aclose()

    def _start(self) -> None:
        while len(self._under_way) < self._most_at_once:
            row = next(self._rows, None)
            if row is None:
                return
            self._under_way[asyncio.create_task(self._ask(row))] = row.id

    def _came(self, row_id: str, task: "asyncio.Task[Answer]") -> dict[str, Answer]:
        """The answers that may be handed over now; what ends the run is raised after them."""
        try:
            return {row_id: task.result()}
        except ModelFailure as failure:
            try:
                return self._doubts.failed(row_id, failure)
            except ValueError as gone:
                self._stop = self._stop or gone
        except Exception as error:  # noqa: BLE001 - raised by `more`, after what came with it
            self._stop = self._stop or error
        return {}

    def _end(self) -> dict[str, Answer] | None:
        held = self._doubts.end()
        if held:
            return held
        if self._stop is not None:
            raise self._stop
        return None

    async def _ask(self, row: Row) -> Answer:
        model = self._model
        loop = asyncio.get_running_loop()
        try:
            clip = await loop.run_in_executor(self._decoders, self._clips.clip, row)
            question = question_of(row, clip, model.section, model.prompt, model.sampling)
        except (ValueError, OSError) as error:
            return Answer(None, error=f"{type(error).__name__}: {error}")
        return answer_of(await self._models.reply(ROLE, question, self._schema))


def _num_decoders() -> int:
    return min(MAX_DECODERS, num_usable_cores())
