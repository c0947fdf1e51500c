"""What the workers of a cluster share: the journal and the reply cache, kept by one actor.

    ledger = start_ledger(folder, plan, run, max_cost)  # on the driver's node, where the files lie
    store = LedgerStore(ledger)                         # a `RecordStore`, on any node
    cache = LedgerReplyCache(ledger)                    # a `ReplyCache`, on any node

A node that dies takes no record and no reply with it: whatever a worker counts on has been written
here, on the disk of the driver's node, before the worker went on.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from affect.llm.call import Call
from affect.llm.reply import Reply
from affect.llm.reply_cache import ReplyCache, SqliteReplyCache
from data_prep.build.folder import BuildFolder
from data_prep.build.journal import Journal
from data_prep.build.journal_store import JournalStore
from data_prep.build.outcome import Failure
from data_prep.build.run_video import RecordStore
from data_prep.stages import stages_for


class Ledger:
    """An actor. run, base: of the driver's journal, under which everything is written."""

    def __init__(self, folder: str, annotator: str, run: int, base: str) -> None:
        paths = BuildFolder(Path(folder))
        self._journal = Journal(paths.journal)
        self._journal.run = run
        self._store = JournalStore(self._journal, base, stages_for(annotator))
        self._replies = SqliteReplyCache(paths.replies)
        self._spent = self._replies.spent_cost()

    async def get(self, video: str, stage: str, input_hash: str) -> str | None:
        return await self._store.get(video, stage, input_hash)

    async def put(
        self, video: str, stage: str, input_hash: str, record_json: str, seconds: float
    ) -> None:
        await self._store.put(video, stage, input_hash, record_json, seconds)

    async def fail(self, video: str, stage: str, input_hash: str, failure: Failure) -> None:
        await self._store.fail(video, stage, input_hash, failure)

    async def add_call(self, video: str, stage: str, call: Call) -> None:
        await self._journal.add_call(video, stage, call)

    async def reply(self, key: str) -> Reply | None:
        return self._replies.get(key)

    async def spent_cost(self) -> float:
        return self._spent

    async def keep_reply(self, key: str, reply: Reply, cost: float | None) -> float:
        """What all workers have spent by now."""
        self._replies.put(key, reply, cost)
        self._spent += cost or 0.0
        return self._spent

    async def close(self) -> None:
        """What was written is on the disk."""
        self._journal.close()
        self._replies.close()


def start_ledger(folder: Path, annotator: str, run: int, base: str) -> Any:
    """The actor's handle, on the node of whoever calls."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    actor = ray.remote(num_cpus=0)(Ledger)
    return actor.options(scheduling_strategy=here).remote(
        os.path.abspath(folder), annotator, run, base
    )


class LedgerStore(RecordStore):
    """Records kept by the ledger."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger

    async def get(self, video: str, stage: str, input_hash: str) -> str | None:
        record: str | None = await self._ledger.get.remote(video, stage, input_hash)
        return record

    async def put(
        self, video: str, stage: str, input_hash: str, record_json: str, seconds: float
    ) -> None:
        await self._ledger.put.remote(video, stage, input_hash, record_json, seconds)

    async def fail(self, video: str, stage: str, input_hash: str, failure: Failure) -> None:
        await self._ledger.fail.remote(video, stage, input_hash, failure)


class LedgerReplyCache(ReplyCache):
    """Replies kept by the ledger. on_spent: told what all workers together have spent.

    Called from threads, never from an actor's event loop, which it would block.
    """

    def __init__(self, ledger: Any, on_spent: Callable[[float], None]) -> None:
        self._ledger = ledger
        self._on_spent = on_spent

    def get(self, key: str) -> Reply | None:
        reply: Reply | None = ray.get(self._ledger.reply.remote(key))
        return reply

    def put(self, key: str, reply: Reply, cost: float | None = None) -> None:
        self._on_spent(ray.get(self._ledger.keep_reply.remote(key, reply, cost)))
