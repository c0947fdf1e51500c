"""Replies that were bought, kept on disk under their request's key, so none is bought twice.

    cache = SqliteReplyCache(Path("builds/vce/replies.sqlite"))
    cache.put(key, Reply('{"genre": "Sports"}', "complete", 812, 9), cost=0.002)
    cache.get(key).text, cache.spent_cost()

A reply is kept as it came, also one that was cut off or refused or that nothing can be made of: it
was paid for, and the same question would bring it again. A try that brought no reply (a time-out,
an HTTP error) is none and is not kept.

The first reply under a key stays. Every `put` is on the disk when it returns (write-ahead log,
`synchronous=FULL`): NORMAL would outlive a killed process but not a power cut, and one fsync is
nothing beside a request to a model. Safe for threads and for processes on one machine.
"""

import json
import sqlite3
import threading
from pathlib import Path
from typing import Protocol

from affect.llm.reply import FINISHES, Reply

_APPLICATION_ID = 0x44415252
"""Says in the file's header whose it is: DARR."""
SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE replies (
    key TEXT PRIMARY KEY NOT NULL,
    reply TEXT NOT NULL,
    cost REAL
) WITHOUT ROWID
"""
_BUSY_SECONDS = 60.0


class ReplyCache(Protocol):
    """Called from any thread."""

    def get(self, key: str) -> Reply | None: ...

    def put(self, key: str, reply: Reply, cost: float | None = None) -> None:
        """Return when the reply is safe. cost: what was paid, None where that is not known."""
        ...


class SqliteReplyCache(ReplyCache):
    """One file. Raises ValueError for a file that is no cache, or one of another version."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._connections: list[sqlite3.Connection] = []
        try:
            # Two, so that reading never waits for another reply's fsync.
            self._writer, self._reader = self._connect(), self._connect()
            self._create()
        except sqlite3.DatabaseError as error:
            self.close()
            raise ValueError(f"{path}: {error}; is it a reply cache? Name another file") from None
        except BaseException:  # a wrong version, Ctrl-C: leave no file open
            self.close()
            raise
        self._write_lock, self._read_lock = threading.Lock(), threading.Lock()

    def get(self, key: str) -> Reply | None:
        with self._read_lock:
            row = self._reader.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._decoded(key, row[0])

    def put(self, key: str, reply: Reply, cost: float | None = None) -> None:
        text = json.dumps(
            {
                "text": reply.text,
                "finish": reply.finish,
                "prompt_tokens": reply.prompt_tokens,
                "completion_tokens": reply.completion_tokens,
                "detail": reply.detail,
            }
        )
        with self._write_lock:  # in autocommit: written when execute returns
            self._writer.execute(
                "INSERT INTO replies VALUES (?, ?, ?) ON CONFLICT (key) DO NOTHING",
                (key, text, cost),
            )

    def spent_cost(self) -> float:
        """The sum of all known costs: what earlier runs paid, 0.0 if nothing."""
        with self._read_lock:
            row = self._reader.execute("SELECT total(cost) FROM replies").fetchone()
        return float(row[0])

    def num_replies(self) -> int:
        with self._read_lock:
            return int(self._reader.execute("SELECT count(*) FROM replies").fetchone()[0])

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._connections.append(connection)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _create(self) -> None:
        writer = self._writer
        writer.execute("BEGIN IMMEDIATE")  # against a second process that creates it too
        try:
            if not writer.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                writer.execute(_SCHEMA)
                writer.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                writer.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            application = writer.execute("PRAGMA application_id").fetchone()[0]
            version = writer.execute("PRAGMA user_version").fetchone()[0]
        finally:
            writer.execute("COMMIT")
        if application != _APPLICATION_ID:
            raise ValueError(f"{self._path} is another program's database; name another file")
        if version != SCHEMA_VERSION:
            raise ValueError(
                f"{self._path} is a reply cache of version {version}, this code writes version "
                f"{SCHEMA_VERSION}; name another file, or remove this one and buy its replies anew"
            )

    def _decoded(self, key: str, text: str) -> Reply:
        try:
            fields = json.loads(text)
            if fields["finish"] not in FINISHES:
                raise ValueError(f"unknown finish {fields['finish']!r}")
            return Reply(**fields)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{self._path}: the reply {key} cannot be read: {error}") from None
