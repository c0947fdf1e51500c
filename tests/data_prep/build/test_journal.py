"""The journal's file: what is committed stays, what is broken is said, who looks on can read."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from affect.llm.call import Call
from data_prep.build.journal import Journal
from data_prep.build.outcome import Failure, Outcome
from data_prep.build.run_video import BuildBrokenError
from data_prep.build.schema import JournalError, open_database
from data_prep.build.writer import Writer


def test_a_record_is_there_once_it_is_added(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        journal.begin_run("base", [])
        asyncio.run(journal.add_record("v", "snap", "hash", '{"a":1}', 0.5, "base", 4))
        with closing(open_database(path, read_only=True)) as other:
            assert other.execute("SELECT record, seconds, run FROM records").fetchall() == [
                ('{"a":1}', 0.5, 1)
            ]
        assert journal.record("v", "snap", "hash") == '{"a":1}'
        assert journal.record("v", "snap", "other") is None
        assert journal.record("w", "snap", "hash") is None


def test_only_settled_outcomes_of_the_same_digest_are_known(tmp_path: Path) -> None:
    done = Outcome("done", "decide", 4, input_hashes={"look": "1", "decide": "2"})
    failed = Outcome("failed", "tag", 2, "timeout", "detail", {"look": "1"})
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.begin_run("base", [])
        asyncio.run(journal.set_outcome("v", "base", "digest", done))
        assert journal.outcome_of("v", "digest") == (done, "base")
        assert journal.outcome_of("v", "another") is None
        asyncio.run(journal.confirm_outcome("v", "another base"))
        assert journal.outcome_of("v", "digest") == (done, "another base")
        asyncio.run(journal.set_outcome("v", "base", "digest", failed))
        assert journal.outcome_of("v", "digest") is None


def test_calls_are_written_before_what_follows(tmp_path: Path) -> None:
    call = Call("tag", "m", "tag", "key", 1, 1, "usable", 10, None, None, 0.5, False)
    path = tmp_path / "journal.sqlite"

    async def note(journal: Journal) -> None:
        journal.note_call("v", "tag", call)
        await journal.add_failure("v", "tag", "hash", Failure("timeout", "detail"))

    with Journal(path) as journal:
        journal.begin_run("base", [])
        asyncio.run(note(journal))
        with closing(open_database(path, read_only=True)) as other:
            rows = other.execute("SELECT video, role, prompt_tokens, cost, from_cache FROM calls")
            assert rows.fetchall() == [("v", "tag", 10, None, 0)]


def test_writes_asked_for_together_share_a_commit(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    connection = open_database(path)
    commits = 0

    def traced(statement: str) -> None:
        nonlocal commits
        commits += statement == "COMMIT"

    connection.set_trace_callback(traced)
    writer = Writer(connection, path)
    try:

        async def write_all() -> None:
            sql = "INSERT INTO facts VALUES (?, '')"
            await asyncio.gather(
                *(writer.write(lambda c, n=n: c.execute(sql, (n,))) for n in range(200))  # type: ignore[misc]
            )

        asyncio.run(write_all())
    finally:
        writer.close()
    assert 1 <= commits < 200
    with closing(open_database(path, read_only=True)) as other:
        assert other.execute("SELECT count(*) FROM facts").fetchone() == (200,)


def test_a_full_disk_is_said_and_costs_nothing_committed(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    connection = open_database(path)
    connection.execute("PRAGMA max_page_count = 40")
    writer = Writer(connection, path)

    def write(text: str) -> None:
        sql = "INSERT INTO facts VALUES (?, ?)"
        asyncio.run(writer.write(lambda c: c.execute(sql, (text[:9], text))))

    try:
        write("kept")
        with pytest.raises(BuildBrokenError, match="the disk is full: make room"):
            write("x" * 1_000_000)
        with pytest.raises(BuildBrokenError, match="the disk is full"):
            write("nothing is written after that")
    finally:
        writer.close()
    with closing(open_database(path, read_only=True)) as other:
        assert other.execute("SELECT name FROM facts").fetchall() == [("kept",)]


def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.write_bytes(b"no database at all, but long enough to be taken for the head of one" * 20)
    with pytest.raises(JournalError, match=r"journal\.sqlite: .*the file is no SQLite database"):
        Journal(path)
    path.unlink()
    with Journal(path) as journal:
        journal.begin_run("base", [])
        for number in range(20):
            asyncio.run(journal.set_fact(f"{number:09d}", "x" * 2000))
    data = bytearray(path.read_bytes())
    data[4096 * 2 : -4096] = b"\xff" * len(data[4096 * 2 : -4096])
    path.write_bytes(data)
    with (
        pytest.raises((JournalError, BuildBrokenError), match=r"journal\.sqlite: .*damaged"),
        Journal(path) as journal,
    ):
        for number in range(20):
            journal.fact(f"{number:09d}")


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    Journal(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    for read_only in (False, True):
        with pytest.raises(JournalError, match="a journal of version 99, this program reads 1"):
            open_database(path, read_only=read_only)


def test_another_programs_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE photographs (id)")
    with pytest.raises(JournalError, match="a journal of version 0"):
        Journal(path)


def test_nothing_is_made_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with pytest.raises(JournalError, match="there is no journal"):
        open_database(path, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_stays_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("data_prep.build.schema.BUSY_TIMEOUT_SECONDS", 0.0)
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        journal.begin_run("base", [])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(BuildBrokenError, match="another program holds it"):
                asyncio.run(journal.set_fact("a", "b"))
