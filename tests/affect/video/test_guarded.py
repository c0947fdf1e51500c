"""No file hangs or crashes the process that reads it, and a normal one costs no process start.

reader.call(hang, path) -> VideoError after the limit, and the file is in quarantine
"""

import gc
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from affect.video import (
    ClipCache,
    FrameBudget,
    GuardedReader,
    Quarantine,
    VideoError,
    probe_video,
    sample_video,
)
from tests.affect.video import hostile_reads
from tests.affect.video.clips import write_clip
from tests.paths import ROOT, SHARED, needs_shared
from tests.processes import is_running, wait_until_gone

TINY = FrameBudget(min_pixels=3136, max_pixels=3136)
LIMIT_SECONDS = 0.4


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_clip(tmp_path / "a.mp4", 31, size=(56, 56))


@pytest.fixture(scope="module")
def patient() -> Any:
    """A reader that gives everything time; one for all tests, as starting a worker takes some."""
    with GuardedReader(60.0) as reader:
        yield reader


def impatient(tmp_path: Path) -> GuardedReader:
    return GuardedReader(LIMIT_SECONDS, Quarantine(tmp_path / "run" / "quarantine.jsonl"))


def test_a_guarded_read_is_the_plain_one(clip: Path, patient: GuardedReader) -> None:
    guarded, plain = patient.sample(clip, TINY), sample_video(clip, TINY)
    assert np.array_equal(guarded.frames, plain.frames)
    assert guarded.frames.dtype == np.uint8
    guarded.frames[:] = 0  # The caller's own to change.
    assert guarded.times_seconds == plain.times_seconds == (0.0, 0.4, 0.8, 1.2)
    assert guarded.second_per_grid_seconds == plain.second_per_grid_seconds
    assert patient.probe(clip) == probe_video(clip)


@needs_shared
@pytest.mark.parametrize(
    "file",
    ["zero_byte.mp4", "text_renamed.mp4", "trunc50.mkv", "trunc50_faststart.mp4", "one_byte.mp4"],
)
def test_a_refusal_is_the_plain_one(file: str, patient: GuardedReader) -> None:
    path = SHARED / "videos" / "corrupt" / file
    with pytest.raises(VideoError) as plain:
        probe_video(path)
    for guarded in (patient.probe, lambda path: patient.sample(path, TINY)):
        with pytest.raises(VideoError) as refused:
            guarded(path)
        assert str(refused.value) == str(plain.value)
        assert refused.value.path == path


def test_the_path_stays_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient: GuardedReader
) -> None:
    (tmp_path / "bad.mp4").write_bytes(b"nothing")
    patient.call(hostile_reads.process_id, tmp_path / "bad.mp4")  # Its worker started elsewhere.
    monkeypatch.chdir(tmp_path)
    with pytest.raises(VideoError, match=r"^bad\.mp4: cannot be opened"):
        patient.probe("bad.mp4")


@pytest.mark.parametrize("kind", ["absent", "folder", "pipe"])
def test_what_is_no_file_never_reaches_a_worker(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.mp4"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    reader = impatient(tmp_path)
    begin = time.perf_counter()
    with pytest.raises(VideoError, match=r"x\.mp4: cannot be read"):
        reader.sample(path, TINY)
    assert time.perf_counter() - begin < LIMIT_SECONDS / 2
    assert not (tmp_path / "run").exists()


def test_one_worker_serves_call_after_call(clip: Path, patient: GuardedReader) -> None:
    used = {patient.call(hostile_reads.process_id, clip) for _ in range(5)}
    assert len(used) == 1
    assert os.getpid() not in used


def test_a_round_trip_is_short(clip: Path, patient: GuardedReader) -> None:
    """A process start each time would take a third of a second."""
    patient.call(hostile_reads.process_id, clip)
    begin = time.perf_counter()
    for _ in range(20):
        patient.call(hostile_reads.process_id, clip)
    assert (time.perf_counter() - begin) / 20 < 0.02


def test_a_decode_that_hangs_is_ended_and_quarantined(tmp_path: Path, clip: Path) -> None:
    reader, note = impatient(tmp_path), tmp_path / "process"
    with pytest.raises(VideoError) as ended:
        reader.call(hostile_reads.hang, clip, str(note))
    assert str(ended.value) == (
        f"{clip}: decoding took longer than 0.4 s and was ended; "
        f"quarantined in {tmp_path}/run/quarantine.jsonl"
    )
    wait_until_gone(int(note.read_text()))
    (line,) = (tmp_path / "run" / "quarantine.jsonl").read_text().splitlines()
    entry = json.loads(line)
    assert entry.pop("seconds") == pytest.approx(0.4, abs=1.0)
    assert entry == {
        "path": str(clip),
        "reason": "decoding took longer than 0.4 s and was ended",
        "limit_seconds": 0.4,
        "size_bytes": clip.stat().st_size,
        "mtime_ns": clip.stat().st_mtime_ns,
    }


def test_a_quarantined_file_is_refused_at_once(tmp_path: Path, clip: Path) -> None:
    reader = impatient(tmp_path)
    with pytest.raises(VideoError):
        reader.call(hostile_reads.hang, clip)
    later = impatient(tmp_path)  # A run that was started again.
    for reading in (reader, later):
        begin = time.perf_counter()
        with pytest.raises(VideoError) as refused:
            reading.sample(clip, TINY)
        assert time.perf_counter() - begin < LIMIT_SECONDS / 2
        assert str(refused.value) == (
            f"{clip}: in quarantine since an earlier decode: decoding took longer than 0.4 s and "
            "was ended; replace the file or allow more time, or take its line out of "
            f"{tmp_path}/run/quarantine.jsonl"
        )
    assert later._workers == set()


def test_a_replaced_file_more_time_or_a_removed_line_lets_it_in_again(
    tmp_path: Path, clip: Path
) -> None:
    reader, path = impatient(tmp_path), tmp_path / "run" / "quarantine.jsonl"
    with pytest.raises(VideoError):
        reader.call(hostile_reads.hang, clip)
    with GuardedReader(60.0, Quarantine(path)) as patient:
        assert patient.sample(clip, TINY).num_sampled_frames == 4
    os.utime(clip, ns=(0, 0))
    assert reader.call(hostile_reads.size_after, clip, 0.0) == clip.stat().st_size
    with pytest.raises(VideoError, match="longer than"):
        reader.call(hostile_reads.hang, clip)
    assert len(path.read_text().splitlines()) == 2
    path.unlink()
    assert reader.call(hostile_reads.size_after, clip, 0.0) == clip.stat().st_size


def test_other_files_go_on_after_one_that_hangs(tmp_path: Path, clip: Path) -> None:
    other = write_clip(tmp_path / "b.mp4", 3)
    with GuardedReader(5.0) as reader:
        reader.timeout_seconds = LIMIT_SECONDS
        with pytest.raises(VideoError, match="longer than"):
            reader.call(hostile_reads.hang, clip)
        reader.timeout_seconds = 5.0
        assert reader.probe(other).num_frames == 3


def test_a_read_that_blocks_in_the_kernel(tmp_path: Path, clip: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(VideoError, match=r"longer than 0\.4 s"):
        impatient(tmp_path).call(hostile_reads.read_elsewhere, clip, str(tmp_path / "pipe"))


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_a_decoder_that_crashes_is_named_and_quarantined(
    tmp_path: Path, clip: Path, number: signal.Signals
) -> None:
    quarantine = Quarantine(tmp_path / "quarantine.jsonl")
    with GuardedReader(60.0, quarantine) as reader:
        with pytest.raises(VideoError, match=rf"its decoder crashed \({number.name}\)"):
            reader.call(hostile_reads.die_of, clip, number)
        with pytest.raises(VideoError, match="in quarantine"):
            reader.probe(clip)
    entry = json.loads((tmp_path / "quarantine.jsonl").read_text())
    assert entry["limit_seconds"] is None  # More time would not help.
    with (
        GuardedReader(600.0, quarantine) as more_patient,
        pytest.raises(VideoError, match="in quarantine"),
    ):
        more_patient.probe(clip)


@pytest.mark.parametrize(
    ("function", "arguments", "how"),
    [
        (hostile_reads.die_of, (signal.SIGKILL,), "SIGKILL"),
        (hostile_reads.exit_now, (), "exit code 3"),
    ],
)
def test_a_worker_ended_from_outside_is_named_and_the_file_tried_again(
    clip: Path, patient: GuardedReader, function: Any, arguments: tuple[Any, ...], how: str
) -> None:
    """As the kernel does it when memory runs out, whoever used it up."""
    with pytest.raises(VideoError, match=rf"ended from outside \({how}\), .*memory"):
        patient.call(function, clip, *arguments)
    assert patient.probe(clip).num_frames == 31


def test_a_worker_that_died_while_idle_is_replaced(clip: Path, patient: GuardedReader) -> None:
    process = patient.call(hostile_reads.process_id, clip)
    os.kill(process, signal.SIGKILL)
    wait_until_gone(process)
    assert patient.call(hostile_reads.process_id, clip) != process


@pytest.mark.parametrize("name", ["EOFError", "KeyError"])
def test_another_exception_comes_back_with_its_traceback(
    clip: Path, patient: GuardedReader, name: str
) -> None:
    with pytest.raises(RuntimeError, match=rf"a\.mp4: {name}: .*told to") as caught:
        patient.call(hostile_reads.raise_named, clip, name)
    assert "in raise_named" in caught.value.__notes__[0]
    assert patient.probe(clip).num_frames == 31


def test_want_of_memory_is_the_files_fault(clip: Path, patient: GuardedReader) -> None:
    with pytest.raises(VideoError, match=r"a\.mp4: its decoding needs more memory"):
        patient.call(hostile_reads.raise_named, clip, "MemoryError")


def test_a_result_that_does_not_travel_is_an_error_and_no_hang(
    clip: Path, patient: GuardedReader
) -> None:
    with pytest.raises(
        RuntimeError, match="TypeError: a decode worker neither takes nor gives dict"
    ):
        patient.call(hostile_reads.not_portable, clip)
    with pytest.raises(TypeError, match="neither takes nor gives set"):
        patient.call(hostile_reads.raise_named, clip, {1})  # type: ignore[arg-type]
    assert patient.probe(clip).num_frames == 31


def test_a_worker_that_answers_nonsense_is_ended(tmp_path: Path, clip: Path) -> None:
    """Nothing is made of what a decoder writes that a file has taken over."""
    with GuardedReader(30.0, Quarantine(tmp_path / "quarantine.jsonl")) as reader:
        with pytest.raises(VideoError, match=r"its decoder crashed \(it answers nonsense\)"):
            reader.call(hostile_reads.answer_nonsense, clip, "ff" * 64)
        with pytest.raises(VideoError, match="in quarantine"):
            reader.probe(clip)


def test_a_function_without_a_name_cannot_be_asked_for(clip: Path, patient: GuardedReader) -> None:
    with pytest.raises(AssertionError, match="can't be imported by its name"):
        patient.call(lambda path: path, clip)


def test_ctrl_c_while_waiting_spoils_no_later_answer(clip: Path) -> None:
    with GuardedReader(60.0) as reader:
        reader.call(hostile_reads.process_id, clip)
        main = threading.main_thread().ident
        assert main is not None
        timer = threading.Timer(0.3, signal.pthread_kill, [main, signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            reader.call(hostile_reads.size_after, clip, 5.0)
        assert reader.probe(clip).num_frames == 31


def test_threads_read_side_by_side(tmp_path: Path) -> None:
    paths = [write_clip(tmp_path / f"{i}.mp4", i + 2) for i in range(3)]
    with GuardedReader(60.0) as reader:
        start = threading.Barrier(3)

        def ask(number: int) -> int:
            start.wait()
            reader.call(hostile_reads.size_after, paths[number], 0.2)
            return reader.probe(paths[number]).num_frames

        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(ask, range(3))) == [2, 3, 4]
        assert len(reader._workers) == 3


def test_close_ends_all_workers_and_frees_who_waits(clip: Path, tmp_path: Path) -> None:
    reader, note = GuardedReader(60.0), tmp_path / "process"
    idle = reader.call(hostile_reads.process_id, clip)
    caught: list[Exception] = []

    def wait() -> None:
        try:
            reader.call(hostile_reads.hang, clip, str(note))
        except VideoError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    deadline = time.monotonic() + 10.0
    while not (note.exists() and note.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    reader.close()
    thread.join(5.0)
    assert not thread.is_alive()
    assert [str(error) for error in caught] == [
        f"{clip}: decoding was given up: its reader was closed"
    ]
    for process in (idle, int(note.read_text())):
        wait_until_gone(process)
    with pytest.raises(VideoError, match="its reader was closed"):
        reader.probe(clip)
    assert list(reader.quarantine._files) == []


def test_workers_end_with_their_reader(clip: Path) -> None:
    reader = GuardedReader(60.0)
    process = reader.call(hostile_reads.process_id, clip)
    assert is_running(process)
    del reader
    gc.collect()
    wait_until_gone(process)


def test_a_forked_process_has_workers_of_its_own(clip: Path) -> None:
    """Data loaders fork: two processes at one worker would read each other's answers."""
    with GuardedReader(60.0) as reader:
        ours = reader.call(hostile_reads.process_id, clip)
        context = multiprocessing.get_context("fork")
        answers = context.Queue()

        def child() -> None:
            answers.put([reader.call(hostile_reads.process_id, clip) for _ in range(2)])

        forked = context.Process(target=child, daemon=True)
        forked.start()
        theirs = answers.get(timeout=30.0)
        forked.join(10.0)
        assert theirs[0] == theirs[1] != ours
        assert reader.call(hostile_reads.process_id, clip) == ours
        wait_until_gone(theirs[0])


def start_elsewhere(clip: Path, call: str) -> tuple[subprocess.Popen[str], int]:
    """A process with a reader, and its worker's id."""
    code = (
        "import os, sys, time; from affect.video import GuardedReader;"
        "from tests.affect.video import hostile_reads as h; r = GuardedReader(1.0);"
        f"print(r.call(h.process_id, {str(clip)!r}), flush=True); {call}; time.sleep(60)"
    )
    running = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    return running, int(running.stdout.readline())


def test_no_worker_outlives_a_process_that_was_killed(clip: Path) -> None:
    running, worker = start_elsewhere(clip, "pass")
    assert is_running(worker)
    running.kill()
    running.communicate()
    wait_until_gone(worker)


@pytest.mark.slow
def test_a_hanging_decode_ends_even_with_nobody_left_to_end_it(clip: Path, tmp_path: Path) -> None:
    note = tmp_path / "process"
    running, worker = start_elsewhere(clip, f"r.call(h.hang, {str(clip)!r}, {str(note)!r})")
    while not note.exists():
        time.sleep(0.01)
    running.kill()
    running.communicate()
    assert is_running(worker)
    wait_until_gone(worker, 20.0)


@pytest.mark.parametrize("seconds", [None, 0, 0.0])
def test_without_a_limit_this_process_reads(clip: Path, seconds: float | None) -> None:
    reader = GuardedReader(seconds)
    assert reader.call(hostile_reads.process_id, clip) == os.getpid()
    assert reader.probe(clip) == probe_video(clip)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_a_limit_that_is_none(seconds: float) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        GuardedReader(seconds)


def test_a_cache_reads_through_a_guard(tmp_path: Path, clip: Path) -> None:
    with GuardedReader(60.0) as reader:
        cache = ClipCache(10**6, reader.sample)
        first, second = cache.get(clip, TINY), cache.get(clip, TINY)
        assert np.array_equal(first.frames, second.frames)
        assert cache.num_decodes == 1
        assert len(reader._workers) == 1


def test_every_damaged_file_comes_back_from_one_worker(
    tmp_path: Path, patient: GuardedReader
) -> None:
    """Cut anywhere, a file is read or refused; the worker lives on."""
    whole = write_clip(tmp_path / "whole.mkv", 31).read_bytes()
    process = patient.call(hostile_reads.process_id, tmp_path / "whole.mkv")
    cut = tmp_path / "cut.mkv"
    for start, end in pairwise(range(0, len(whole), len(whole) // 12)):
        cut.write_bytes(whole[:start] + whole[end:])
        try:
            assert patient.probe(cut).num_frames > 0
        except VideoError as error:
            assert error.path == cut and "quarantine" not in error.reason
    assert patient.call(hostile_reads.process_id, tmp_path / "whole.mkv") == process
