"""All that a build knows of one video, read from its journal while it runs or after.

story = read_story(BuildFolder(Path("builds/vce")), "00012.mp4")
story.id, story.state, story.get(Looked).cuts
-> "videos/00012.mp4", "done", (Cut(time_seconds=3.0, kind="cut"),)
"""

import difflib
import json
import sqlite3
import unicodedata
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

from pydantic import ValidationError

from affect.config.load import load_config
from affect.llm.chat import Frames
from data_prep.build.config import BuildConfig
from data_prep.build.folder import BuildFolder
from data_prep.build.schema import JournalError, explain, open_database
from data_prep.clip import Clip
from data_prep.records import (
    Candidates,
    Decided,
    Described,
    Grounded,
    Judged,
    Looked,
    Proposed,
    Reasoned,
    Record,
    Selected,
    Snapped,
    StageFailure,
    Tagged,
    Verified,
)
from data_prep.vce import candidates_for, read_vce_labels

RecordT = TypeVar("RecordT", bound=Record)

RECORD_KINDS: dict[str, type[Record]] = {
    "look": Looked, "select": Selected, "propose": Proposed, "snap": Snapped, "verify": Verified,
    "describe": Described, "ground": Grounded, "tag": Tagged, "reason": Reasoned, "judge": Judged,
    "decide": Decided, "draft": Decided, "truth": Decided,
}  # fmt: skip
"""Of every stage that any annotator has, in order."""

NUM_NEAR_NAMES = 5
NUM_STRIP_FRAMES = 24


@dataclass(frozen=True, slots=True)
class StageCost:
    """Requests and cached replies of one stage, in all runs. None: nobody counted, or no price."""

    stage: str
    seconds: float | None
    num_requests: int
    num_failed_requests: int
    num_cached: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class PastFailure:
    """What went wrong in a stage, how often; it may have gone well since."""

    stage: str
    kind: str
    detail: str
    count: int


@dataclass(frozen=True)
class VideoStory:
    """state: `done`, `rejected`, `failed`, `running` or `waiting`. stage, kind, detail: where and
    why it ended. records: by stage, those that the outcome rests on. frames: () of a video whose
    kept frames are not there; why_no_frames says why."""

    id: str
    sha256: str | None
    size_bytes: int
    state: str
    stage: str
    kind: str
    detail: str
    records: Mapping[str, Record]
    candidates: Candidates | None
    why_no_candidates: str
    costs: tuple[StageCost, ...]
    failures: tuple[PastFailure, ...]
    frames: Frames | None
    why_no_frames: str

    def get(self, kind: type[RecordT]) -> RecordT | None:
        """The record of this kind, or None where the video has not come so far."""
        return next((r for r in self.records.values() if isinstance(r, kind)), None)


def read_story(folder: BuildFolder, name: str) -> VideoStory:
    """name: a video's id, or a beginning or an ending that only one id has.

    Raises ValueError naming near ids for a name that none or several have; JournalError.
    """
    with closing(open_database(folder.journal, read_only=True)) as connection:
        try:
            connection.execute("BEGIN")  # one moment for all that is read
            video_id = _find(connection, name)
            sha256, size = connection.execute(
                "SELECT sha256, size FROM videos WHERE id = ?", (video_id,)
            ).fetchone()
            state, stage, kind, detail, hashes = _outcome(connection, video_id)
            records, seconds = _records(connection, video_id, hashes)
            costs = _costs(connection, video_id, seconds)
            failures = tuple(
                PastFailure(*row) for row in connection.execute(_FAILURES, (video_id,))
            )
        except sqlite3.Error as error:
            raise JournalError(explain(folder.journal, error)) from error
    config = load_config(BuildConfig, folder.config) if folder.config.is_file() else None
    candidates, why_no_candidates = _candidates(config, video_id)
    frames, why_no_frames = _frames(folder, config, sha256)
    return VideoStory(
        video_id, sha256, size, state, stage, kind, detail, records, candidates,
        why_no_candidates, costs, failures, frames, why_no_frames,
    )  # fmt: skip


def _find(connection: sqlite3.Connection, name: str) -> str:
    wanted = unicodedata.normalize("NFC", name)
    ids = [row[0] for row in connection.execute("SELECT id FROM videos ORDER BY id")]
    if wanted in ids:
        return wanted
    for found in (
        [one for one in ids if one.endswith(f"/{wanted}")],
        [one for one in ids if one.startswith(wanted) or one.endswith(wanted)],
    ):
        if len(found) == 1 and wanted:
            return str(found[0])
        if found:
            more = f" and {len(found) - NUM_NEAR_NAMES} more" if found[NUM_NEAR_NAMES:] else ""
            raise ValueError(
                f"{name!r} is the name of several videos: "
                f"{', '.join(found[:NUM_NEAR_NAMES])}{more}; give more of one"
            )
    near = difflib.get_close_matches(wanted, ids, n=NUM_NEAR_NAMES, cutoff=0.4)
    hint = f"; near it are {', '.join(near)}" if near else ""
    raise ValueError(f"{name!r}: no such video among the {len(ids)} of this build{hint}")


def _outcome(
    connection: sqlite3.Connection, video_id: str
) -> tuple[str, str, str, str, dict[str, str]]:
    row = connection.execute(_OUTCOME, (video_id,)).fetchone()
    if row is None:
        return "waiting", "", "", "", {}
    state, stage, kind, detail, hashes, is_current = row
    if not is_current:
        return "waiting", "", "", "it was finished under an earlier configuration", {}
    return state, stage, kind, detail, json.loads(hashes)


def _records(
    connection: sqlite3.Connection, video_id: str, hashes: Mapping[str, str]
) -> tuple[dict[str, Record], dict[str, float]]:
    """Those that the outcome names; before there is one, the latest of each stage."""
    rows = connection.execute(_RECORDS, (video_id,)).fetchall()
    texts = {
        stage: (text, seconds)
        for stage, input_hash, text, seconds in rows
        if not hashes or hashes.get(stage) == input_hash
    }
    records: dict[str, Record] = {}
    for stage, kind in RECORD_KINDS.items():
        if stage in texts:
            try:
                records[stage] = kind.from_json(texts[stage][0])
            except ValidationError as error:
                raise ValueError(
                    f"{video_id}: the record of {stage} was written by another version of this "
                    f"program ({error.error_count()} fields differ); run the build again"
                ) from error
    return records, {stage: seconds for stage, (_, seconds) in texts.items()}


def _costs(
    connection: sqlite3.Connection, video_id: str, seconds: Mapping[str, float]
) -> tuple[StageCost, ...]:
    calls = {row[0]: row[1:] for row in connection.execute(_CALLS, (video_id,))}
    return tuple(
        StageCost(stage, seconds.get(stage), *calls.get(stage, (0, 0, 0, None, None, None)))
        for stage in RECORD_KINDS
        if stage in seconds or stage in calls
    )


def _candidates(config: BuildConfig | None, video_id: str) -> tuple[Candidates | None, str]:
    if config is None:
        return None, "the build has no config.yaml"
    if not config.videos.labels:
        return Candidates(), ""
    try:
        return candidates_for(read_vce_labels(config.videos.labels), video_id), ""
    except (OSError, ValueError) as error:
        return None, str(error)


def _frames(
    folder: BuildFolder, config: BuildConfig | None, sha256: str | None
) -> tuple[Frames | None, str]:
    if sha256 is None or config is None:
        return None, "the file has not been read yet"
    pack = folder.pack(sha256, config.picture)
    if not pack.is_file():
        return None, "no frames are kept of it"
    try:
        clip = Clip(pack, sha256, "", pack)
        return clip.span(0.0, float("inf"), NUM_STRIP_FRAMES), ""
    except StageFailure as failure:
        return None, str(failure)


_OUTCOME = """
SELECT state, stage, kind, detail, input_hashes,
       base = (SELECT base FROM runs ORDER BY run DESC LIMIT 1)
FROM outcomes WHERE video = ?
"""

_RECORDS = """
SELECT stage, input_hash, record, seconds FROM records WHERE video = ? ORDER BY run, made_at, stage
"""

_FAILURES = """
SELECT stage, kind, detail, count FROM failures WHERE video = ? ORDER BY run, failed_at, stage
"""

_CALLS = """
SELECT stage, sum(NOT from_cache), sum(NOT from_cache AND outcome != 'usable'), sum(from_cache),
       sum(CASE WHEN NOT from_cache THEN prompt_tokens END),
       sum(CASE WHEN NOT from_cache THEN completion_tokens END),
       sum(CASE WHEN NOT from_cache THEN cost END)
FROM calls WHERE video = ? GROUP BY stage ORDER BY stage
"""
