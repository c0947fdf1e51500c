"""Where a video's stages are run: models, detector, decoder and what they are set up with.

    shop = open_shop(
        config, store=store, cache=cache, on_call=journal.note, is_stopped=stop.is_set
    )
    outcome = await shop.run(BuildVideo(video, path, candidates))
    await shop.aclose()

One per process that does the work, within one event loop. Where records, replies and accounts are
kept is the caller's.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from affect.llm.call import OnCall
from affect.llm.reply_cache import ReplyCache
from affect.llm.retrying import RetryPolicy
from affect.llm.role_models import RoleModels
from affect.video import GuardedReader
from affect.video.quarantine import Quarantine
from data_prep.build.config import BuildConfig
from data_prep.build.folder import BuildFolder, frames_digest
from data_prep.build.outcome import Outcome
from data_prep.build.plan import Plan, make_plan, role_names
from data_prep.build.run_video import (
    BuildContext,
    BuildVideo,
    RecordStore,
    RunStoppedError,
    run_video,
)
from data_prep.build.stage_models import StageModels
from data_prep.grounder import NO_GROUNDER, Grounder
from data_prep.stages import stages_for

_NUM_OTHER_THREADS = 8
"""For hashes and the reply cache, beside the threads that wait for decodes."""


@dataclass(frozen=True)
class Prepared:
    """What follows from the configuration and the files it names."""

    plan: Plan
    grounder: Grounder


def prepare(config: BuildConfig) -> Prepared:
    """Raises ValueError for label files and detector weights that can't be read."""
    grounder = NO_GROUNDER
    if config.annotator == "models" and config.ground.weights is not None:
        from data_prep.dino_grounder import load_grounder

        grounder = load_grounder(config.ground)
    plan = make_plan(config, stages_for(config.annotator), grounder.identity)
    return Prepared(plan, grounder)


@dataclass(frozen=True)
class Shop:
    context: BuildContext
    models: RoleModels
    reader: GuardedReader

    async def run(self, item: BuildVideo) -> Outcome:
        """As `run_video`."""
        return await run_video(item, self.context)

    async def aclose(self) -> None:
        """Requests and decodes in flight are given up; a reply that is being kept is kept. The
        event loop has no threads after that."""
        self.reader.close()
        await self.models.aclose()
        await asyncio.get_running_loop().shutdown_default_executor()


async def check_models(config: BuildConfig, plan: Plan) -> None:
    """Raises ValueError for a missing key or a limit that can't be kept, as `open_shop` does: for
    a process whose workers open the shops."""
    await _open_models(config, plan).aclose()


def _open_models(config: BuildConfig, plan: Plan, **accounts: Any) -> RoleModels:
    """accounts: `cache`, `spent_cost`, `on_call` and `before_each` of `RoleModels`."""
    asked = {role for stage in plan.stages for role in stage.roles}
    return RoleModels(
        {role: name for role, name in role_names(config).items() if role in asked},
        config.models,
        max_asks=config.limits.max_asks,
        policy=RetryPolicy(config.limits.max_attempts, config.limits.max_backoff_seconds),
        max_cost=config.limits.max_cost,
        **accounts,
    )


def open_shop(
    config: BuildConfig,
    *,
    store: RecordStore,
    cache: ReplyCache,
    on_call: OnCall,
    is_stopped: Callable[[], bool],
    spent_cost: float = 0.0,
    prepared: Prepared | None = None,
) -> Shop:
    """To be called in its event loop. spent_cost: by earlier runs. prepared: where `prepare` was
    called before.

    Raises ValueError for a missing key, a limit that can't be kept, and as `prepare` does.
    """
    prepared = prepared or prepare(config)
    plan, folder = prepared.plan, BuildFolder(config.out)
    decodes_at_once = config.engine.decodes_at_once
    threads = ThreadPoolExecutor(decodes_at_once + _NUM_OTHER_THREADS)
    asyncio.get_running_loop().set_default_executor(threads)

    def before_each() -> None:
        if is_stopped():
            raise RunStoppedError

    models = _open_models(
        config,
        plan,
        cache=cache,
        spent_cost=spent_cost,
        on_call=on_call,
        before_each=before_each,
    )
    reader = GuardedReader(config.engine.decode_timeout_seconds, Quarantine(folder.quarantine))
    decodes = asyncio.Semaphore(decodes_at_once)
    context = BuildContext(
        stages=plan.stages,
        store=store,
        sections=plan.sections,
        model_identities=plan.model_identities,
        models_for=lambda video, stage: StageModels(
            models, video, stage, folder.replies, is_stopped
        ),
        grounder=prepared.grounder,
        reader=reader,
        pack_of=lambda sha256: folder.pack(sha256, config.picture),
        kept=frames_digest(config.picture),
        decode_slot=lambda: decodes,
        is_stopped=is_stopped,
    )
    return Shop(context, models, reader)
