"""The journal: what every stage left for every video, failures, requests and what they cost.

    with Journal(folder.journal) as journal:
        journal.begin_run(base, find_files(config.videos, skip=folder.path))
        await journal.add_record("clips/1.mp4", "snap", input_hash, record_json, 0.01, base, 4)
        journal.outcome_of("clips/1.mp4", digest)
    -> Outcome("done", "decide", 11) if nothing it depends on has changed since, else None

Every write is committed before it counts. Only the process that builds opens it so; who looks on
uses `data_prep.build.status` and `data_prep.build.finished`.
"""

import asyncio
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

from affect.llm.call import Call
from data_prep.build.outcome import Failure, Outcome
from data_prep.build.run_video import BuildBrokenError
from data_prep.build.schema import explain, open_database
from data_prep.build.writer import Writer


@dataclass(frozen=True, slots=True)
class FileState:
    """One file as the listing found it. path: as on the disk, under the root."""

    id: str
    path: str
    size: int
    mtime_ns: int
    sha256: str | None = None


class Journal:
    """Reads on one connection, writes through another's thread. Raises JournalError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = 0
        self._writer = Writer(open_database(path), path)
        self._reader = open_database(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """What was asked for is on the disk when it returns."""
        self._writer.close()
        self._reader.close()

    # Facts and runs

    def fact(self, name: str) -> str | None:
        row = self._one("SELECT value FROM facts WHERE name = ?", (name,))
        return None if row is None else cast(str, row[0])

    async def set_fact(self, name: str, value: str) -> None:
        await self._write("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def begin_run(self, base: str, files: Iterable[FileState]) -> int:
        """Begin with these files, all in one transaction; the number of the run, from 1.

        base: digest of what is the same for every video.
        Raises ValueError for two files with one id, and what `files` raises.
        """
        try:
            with _transaction(self._reader):
                (run,) = self._reader.execute(
                    "SELECT coalesce(max(run), 0) + 1 FROM runs"
                ).fetchone()
                values = (run, base, os.getpid(), _now())
                self._reader.execute("INSERT INTO runs VALUES (?, ?, ?, ?, NULL, NULL)", values)
                for file in files:
                    self._list_file(file, run)
                # Whatever is known of another content says nothing about this one.
                self._reader.execute(_FORGET_CHANGED)
        except sqlite3.Error as error:
            raise BuildBrokenError(explain(self.path, error)) from error
        self.run = run
        return self.run

    def _list_file(self, file: FileState, run: int) -> None:
        row = self._reader.execute(
            "SELECT path FROM videos WHERE id = ? AND listed = ?", (file.id, run)
        ).fetchone()
        if row is not None and row[0] != file.path:
            raise ValueError(
                f"{row[0]!r} and {file.path!r} have one id, {file.id!r}, in Unicode's composed "
                "form; rename one of the files"
            )
        values = (file.id, file.path, file.size, file.mtime_ns, run)
        self._reader.execute(_LIST_FILE, values)

    async def end_run(self, ending: str) -> None:
        """ending: `finished`, `budget_spent`, `gave_up`, `interrupted` or `broken`."""
        values = (_now(), ending, self.run)
        await self._write("UPDATE runs SET ended_at = ?, ending = ? WHERE run = ?", values)

    # Files

    async def set_sha256(self, file: FileState, sha256: str) -> None:
        """Note the content's hash, which holds for this size and time only."""
        await self._write(
            "UPDATE videos SET sha256 = ? WHERE id = ? AND size = ? AND mtime_ns = ?",
            (sha256, file.id, file.size, file.mtime_ns),
        )

    def listed_files(self) -> Iterator[FileState]:
        """The files of this run's listing, by id, a page at a time."""
        after: str | None = None
        while page := self._all(_PAGE, (self.run, after, after)):
            yield from (FileState(*row) for row in page)
            after = page[-1][0]

    def num_listed(self) -> int:
        row = self._one("SELECT count(*) FROM videos WHERE listed = ?", (self.run,))
        assert row is not None
        return cast(int, row[0])

    # Outcomes

    def outcome_of(self, video: str, digest: str) -> tuple[Outcome, str] | None:
        """The video's outcome, and the base it was last seen under, if it rests on what `digest`
        names; a failure is none."""
        row = self._one(_OUTCOME, (video, digest))
        if row is None:
            return None
        state, stage, num_passed, kind, detail, hashes, base = row
        outcome = Outcome(state, stage, num_passed, kind, detail, json.loads(hashes))
        return outcome, base

    async def confirm_outcome(self, video: str, base: str) -> None:
        """Say that a known outcome is this run's too."""
        await self._write(
            "UPDATE outcomes SET base = ? WHERE video = ? AND base != ?", (base, video, base)
        )

    async def set_outcome(self, video: str, base: str, digest: str, outcome: Outcome) -> None:
        hashes = json.dumps(outcome.input_hashes, separators=(",", ":"))
        values = (
            video, base, digest, outcome.state, outcome.stage, outcome.num_passed, outcome.kind,
            outcome.detail, hashes, self.run,
        )  # fmt: skip
        await self._write(_SET_OUTCOME, values)

    # Records, failures, calls

    def record(self, video: str, stage: str, input_hash: str) -> str | None:
        row = self._one(_RECORD, (video, stage, input_hash))
        return None if row is None else cast(str, row[0])

    async def add_record(
        self,
        video: str,
        stage: str,
        input_hash: str,
        record_json: str,
        seconds: float,
        base: str,
        num_passed: int,
    ) -> None:
        """base, num_passed: where the video stands then, for who looks on."""
        record = (video, stage, input_hash, record_json, seconds, self.run, _now())
        running = (
            video, base, "", "running", stage, num_passed, "", "", "{}", self.run,
        )  # fmt: skip

        def write(connection: sqlite3.Connection) -> None:
            connection.execute("INSERT OR REPLACE INTO records VALUES (?,?,?,?,?,?,?)", record)
            connection.execute(_SET_OUTCOME, running)

        await self._writer.write(write)

    async def add_failure(self, video: str, stage: str, input_hash: str, failure: Failure) -> None:
        values = (video, stage, input_hash, failure.kind, failure.detail, self.run, _now())
        await self._write(_ADD_FAILURE, values)

    async def add_call(self, video: str, stage: str, call: Call) -> None:
        await asyncio.wrap_future(self.note_call(video, stage, call))

    def note_call(self, video: str, stage: str, call: Call) -> Future[None]:
        """As `add_call`, for who does not wait: it is written no later than what comes after."""
        values = (
            video, stage, call.role, call.model, call.key, call.outcome, call.prompt_tokens,
            call.completion_tokens, call.cost, call.seconds, call.from_cache, self.run, _now(),
        )  # fmt: skip
        return self._writer.submit(lambda connection: connection.execute(_ADD_CALL, values))

    # SQL

    async def _write(self, sql: str, values: tuple[object, ...]) -> None:
        await self._writer.write(lambda connection: connection.execute(sql, values))

    def _one(self, sql: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        rows = self._all(sql, values)
        return rows[0] if rows else None

    def _all(self, sql: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        try:
            return self._reader.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise BuildBrokenError(explain(self.path, error)) from error


_PAGE = """
SELECT id, path, size, mtime_ns, sha256 FROM videos
WHERE listed = ? AND (? IS NULL OR id > ?) ORDER BY id LIMIT 500
"""

_LIST_FILE = """
INSERT INTO videos (id, path, size, mtime_ns, listed) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    sha256 = CASE WHEN size = excluded.size AND mtime_ns = excluded.mtime_ns
                   AND path = excluded.path THEN sha256 END,
    path = excluded.path, size = excluded.size, mtime_ns = excluded.mtime_ns,
    listed = excluded.listed
"""

_FORGET_CHANGED = """
DELETE FROM outcomes WHERE video IN (SELECT id FROM videos WHERE sha256 IS NULL)
"""

_OUTCOME = """
SELECT state, stage, num_passed, kind, detail, input_hashes, base FROM outcomes
WHERE video = ? AND digest = ? AND state IN ('done', 'rejected')
"""

_SET_OUTCOME = "INSERT OR REPLACE INTO outcomes VALUES (?,?,?,?,?,?,?,?,?,?)"

_RECORD = "SELECT record FROM records WHERE video = ? AND stage = ? AND input_hash = ?"

_ADD_FAILURE = """
INSERT INTO failures VALUES (?, ?, ?, ?, ?, 1, ?, ?)
ON CONFLICT (video, stage, input_hash) DO UPDATE SET
    kind = excluded.kind, detail = excluded.detail, count = count + 1, run = excluded.run,
    failed_at = excluded.failed_at
"""

_ADD_CALL = "INSERT INTO calls VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?,?,?)"


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
