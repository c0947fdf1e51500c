"""A `RecordStore` over the journal of this process.

store = JournalStore(journal, base, stages)
await store.get("clips/1.mp4", "snap", input_hash)      # JSON, or None
"""

from collections.abc import Sequence

from data_prep.build.journal import Journal
from data_prep.build.outcome import Failure
from data_prep.build.run_video import RecordStore
from data_prep.stages.stage import Stage


class JournalStore(RecordStore):
    """base: of the run. stages: in order, so that each record says how far its video has come."""

    def __init__(self, journal: Journal, base: str, stages: Sequence[Stage]) -> None:
        self._journal = journal
        self._base = base
        self._num_passed = {stage.name: number for number, stage in enumerate(stages, start=1)}

    async def get(self, video: str, stage: str, input_hash: str) -> str | None:
        return self._journal.record(video, stage, input_hash)

    async def put(
        self, video: str, stage: str, input_hash: str, record_json: str, seconds: float
    ) -> None:
        await self._journal.add_record(
            video, stage, input_hash, record_json, seconds, self._base, self._num_passed[stage]
        )

    async def fail(self, video: str, stage: str, input_hash: str, failure: Failure) -> None:
        await self._journal.add_failure(video, stage, input_hash, failure)
