"""One video through all stages: records that are there are read, the rest is run.

    outcome = await run_video(BuildVideo(video, path, candidates), context)
    -> Outcome("done", "decide", 11, ...)

It knows neither database nor event loop: records come from and go to a `RecordStore`, whom a stage
asks is `context.models_for(video, stage)`. So it runs unchanged wherever those two can be reached.
"""

import errno
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from affect.config.section import Section
from affect.llm.chat import BudgetSpentError, ModelFailure, Models
from affect.video import GuardedReader
from data_prep.build.outcome import UNEXPECTED, Failure, Outcome
from data_prep.clip import Clip
from data_prep.grounder import Grounder
from data_prep.records import Candidates, Looked, Record, StageFailure, Video
from data_prep.stages.stage import Stage, StageInputs


@dataclass(frozen=True, slots=True)
class BuildVideo:
    """One video to build from. path: of its file."""

    video: Video
    path: Path
    candidates: Candidates


class RecordStore(Protocol):
    """Where records are kept. What is put is on the disk before `put` returns."""

    async def get(self, video: str, stage: str, input_hash: str) -> str | None:
        """The record's JSON, or None."""
        ...

    async def put(
        self, video: str, stage: str, input_hash: str, record_json: str, seconds: float
    ) -> None: ...

    async def fail(self, video: str, stage: str, input_hash: str, failure: Failure) -> None: ...


class RunStoppedError(Exception):
    """The run is being stopped: what was not begun is left for the next one."""


class BuildBrokenError(Exception):
    """The build itself can't go on (a full disk, a broken database): no video's fault.

    Its message says what to do.
    """


_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT)

STOPS = (BudgetSpentError, RunStoppedError, BuildBrokenError)
"""Exceptions that say nothing about the video they come up in."""


@dataclass(frozen=True)
class BuildContext:
    """All that is the same for every video.

    pack_of: SHA-256 of a video -> where its frames lie. kept: names how they are kept.
    decode_slot: entered around a stage that decodes. is_stopped: asked before each stage that has
    to run.
    """

    stages: tuple[Stage, ...]
    store: RecordStore
    sections: Mapping[type[Section], Section]
    model_identities: Mapping[str, Any]
    models_for: Callable[[str, str], Models]
    grounder: Grounder
    reader: GuardedReader
    pack_of: Callable[[str], Path]
    kept: str
    decode_slot: Callable[[], AbstractAsyncContextManager[Any]]
    is_stopped: Callable[[], bool]


async def run_video(item: BuildVideo, context: BuildContext) -> Outcome:
    """What became of it. Raises what is in `STOPS`; any other exception is the video's failure."""
    video = item.video
    pack = context.pack_of(video.sha256)
    records: dict[type[Record], Record] = {}
    hashes: dict[str, str] = {}
    for num_passed, stage in enumerate(context.stages):
        looked = records.get(Looked)
        mime_type = looked.mime_type if isinstance(looked, Looked) else ""
        inputs = StageInputs(
            video=video,
            candidates=item.candidates,
            clip=Clip(item.path, video.sha256, mime_type, pack, context.kept),
            models=context.models_for(video.id, stage.name),
            grounder=context.grounder,
            reader=context.reader,
            sections=context.sections,
            records=records,
            model_identities=context.model_identities,
        )
        input_hash = hashes[stage.name] = stage.input_hash(inputs)
        text = await context.store.get(video.id, stage.name, input_hash)
        record = None if text is None else stage.record.from_json(text)
        if record is None or _lacks_frames(record, pack):
            made = await _make(stage, inputs, input_hash, context)
            if isinstance(made, Failure):
                await context.store.fail(video.id, stage.name, input_hash, made)
                return Outcome("failed", stage.name, num_passed, made.kind, made.detail, hashes)
            record = made
        if record.rejection is not None:
            return Outcome("rejected", stage.name, num_passed, record.rejection, "", hashes)
        records[stage.record] = record
    last = context.stages[-1].name
    return Outcome("done", last, len(context.stages), input_hashes=hashes)


def _lacks_frames(record: Record, pack: Path) -> bool:
    """Records are kept as text; frames are files, which somebody may have removed."""
    return isinstance(record, Looked) and record.rejection is None and not pack.exists()


async def _make(
    stage: Stage, inputs: StageInputs, input_hash: str, context: BuildContext
) -> Record | Failure:
    """Run the stage and keep its record; the record, or why there is none."""
    if context.is_stopped():
        raise RunStoppedError
    began = time.monotonic()
    try:
        if GuardedReader in stage.parameters.values():
            async with context.decode_slot():
                record = await stage.run(inputs)
        else:
            record = await stage.run(inputs)
        text = record.canonical_json()
        # As it will be read back: what can't be must not be kept.
        record = stage.record.from_json(text)
    except STOPS:
        raise
    except (StageFailure, ModelFailure) as error:
        if context.is_stopped() and GuardedReader in stage.parameters.values():
            raise RunStoppedError from error  # its reader was closed under it
        return Failure(error.kind, _detail_of(error))
    except OSError as error:
        if error.errno in _DISK_IS_FULL:
            raise BuildBrokenError(f"{error}; make room and run the same command again") from error
        return Failure(UNEXPECTED, traceback.format_exc())
    except Exception:  # noqa: BLE001 - one video's bug must not end the build; kept as its failure
        return Failure(UNEXPECTED, traceback.format_exc())
    seconds = time.monotonic() - began
    await context.store.put(inputs.video.id, stage.name, input_hash, text, seconds)
    return record


def _detail_of(error: StageFailure | ModelFailure) -> str:
    if isinstance(error, ModelFailure):
        return f"{error.model}: {error.detail}"
    return error.detail
