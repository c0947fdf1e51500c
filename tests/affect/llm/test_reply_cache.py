"""Bought replies outlive the process and are never bought twice."""

import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect.llm.reply import FINISHES, Reply
from affect.llm.reply_cache import SqliteReplyCache
from tests.paths import ROOT


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "build" / "replies.sqlite"


def test_what_is_put_is_there_in_the_next_run(path: Path) -> None:
    reply = Reply('{"a": "ä\u2028"}', "complete", 812, 9)
    cut = Reply("", "cut_off", 812, None, "why")
    cache = SqliteReplyCache(path)
    assert cache.get("k") is None
    cache.put("k", reply, 0.25)
    cache.put("cut", cut)
    cache.put("free", reply, 0.0)
    cache.close()
    again = SqliteReplyCache(path)
    assert again.get("k") == reply
    assert again.get("cut") == cut
    assert again.get("K") is None
    assert again.spent_cost() == 0.25
    assert again.num_replies() == 3
    again.close()


def test_the_first_reply_stays(path: Path) -> None:
    cache = SqliteReplyCache(path)
    cache.put("k", Reply("one", "complete"), 1.0)
    cache.put("k", Reply("two", "complete"), 2.0)
    assert cache.get("k") == Reply("one", "complete")
    assert cache.spent_cost() == 1.0
    cache.close()


@given(
    st.text(st.characters()),
    st.sampled_from(FINISHES[1:]),
    st.none() | st.integers(0, 10**6),
    st.none() | st.integers(0, 10**6),
)
def test_any_reply_comes_back(
    tmp_path_factory: pytest.TempPathFactory,
    text: str,
    finish: str,
    prompt_tokens: int | None,
    completion_tokens: int | None,
) -> None:
    reply = Reply(text, finish, prompt_tokens, completion_tokens, text)  # type: ignore[arg-type]
    cache = SqliteReplyCache(tmp_path_factory.getbasetemp() / "any.sqlite")
    key = str(cache.num_replies())
    cache.put(key, reply)
    assert cache.get(key) == reply
    cache.close()


def test_threads(path: Path) -> None:
    cache = SqliteReplyCache(path)

    def work(number: int) -> bool:
        cache.put(str(number), Reply(str(number), "complete"), 1.0)
        return cache.get(str(number)) == Reply(str(number), "complete")

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(100)))
    assert cache.num_replies() == 100
    assert cache.spent_cost() == 100.0
    cache.close()


KILLED = """
import sys
from pathlib import Path
from affect.llm.reply import Reply
from affect.llm.reply_cache import SqliteReplyCache
cache = SqliteReplyCache(Path(sys.argv[1]))
number = 0
while True:
    cache.put(str(number), Reply("x", "complete"), 1.0)
    sys.stdout.write(f"{number}\\n")
    sys.stdout.flush()
    number += 1
"""


def test_a_killed_process_loses_no_reply_that_it_was_given(path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    for _ in range(20):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    said = 19 + len(process.stdout.readlines())
    process.wait()
    cache = SqliteReplyCache(path)
    assert all(cache.get(str(number)) is not None for number in range(said + 1))
    assert cache.num_replies() in (said + 1, said + 2)
    cache.close()


def test_settings(path: Path) -> None:
    cache = SqliteReplyCache(path)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert cache._writer.execute("PRAGMA synchronous").fetchone() == (2,)
    connection.close()
    cache.close()


def test_another_version_is_refused(path: Path) -> None:
    SqliteReplyCache(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ValueError, match=r"replies\.sqlite is a reply cache of version 99"):
        SqliteReplyCache(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no database\n" * 100)
    with pytest.raises(ValueError, match=r"notes\.txt: .*not a database"):
        SqliteReplyCache(text)
    assert text.read_text() == "no database\n" * 100
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(ValueError, match="another program's database"):
        SqliteReplyCache(other)


def test_a_spoiled_reply_is_named(path: Path) -> None:
    cache = SqliteReplyCache(path)
    cache.put("k", Reply("x", "complete"))
    with sqlite3.connect(path) as connection:
        connection.execute("""UPDATE replies SET reply = '{"text": "x", "finish": "done"}'""")
    connection.close()
    with pytest.raises(ValueError, match="the reply k cannot be read: unknown finish 'done'"):
        cache.get("k")
    cache.close()
