"""What a build has brought forth so far, read from its journal while it runs or after.

    for finished in finished_videos(folder, config): ...        # FinishedVideo, by id
    for video_id, outcome in outcomes(folder): ...              # None for one still waiting

Both name the files that the latest run found, as its configuration left them; what rests on an
earlier configuration is waiting. Nothing is held in memory but a page of rows.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from data_prep.build.config import BuildConfig
from data_prep.build.folder import BuildFolder
from data_prep.build.outcome import Outcome
from data_prep.build.schema import JournalError, explain, open_database
from data_prep.dataset.finished import FinishedVideo
from data_prep.records import Decided, Looked, Tagged, Video


def finished_videos(folder: BuildFolder, config: BuildConfig) -> Iterator[FinishedVideo]:
    """Sorted by id. Raises JournalError."""
    root = config.videos.root.resolve()
    for video_id, path, sha256, looked, tagged, decided in _rows(folder, _FINISHED):
        yield FinishedVideo(
            video=Video(id=video_id, sha256=sha256),
            path=root / path,
            looked=Looked.from_json(looked),
            tagged=None if tagged is None else Tagged.from_json(tagged),
            decided=Decided.from_json(decided),
            source=config.videos.source,
        )


def finished_hashes(folder: BuildFolder) -> Iterator[tuple[str, ...]]:
    """(id, path, SHA-256, input hashes of the records as JSON) of what `finished_videos` yields,
    without reading a record. Raises JournalError."""
    yield from _rows(folder, _FINISHED_HASHES)


def decided_records(folder: BuildFolder) -> Iterator[Decided]:
    """What `decide` left for each video that came out of it, by id. Raises JournalError."""
    for _, record in _rows(folder, _DECIDED):
        yield Decided.from_json(record)


def outcomes(folder: BuildFolder) -> Iterator[tuple[str, Outcome | None]]:
    """Every file's id with what became of it, sorted by id. Raises JournalError."""
    for video_id, state, stage, num_passed, kind, detail, hashes in _rows(folder, _OUTCOMES):
        if state is None:
            yield video_id, None
        else:
            yield (
                video_id,
                Outcome(state, stage, num_passed, kind, detail, json.loads(hashes)),
            )


def _rows(folder: BuildFolder, sql: str) -> Iterator[tuple[Any, ...]]:
    """The rows of a query that is ordered by its first column, which is above `:after`, and limited
    to a page. A page per query, so that no long read keeps the writer's log from shrinking.

    Raises JournalError.
    """
    with closing(open_database(folder.journal, read_only=True)) as connection:
        after = ""
        try:
            while page := connection.execute(sql, {"after": after}).fetchall():
                yield from page
                after = page[-1][0]
        except sqlite3.Error as error:
            raise JournalError(explain(folder.journal, error)) from error


_LATEST = """
WITH latest AS (SELECT run, base FROM runs ORDER BY run DESC LIMIT 1)
"""

_FINISHED = f"""{_LATEST}
SELECT v.id, v.path, v.sha256, looked.record, tagged.record, decided.record
FROM latest
JOIN videos v ON v.listed = latest.run
JOIN outcomes o ON o.video = v.id AND o.base = latest.base AND o.state = 'done'
JOIN records looked ON looked.video = v.id AND looked.stage = 'look'
    AND looked.input_hash = json_extract(o.input_hashes, '$.look')
LEFT JOIN records tagged ON tagged.video = v.id AND tagged.stage = 'tag'
    AND tagged.input_hash = json_extract(o.input_hashes, '$.tag')
JOIN records decided ON decided.video = v.id AND decided.stage = o.stage
    AND decided.input_hash = json_extract(o.input_hashes, '$.' || o.stage)
WHERE v.id > :after ORDER BY v.id LIMIT 200
"""

_FINISHED_HASHES = f"""{_LATEST}
SELECT v.id, v.path, v.sha256, o.input_hashes
FROM latest
JOIN videos v ON v.listed = latest.run
JOIN outcomes o ON o.video = v.id AND o.base = latest.base AND o.state = 'done'
WHERE v.id > :after ORDER BY v.id LIMIT 500
"""

_DECIDED = f"""{_LATEST}
SELECT v.id, r.record
FROM latest
JOIN videos v ON v.listed = latest.run
JOIN outcomes o ON o.video = v.id AND o.base = latest.base AND o.state IN ('done', 'rejected')
JOIN records r ON r.video = v.id AND r.stage = 'decide'
    AND r.input_hash = json_extract(o.input_hashes, '$.decide')
WHERE v.id > :after ORDER BY v.id LIMIT 200
"""

_OUTCOMES = f"""{_LATEST}
SELECT v.id, o.state, o.stage, o.num_passed, o.kind, o.detail, o.input_hashes
FROM latest
JOIN videos v ON v.listed = latest.run
LEFT JOIN outcomes o ON o.video = v.id AND o.base = latest.base AND o.state != 'running'
WHERE v.id > :after ORDER BY v.id LIMIT 500
"""
