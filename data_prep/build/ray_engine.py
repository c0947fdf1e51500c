"""The Ray engine: the asyncio engine's loop, with every video's stages run by a worker somewhere.

    async with RayCrew(config, journal, base, say) as crew:
        summary = await run_all(build, journal, models, stop, on_outcome, crew.run_video)

Workers are actors, one per core by default. When one dies with its node, the videos it had are
handed to another: their records and replies lie in the ledger on the driver's node, so what was
answered is not asked again. A new worker takes the dead one's place as soon as a node has room.
Whatever kills its worker is not handed on for ever: such a video fails, and a run ends whose
workers die before they have begun.
"""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError

from affect.llm.chat import BudgetSpentError
from data_prep.build.config import BuildConfig
from data_prep.build.journal import Journal
from data_prep.build.outcome import Outcome
from data_prep.build.ray_cluster import joined
from data_prep.build.ray_ledger import start_ledger
from data_prep.build.ray_worker import Told, divided, start_worker
from data_prep.build.run_video import BuildBrokenError, BuildVideo, RunStoppedError
from data_prep.stages import stages_for

WAIT_FOR_WORKER_SECONDS = 300.0
"""Without any worker for so long, the cluster has no room and the run ends."""

MAX_WORKERS_PER_VIDEO = 4
"""So many may die with a video in hand; then it is taken to be the cause, and has failed."""

_MAX_DEATHS_PER_PLACE = 3
"""Before any worker has begun again."""


@dataclass(eq=False)
class _Place:
    """One worker: its actor, how many videos it has, whether it has begun."""

    actor: Any
    num_videos: int = 0
    is_ready: bool = False
    begun: asyncio.Task[None] | None = field(default=None, repr=False)


class RayCrew:
    """Workers on a cluster, for one run.

    say: told in words of workers that came and went. Raises ValueError for limits that so many
    workers can't share and where there is no cluster at `engine.ray_address`.
    """

    def __init__(
        self, config: BuildConfig, journal: Journal, base: str, say: Callable[[str], object]
    ) -> None:
        self._config = config
        self._journal = journal
        self._base = base
        self._say = say
        self._places: list[_Place] = []
        self._changed = asyncio.Condition()
        self._fault = ""
        self._is_stopped = False
        self._num_deaths = 0  # of workers that had not begun, since one began
        self._waking: asyncio.Task[None] | None = None
        self._cluster = ExitStack()

    async def __aenter__(self) -> Self:
        engine = self._config.engine
        with ExitStack() as stack:
            stack.enter_context(joined(engine.ray_address))
            num_workers = engine.ray_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
            divided(self._config.models, num_workers)  # refused here, not on a node
            self._ledger = start_ledger(
                self._config.out, self._config.annotator, self._journal.run, self._base
            )
            self._num_workers = num_workers
            for _ in range(num_workers):
                self._hire()
            self._cluster = stack.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._cluster:
            begun = [place.begun for place in self._places if place.begun is not None]
            for task in begun:
                task.cancel()
            await asyncio.gather(*begun, return_exceptions=True)
            ready = [place.actor.close.remote() for place in self._places if place.is_ready]
            await asyncio.gather(*ready, return_exceptions=True)
            # It may be gone itself; whatever anybody counted on is on the disk even so.
            await asyncio.gather(self._ledger.close.remote(), return_exceptions=True)
            for place in self._places:
                ray.kill(place.actor)
            ray.kill(self._ledger)

    async def run_video(self, item: BuildVideo) -> Outcome:
        """As `run_video`, on whichever worker has the fewest videos; on another where it dies."""
        for _ in range(MAX_WORKERS_PER_VIDEO):
            place = await self._take()
            try:
                told: Told = await place.actor.run.remote(item)
            except RayTaskError as error:  # what was raised within the worker, which lives
                if isinstance(error.cause, RayActorError):
                    raise BuildBrokenError(
                        "the process that keeps journal and replies is gone; run the same command "
                        f"again: {error.cause}"
                    ) from error
                raise
            except RayActorError:
                self._lose(place)
                continue
            finally:
                place.num_videos -= 1
            if told.stop == "spent":
                self._tell_all(gives_up_decodes=False)
                raise BudgetSpentError(told.reason)
            if told.stop == "stopped":
                raise RunStoppedError
            if told.stop == "broken":
                raise BuildBrokenError(told.reason)
            assert told.outcome is not None
            return told.outcome
        first = stages_for(self._config.annotator)[0].name
        detail = f"{MAX_WORKERS_PER_VIDEO} workers of the cluster died with it"
        return Outcome("failed", first, 0, "worker_died", detail)

    def stop(self) -> None:
        """Tell all workers that the run is to stop; decodes are given up."""
        self._tell_all(gives_up_decodes=True)

    def _tell_all(self, *, gives_up_decodes: bool) -> None:
        self._is_stopped = True
        for place in self._places:
            if place.is_ready:
                place.actor.stop.remote(gives_up_decodes)
        self._waking = asyncio.create_task(self._wake())  # whoever waits for a worker

    async def _take(self) -> _Place:
        def ready() -> list[_Place]:
            return [place for place in self._places if place.is_ready]

        async with self._changed:
            try:
                async with asyncio.timeout(WAIT_FOR_WORKER_SECONDS):
                    await self._changed.wait_for(
                        lambda: bool(ready() or self._fault or self._is_stopped)
                    )
            except TimeoutError:
                raise BuildBrokenError(
                    f"no worker for {WAIT_FOR_WORKER_SECONDS:.0f} s: the cluster has no core free "
                    f"for any of {self._num_workers}; add a node and run the same command again"
                ) from None
            if self._is_stopped:
                raise RunStoppedError
            if self._fault:
                raise BuildBrokenError(f"a worker could not begin: {self._fault}")
            place = min(ready(), key=lambda one: one.num_videos)
            place.num_videos += 1
            return place

    def _hire(self) -> None:
        place = _Place(start_worker(self._config, self._ledger, self._num_workers))
        self._places.append(place)
        place.begun = asyncio.create_task(self._begin(place))

    async def _begin(self, place: _Place) -> None:
        try:
            await place.actor.begin.remote()
        except RayTaskError as error:  # what `begin` raised: a missing key, a missing folder
            self._fault = str(error.cause)
        except RayActorError as error:
            self._num_deaths += 1
            if error.actor_init_failed or self._num_deaths > self._most_deaths():
                self._fault = f"{self._num_deaths} died before they had begun, the last: {error}"
            else:
                self._lose(place)
                return
        except RayError as error:
            self._fault = str(error)
        else:
            self._num_deaths = 0
            place.is_ready = True
        await self._wake()

    def _most_deaths(self) -> int:
        return _MAX_DEATHS_PER_PLACE * self._num_workers

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _lose(self, place: _Place) -> None:
        """Each of a dead worker's videos finds out; one of them has it replaced."""
        if place not in self._places:
            return
        self._places.remove(place)
        ray.kill(place.actor)  # one that cannot be reached may live yet
        if not self._is_stopped:
            self._say("a worker is gone; its videos go to others, and a new one is asked for")
            self._hire()
