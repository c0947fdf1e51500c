"""The journal's tables, and how a connection to them is opened.

    connection = open_database(folder.journal)      # made where there is none
    connection = open_database(folder.journal, read_only=True)

WAL: one process writes, any number read meanwhile. A commit is on the disk when it returns
(`synchronous=FULL`), so that not even a power cut costs a reply that was paid for.
"""

import sqlite3
from pathlib import Path

JOURNAL_VERSION = 1
"""Raised with every change of `JOURNAL_SCHEMA`."""

BUSY_TIMEOUT_SECONDS = 30.0

JOURNAL_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- One row per start of `dar build run`. base: digest of all that is the same for every video.
CREATE TABLE runs (
    run INTEGER PRIMARY KEY, base TEXT NOT NULL, pid INTEGER NOT NULL, started_at TEXT NOT NULL,
    ended_at TEXT, ending TEXT
);

-- Files, as last seen. path: as on the disk, under the root. sha256: NULL until it is read;
-- listed: the last run that found the file.
CREATE TABLE videos (
    id TEXT PRIMARY KEY, path TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    sha256 TEXT, listed INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE records (
    video TEXT NOT NULL, stage TEXT NOT NULL, input_hash TEXT NOT NULL, record TEXT NOT NULL,
    seconds REAL NOT NULL, run INTEGER NOT NULL, made_at TEXT NOT NULL,
    PRIMARY KEY (video, stage, input_hash)
);

CREATE TABLE failures (
    video TEXT NOT NULL, stage TEXT NOT NULL, input_hash TEXT NOT NULL, kind TEXT NOT NULL,
    detail TEXT NOT NULL, count INTEGER NOT NULL, run INTEGER NOT NULL, failed_at TEXT NOT NULL,
    PRIMARY KEY (video, stage, input_hash)
);

-- Where each video stands. state: running, done, rejected, failed. digest: of all its outcome
-- depends on, so that an unchanged finished video is one look-up. input_hashes: of its records, a
-- JSON object, stage -> hash.
CREATE TABLE outcomes (
    video TEXT PRIMARY KEY, base TEXT NOT NULL, digest TEXT NOT NULL, state TEXT NOT NULL,
    stage TEXT NOT NULL, num_passed INTEGER NOT NULL, kind TEXT NOT NULL, detail TEXT NOT NULL,
    input_hashes TEXT NOT NULL, run INTEGER NOT NULL
) WITHOUT ROWID;

-- Requests to models, and replies that came out of the cache. NULL where it is not known.
CREATE TABLE calls (
    call INTEGER PRIMARY KEY, video TEXT NOT NULL, stage TEXT NOT NULL, role TEXT NOT NULL,
    model TEXT NOT NULL, key TEXT NOT NULL, outcome TEXT NOT NULL, prompt_tokens INTEGER,
    completion_tokens INTEGER, cost REAL, seconds REAL NOT NULL, from_cache INTEGER NOT NULL,
    run INTEGER NOT NULL, called_at TEXT NOT NULL
);
CREATE INDEX calls_by_stage ON calls (stage, from_cache);
"""


class JournalError(ValueError):
    """The database can't be used; the message names it and says what to do."""


def open_database(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection that begins its transactions by hand (`isolation_level=None`).

    It may be handed to another thread, but only one may use it at a time.

    Raises JournalError for a file that is missing (read only), no database, damaged, locked by
    somebody else, or of another version.
    """
    if read_only and not path.is_file():
        raise JournalError(f"{path}: there is no journal; is this the folder of a build?")
    try:
        if read_only:
            address = f"{path.absolute().as_uri()}?mode=ro"
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            address = path.absolute().as_uri()
        connection = sqlite3.connect(
            address,
            uri=True,
            timeout=BUSY_TIMEOUT_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _prepare(connection, path, read_only)
        except BaseException:  # also Ctrl-C: leave no connection open
            connection.close()
            raise
    except sqlite3.Error as error:
        raise JournalError(explain(path, error)) from error
    return connection


def explain(path: Path, error: sqlite3.Error) -> str:
    """What went wrong with the database, and what to do, on one line."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if code is not None else None
    advice = {
        sqlite3.SQLITE_FULL: "the disk is full: make room and run the same command again; "
        "everything committed so far is kept",
        sqlite3.SQLITE_IOERR: "the disk refuses to read or write: mend that and run the same "
        "command again; everything committed so far is kept",
        sqlite3.SQLITE_BUSY: "another program holds it: close that and run the same command again",
        sqlite3.SQLITE_READONLY: "it can't be written: check the rights of file and folder",
        sqlite3.SQLITE_CANTOPEN: "it can't be opened: check that the folder is there and is ours",
        sqlite3.SQLITE_CORRUPT: "the file is damaged: `sqlite3 FILE .recover` may save it; else "
        "move it away and run again, replies stay in the reply cache",
        sqlite3.SQLITE_NOTADB: "the file is no SQLite database: move it away and run again",
    }.get(primary or -1, "run the same command again, on another disk if this comes back")
    return f"{path}: {error}; {advice}"


def _prepare(connection: sqlite3.Connection, path: Path, read_only: bool) -> None:
    if not read_only:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (num_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version == 0 and num_tables == 0 and not read_only:
        # One transaction: a kill leaves the tables, or none.
        connection.executescript(
            f"BEGIN; {JOURNAL_SCHEMA} PRAGMA user_version={JOURNAL_VERSION}; COMMIT;"
        )
    elif version != JOURNAL_VERSION:
        raise JournalError(
            f"{path}: a journal of version {version}, this program reads {JOURNAL_VERSION}; build "
            "into another folder, or use the program it was begun with"
        )
