"""The Ray engine: the asyncio engine's loop, with every video's stages run by a worker somewhere.

    async with RayCrew(config, journal, base, say) as crew:
        summary = await run_all(build, journal, models, stop, on_outcome, crew.run_video)

Workers are actors, one per core by default. When one dies with its node, the videos it had are
handed to another: their records and replies lie in the ledger on the driver's node, so what was
answered is not asked again. A new worker takes the dead one's place as soon as a node has room.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import ray
from ray.exceptions import RayActorError, RayError

from affect.llm.chat import BudgetSpentError
from data_prep.build.config import BuildConfig
from data_prep.build.journal import Journal
from data_prep.build.outcome import Outcome
from data_prep.build.ray_ledger import start_ledger
from data_prep.build.ray_worker import Told, divided, start_worker
from data_prep.build.run_video import BuildBrokenError, BuildVideo, RunStoppedError

WAIT_FOR_WORKER_SECONDS = 300.0
"""Without any worker for so long, the cluster has no room and the run ends."""


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
    workers can't share, BuildBrokenError where there is no cluster at `engine.ray_address`.
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
        self._fault: BaseException | None = None
        self._owns_ray = False

    async def __aenter__(self) -> Self:
        engine = self._config.engine
        if not ray.is_initialized():
            self._owns_ray = True
            os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
            try:
                ray.init(engine.ray_address, log_to_driver=False, include_dashboard=False)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise BuildBrokenError(
                    f"engine.ray_address {engine.ray_address!r}: {error}; start the cluster, or "
                    "leave it null for one on this machine"
                ) from error
        num_workers = engine.ray_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
        divided(self._config.models, num_workers)  # refused here, not on a node
        self._ledger = start_ledger(
            self._config.out, self._config.annotator, self._journal.run, self._base
        )
        self._num_workers = num_workers
        for _ in range(num_workers):
            self._hire()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        begun = [place.begun for place in self._places if place.begun is not None]
        for task in begun:
            task.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
        ready = [place.actor.close.remote() for place in self._places if place.is_ready]
        await asyncio.gather(*ready, return_exceptions=True)
        await self._ledger.close.remote()
        for place in self._places:
            ray.kill(place.actor)
        ray.kill(self._ledger)
        if self._owns_ray:
            ray.shutdown()

    async def run_video(self, item: BuildVideo) -> Outcome:
        """As `run_video`, on whichever worker has the fewest videos; on another where it dies."""
        while True:
            place = await self._take()
            try:
                told: Told = await place.actor.run.remote(item)
            except RayActorError:
                self._lose(place)
                continue
            finally:
                place.num_videos -= 1
            if told.stop == "spent":
                raise BudgetSpentError(told.reason)
            if told.stop == "stopped":
                raise RunStoppedError
            if told.stop == "broken":
                raise BuildBrokenError(told.reason)
            assert told.outcome is not None
            return told.outcome

    def stop(self) -> None:
        """Tell all workers that the run is to stop."""
        for place in self._places:
            if place.is_ready:
                place.actor.stop.remote()

    async def _take(self) -> _Place:
        def ready() -> list[_Place]:
            return [place for place in self._places if place.is_ready]

        async with self._changed:
            try:
                async with asyncio.timeout(WAIT_FOR_WORKER_SECONDS):
                    await self._changed.wait_for(lambda: bool(ready() or self._fault))
            except TimeoutError:
                raise BuildBrokenError(
                    f"no worker for {WAIT_FOR_WORKER_SECONDS:.0f} s: the cluster has no core free "
                    f"for any of {self._num_workers}; add a node and run the same command again"
                ) from None
            if self._fault is not None:
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
        except RayActorError as error:
            if not error.actor_init_failed:
                self._lose(place)
                return
            self._fault = error
        except RayError as error:  # what `begin` raised: a missing key, a missing folder
            self._fault = error
        else:
            place.is_ready = True
        async with self._changed:
            self._changed.notify_all()

    def _lose(self, place: _Place) -> None:
        """Each of a dead worker's videos finds out; one of them has it replaced."""
        if place in self._places:
            self._places.remove(place)
            self._say("a worker is gone; its videos go to others, and a new one is asked for")
            self._hire()
