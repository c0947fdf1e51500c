"""One worker of a cluster: an actor that takes videos through all stages, as the driver hands them.

    worker = start_worker(config, ledger, num_workers=4)
    told = await worker.run.remote(BuildVideo(video, path, candidates))
    told.outcome or told.stop                      # why the run is over, in place of an outcome

It runs the same `run_video` as the asyncio engine; records and replies go to the ledger. The
videos' root and the build's folder must be there under the same path on every node. A model's
limits are divided by the number of workers, so that all together keep them.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import ray

from affect.llm.call import Call
from affect.llm.chat import BudgetSpentError
from affect.llm.model_section import ModelSection
from data_prep.build.config import BuildConfig
from data_prep.build.outcome import Outcome
from data_prep.build.ray_ledger import LedgerReplyCache, LedgerStore
from data_prep.build.run_video import BuildBrokenError, BuildVideo, RunStoppedError
from data_prep.build.stage_models import asking_for


@dataclass(frozen=True, slots=True)
class Told:
    """What a worker says of a video. stop: `spent`, `stopped` or `broken`, with why."""

    outcome: Outcome | None = None
    stop: Literal["", "spent", "stopped", "broken"] = ""
    reason: str = ""


class Worker:
    """An actor, several videos at a time in one event loop."""

    def __init__(self, config_json: str, ledger: Any, num_workers: int) -> None:
        self._config = BuildConfig.model_validate_json(config_json)
        self._ledger = ledger
        self._num_workers = num_workers
        self._is_stopped = False
        self._calls: set[asyncio.Future[None]] = set()

    async def begin(self) -> str:
        """Open models and decoder, within the loop they belong to; the node's id."""
        from data_prep.build.shop import open_shop  # what it imports is needed on workers only

        self._shop = open_shop(
            self._config.model_copy(
                update={"models": divided(self._config.models, self._num_workers)}
            ),
            store=LedgerStore(self._ledger),
            cache=LedgerReplyCache(self._ledger, lambda spent: self._shop.models.note_spent(spent)),
            spent_cost=await self._ledger.spent_cost.remote(),
            on_call=self._note_call,
            is_stopped=lambda: self._is_stopped,
        )
        node: str = ray.get_runtime_context().get_node_id()
        return node

    async def run(self, item: BuildVideo) -> Told:
        try:
            outcome = await self._shop.run(item)
        except BudgetSpentError as error:
            return Told(stop="spent", reason=str(error))
        except RunStoppedError:
            return Told(stop="stopped")
        except BuildBrokenError as error:
            return Told(stop="broken", reason=str(error))
        if self._calls:
            await asyncio.wait(set(self._calls))
        return Told(outcome)

    async def stop(self, gives_up_decodes: bool) -> None:
        """Begin nothing new; requests in flight are waited for."""
        self._is_stopped = True
        if gives_up_decodes:
            self._shop.reader.close()

    async def close(self) -> None:
        """Returns when all calls are in the ledger, those of videos that were stopped included."""
        await self._shop.aclose()
        if self._calls:
            await asyncio.wait(set(self._calls))

    def _note_call(self, call: Call) -> None:
        """Awaited before the video's outcome is told, or at the end of a run that is stopped."""
        video, stage = asking_for()
        written = asyncio.ensure_future(self._ledger.add_call.remote(video, stage, call))
        self._calls.add(written)
        written.add_done_callback(self._calls.discard)


def start_worker(config: BuildConfig, ledger: Any, num_workers: int) -> Any:
    """The actor's handle; it takes one core of whichever node has one."""
    actor = ray.remote(num_cpus=1)(Worker)
    return actor.remote(config.model_dump_json(), ledger, num_workers)


def divided(models: Mapping[str, ModelSection], num_workers: int) -> dict[str, ModelSection]:
    """Each worker's share of every model's limits.

    Raises ValueError for a model with fewer requests at once than there are workers.
    """
    return {name: _divided(name, section, num_workers) for name, section in models.items()}


def _divided(name: str, section: ModelSection, num_workers: int) -> ModelSection:
    if section.max_concurrent < num_workers:
        raise ValueError(
            f"models.{name}.max_concurrent is {section.max_concurrent}, fewer than the "
            f"{num_workers} workers that ask it; raise it or lower engine.ray_workers"
        )
    shares: dict[str, Any] = {"max_concurrent": section.max_concurrent // num_workers}
    for limit in ("requests_per_minute", "tokens_per_minute"):
        if (per_minute := getattr(section, limit)) is not None:
            shares[limit] = per_minute / num_workers
    return section.model_copy(update=shares)
