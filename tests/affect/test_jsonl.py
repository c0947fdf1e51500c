"""JSON Lines: strict reading by line number, whole files or none, and appending after a kill."""

import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from affect import jsonl
from affect.jsonl import JsonlWriter, numbered_jsonl, read_jsonl, write_jsonl_atomic

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "caf\u00e9 \u2028 x"},
    {"id": "b", "n": [1, 2.5, None]},
]
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.just("half \ud83d"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
JSON_ROWS = st.lists(st.dictionaries(st.text(max_size=3), JSON_VALUES, max_size=3), max_size=4)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rows.jsonl"
    write_jsonl_atomic(path, ROWS)
    assert read_jsonl(path) == ROWS
    assert path.read_bytes().count(b"\n") == 2
    assert "caf\u00e9" in path.read_text(encoding="utf-8")
    write_jsonl_atomic(path, [])
    assert read_jsonl(path) == []
    assert path.read_bytes() == b""


@given(JSON_ROWS)
def test_any_rows_survive(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "rows.jsonl"
    write_jsonl_atomic(path, rows)
    assert read_jsonl(path) == rows
    path.unlink()
    with JsonlWriter(path) as writer:
        for row in rows:
            writer.write(row)
    assert read_jsonl(path) == rows


def test_blank_lines_count_for_numbers_only(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": 1}\r\n\n  \n{"id": 2}')
    assert list(numbered_jsonl(path)) == [(1, {"id": 1}), (4, {"id": 2})]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"oops", "not JSON: Expecting value at character 0"),
        (b'{"a": 1', "not JSON"),
        (b'{"a": 1}{"a": 2}', "not JSON: Extra data at character 8"),
        (b'{"a": 1,}', "not JSON"),
        (b"[1, 2]", r"an object \{...\} is needed, not list"),
        (b"null", r"an object \{...\} is needed, not NoneType"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b'{"a": -Infinity}', "-Infinity is no JSON number"),
        (b'{"a": 1e999}', "1e999 is too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "Exceeds the limit"),
        (b'{"a": 1, "b": 2, "a": 3}', "the key 'a' is written more than once"),
        (b'{"a": {"c": 1, "c": 1}}', "the key 'c' is written more than once"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_broken_lines_are_named(tmp_path: Path, line: bytes, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": 1}\n\n' + line + b"\n")
    with pytest.raises(ValueError, match=f"rows.jsonl:3: {message}"):
        read_jsonl(path)


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"x", object()])
def test_a_row_that_is_no_json_leaves_the_old_file(tmp_path: Path, value: object) -> None:
    path = tmp_path / "rows.jsonl"
    write_jsonl_atomic(path, ROWS)
    with pytest.raises(ValueError, match=r"rows\.jsonl: row 1 cannot be written as JSON"):
        write_jsonl_atomic(path, [{"a": 1}, {"a": value}])
    assert read_jsonl(path) == ROWS
    assert [file.name for file in tmp_path.iterdir()] == ["rows.jsonl"]


def test_writer_continues(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "out.jsonl"
    with JsonlWriter(path) as writer:
        assert writer.rows == ()
        writer.write(ROWS[0])
        assert read_jsonl(path) == ROWS[:1]  # readable while it is being written
    with JsonlWriter(path) as writer:
        assert writer.rows == (ROWS[0],)
        assert writer.num_bytes_cut == 0
        writer.write(ROWS[1], {"id": "c"})
        writer.write()
    assert read_jsonl(path) == [*ROWS, {"id": "c"}]


@given(cut=st.integers(0, 80))
def test_any_torn_end_is_cut(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "out.jsonl"
    write_jsonl_atomic(path, ROWS)
    content = path.read_bytes()
    path.write_bytes(content[:cut])
    ends = [n + 1 for n, byte in enumerate(content) if byte == ord("\n")]
    # A line without its newline is whole as soon as its closing brace is there.
    whole = [row for row, end in zip(ROWS, ends, strict=True) if end - 1 <= cut]
    with JsonlWriter(path) as writer:
        assert list(writer.rows) == whole
        kept = max((end for end in ends if end - 1 <= cut), default=0)
        assert writer.num_bytes_cut == max(0, min(cut, len(content)) - kept)
        writer.write({"id": "next"})
    assert read_jsonl(path) == [*whole, {"id": "next"}]


def test_a_broken_line_before_the_end_is_no_torn_end(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b'{"id": 1}\noops\n{"id": 2}\n')
    with pytest.raises(ValueError, match=r"out\.jsonl:2: not JSON"):
        JsonlWriter(path)
    assert path.read_bytes() == b'{"id": 1}\noops\n{"id": 2}\n'
    path.write_bytes(b"")
    JsonlWriter(path).close()  # the refused writer let go of the file


def test_a_cleared_file_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with JsonlWriter(path) as writer:
        writer.write({"id": 1}, {"id": 2})
    with JsonlWriter(path) as writer:
        writer.clear()
        assert writer.rows == ()
        writer.write({"id": 3})
    assert read_jsonl(path) == [{"id": 3}]


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    with JsonlWriter(path) as writer:
        with pytest.raises(ValueError, match="another process is writing"):
            JsonlWriter(path)
        writer.write({"id": 1})
    writer.close()
    with JsonlWriter(path) as again:
        assert again.rows == ({"id": 1},)


def test_a_failed_write_leaves_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.jsonl"
    with JsonlWriter(path) as writer:
        writer.write({"id": 1})
        with pytest.raises(ValueError, match=r"out\.jsonl: a row to append cannot be written"):
            writer.write({"id": 2}, {"id": math.nan})

        def full(file: int, data: bytes) -> None:
            os.write(file, data[:5])
            raise OSError("no space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(jsonl, "_write_all", full)
            with pytest.raises(OSError, match="no space"):
                writer.write({"id": 2})
        writer.write({"id": 3})
    assert read_jsonl(path) == [{"id": 1}, {"id": 3}]


def test_a_killed_writer_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    code = (
        "import sys; from pathlib import Path; from affect.jsonl import JsonlWriter\n"
        "with JsonlWriter(Path(sys.argv[1])) as writer:\n"
        "    for n in range(len(writer.rows), 10**9):\n"
        "        writer.write({'n': n, 'text': 'x' * 5000})\n"
    )
    for _ in range(2):
        before = path.stat().st_size if path.exists() else 0
        process = subprocess.Popen([sys.executable, "-c", code, str(path)])
        try:
            deadline = time.monotonic() + 30
            while not (path.exists() and path.stat().st_size > before + 100_000):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.01)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    with JsonlWriter(path) as writer:
        assert [row["n"] for row in writer.rows] == list(range(len(writer.rows)))
        assert len(writer.rows) > 30
