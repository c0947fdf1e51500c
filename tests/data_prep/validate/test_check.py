"""Rows against their videos: what is not as the row says, and what must not be opened at all."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import data_prep.validate.check
from affect.video import FrameBudget, GuardedReader
from affect.video.measure import MeasuredVideo, measure_video
from data_prep.validate.check import Report, check_file
from data_prep.validate.fault import Fault
from data_prep.validate.settings import Settings
from tests.affect.video import hostile_reads
from tests.affect.video.clips import write_clip
from tests.data_prep.validate.drawn import draw, grpo, sft, unanswered, write_lines
from tests.paths import SHARED, needs_shared

TINY = Settings(video=FrameBudget(fps=2.0, min_pixels=3136, max_pixels=3136))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return draw(tmp_path / "root")


@pytest.fixture(scope="module")
def reader() -> Iterator[GuardedReader]:
    """One for all tests, as starting a worker takes some time."""
    with GuardedReader(60.0) as reader:
        yield reader


def check(
    root: Path,
    reader: GuardedReader,
    *rows: Any,
    settings: Settings = TINY,
    num_workers: int = 1,
) -> Report:
    path = write_lines(root.parent / "rows.jsonl", *rows)
    return check_file(path, root, settings, reader, num_workers=num_workers, show_progress=False)


def check_in(
    folder: Path, rows_folder: Path, reader: GuardedReader, row: Any, settings: Settings = TINY
) -> Report:
    path = write_lines(rows_folder / "rows.jsonl", row)
    return check_file(path, folder, settings, reader, num_workers=1, show_progress=False)


def only_fault(report: Report) -> Fault:
    (fault,) = report.faults
    return fault


def test_good_rows(root: Path, reader: GuardedReader) -> None:
    report = check(root, reader, sft("a"), grpo("b"))
    assert report.faults == ()
    assert (report.num_lines, report.num_videos) == (2, 2)
    assert [row.measured for row in report.rows] == [
        MeasuredVideo(2.0, 56, 56, 10, 0, num_sampled_frames=4, num_video_tokens=8),
        MeasuredVideo(3.0, 56, 56, 15, 0, num_sampled_frames=6, num_video_tokens=12),
    ]


def test_a_measured_video_costs_what_the_budget_says(root: Path, reader: GuardedReader) -> None:
    for budget in (TINY.video, FrameBudget(), FrameBudget(max_frames=5, fps=1.0)):
        measured = measure_video(str(root / "b.mp4"), budget)
        assert measured.num_video_tokens == budget.num_video_tokens(3.0, 15, 56, 56)
        assert measured.num_sampled_frames == budget.num_frames(3.0, 15)


@pytest.mark.parametrize("stated", [2.16, 1.84, 20.0])
def test_a_duration_that_is_not_the_pictures(
    root: Path, reader: GuardedReader, stated: float
) -> None:
    row = unanswered("a", video_duration=stated)
    assert only_fault(check(root, reader, row)) == Fault(
        1,
        "a",
        "video_duration",
        f"{stated:g} s",
        "2.000 s, as its 10 frames last (within 0.15 s)",
    )


@pytest.mark.parametrize("stated", [2.14, 1.86])
def test_a_duration_may_be_rounded(root: Path, reader: GuardedReader, stated: float) -> None:
    row = unanswered("a", video_duration=stated)
    assert check(root, reader, row).faults == ()


def hostile_file(root: Path, kind: str) -> None:
    path = root / "x.mp4"
    whole = (root / "b.mp4").read_bytes()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind != "absent":
        contents = {"empty": b"", "text": b"This is no video.\n" * 50, "half": whole[:-200]}
        path.write_bytes(contents[kind])


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("absent", "cannot be read: No such file"),
        ("pipe", "cannot be read: not a regular file"),
        ("folder", "cannot be read: not a regular file"),
        ("empty", "(0 bytes)"),
        ("text", "'x.mp4': "),
        ("half", "'x.mp4': "),
        ("loop", "'x.mp4' cannot be looked up"),
    ],
)
def test_files_that_are_no_videos(root: Path, reader: GuardedReader, kind: str, found: str) -> None:
    hostile_file(root, kind)
    report = check(root, reader, sft("a"), sft("b", video="x.mp4"), grpo("a", id="c"))
    fault = only_fault(report)
    assert (fault.line, fault.id, fault.field) == (2, "b", "video")
    assert found in fault.found
    assert report.rows[1].measured is None and report.rows[2].measured is not None


@needs_shared
@pytest.mark.parametrize(
    ("file", "found"),
    [
        ("trunc50.mkv", "its streams end at 1.760 s, its header promises 5.280 s"),
        ("trunc50.avi", "49 frames decode, its header promises 132"),
        ("trunc60_fragmented.mp4", "54 frames"),
        ("zero_byte.mp4", "(0 bytes)"),
        ("html_404_renamed.mp4", "cannot be opened"),
        ("jpeg_renamed.mp4", "not a video: a still picture"),
        ("audio_only_aac.mp4", "no video stream"),
    ],
)
def test_broken_files_of_the_wild(
    tmp_path: Path, reader: GuardedReader, file: str, found: str
) -> None:
    report = check_in(SHARED / "videos" / "corrupt", tmp_path, reader, sft("a", video=file))
    assert found in only_fault(report).found
    assert only_fault(report).expected == "a video that decodes whole"


@needs_shared
@pytest.mark.parametrize(("allowed", "is_fault"), [(None, False), (16, False), (15, True)])
def test_patched_frames_are_a_fault_where_they_are_to_be(
    tmp_path: Path, reader: GuardedReader, allowed: int | None, is_fault: bool
) -> None:
    row = unanswered("a", video="bitflip_mdat_20.mp4", video_duration=5.3)
    settings = TINY.model_copy(update={"max_corrupt_frames": allowed})
    report = check_in(SHARED / "videos" / "corrupt", tmp_path, reader, row, settings)
    found = [(fault.field, fault.found, fault.expected) for fault in report.faults]
    told = ("video", "16 of 132 frames patched", "at most 15 patched after damage")
    assert found == ([told] if is_fault else [])


class NotingReader(GuardedReader):
    """Keeps the names of the files that it is asked to decode."""

    def __init__(self) -> None:
        super().__init__(60.0)
        self.opened: list[str] = []

    def call(self, function: Any, path: Any, *arguments: Any) -> Any:  # type: ignore[override]
        self.opened.append(str(path))
        return super().call(function, path, *arguments)


@pytest.fixture(scope="module")
def noting_reader() -> Iterator[NotingReader]:
    with NotingReader() as reader:
        yield reader


@pytest.fixture
def noting(noting_reader: NotingReader) -> NotingReader:
    noting_reader.opened.clear()
    return noting_reader


@pytest.mark.parametrize(
    "video",
    ["../a.mp4", "x/../../a.mp4", "/etc/passwd", "file:///etc/passwd", "link.mp4", "up/a.mp4"],
)
@pytest.mark.parametrize("make", [sft, grpo])
def test_a_path_that_leaves_the_root_is_refused_and_not_opened(
    root: Path, noting: NotingReader, video: str, make: Any
) -> None:
    draw(root.parent)
    (root / "link.mp4").symlink_to(root.parent / "a.mp4")
    (root / "up").symlink_to(root.parent)
    row = make("a", **({"video": video} if make is sft else {"videos": [video]}))
    fault = only_fault(check(root, noting, row))
    assert (fault.line, fault.field) == (1, "video")
    assert video in fault.found and "path" in fault.expected
    assert noting.opened == []


def test_a_link_inside_the_root_is_fine(root: Path, noting: NotingReader) -> None:
    (root / "link.mp4").symlink_to("a.mp4")
    assert check(root, noting, sft("a", video="link.mp4")).faults == ()
    assert noting.opened == [str(root / "a.mp4")]


def test_a_video_of_several_rows_is_decoded_once(root: Path, noting: NotingReader) -> None:
    rows = [sft("a", id=f"row {i}", video="./a.mp4" if i % 2 else "a.mp4") for i in range(4)]
    report = check(root, noting, *rows, sft("b", video="a.mp4"))
    assert noting.opened == [str(root / "a.mp4")]
    assert [(fault.line, fault.field) for fault in report.faults] == [(5, "video_duration")]


def test_a_decode_that_hangs_is_one_fault_among_others(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_prep.validate.check, "measure_video", hostile_reads.hang_on_a)
    with GuardedReader(1.0) as hasty:
        report = check(root, hasty, sft("a"), sft("b", id="x"), num_workers=2)
    fault = only_fault(report)
    assert (fault.line, fault.found) == (
        1,
        "'a.mp4': decoding took longer than 1 s and was ended",
    )
    assert report.rows[1].measured is not None


def test_a_decoder_that_crashes_is_one_fault_among_others(
    root: Path, reader: GuardedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_prep.validate.check, "measure_video", hostile_reads.crash_on_a)
    report = check(root, reader, sft("a"), sft("b"))
    assert only_fault(report).found == "'a.mp4': its decoder crashed (SIGABRT)"


def test_all_faults_of_all_rows_in_the_order_of_the_file(root: Path, reader: GuardedReader) -> None:
    report = check(
        root,
        reader,
        sft("b", id="late", video_duration=9.0, reply="{}"),
        b"{broken",
        sft("a", id="late", video="gone.mp4", source=3),
        sft("a"),
        num_workers=2,
    )
    assert [(fault.line, fault.field) for fault in report.faults] == [
        (1, "conversations[1].value"),
        (1, "video_duration"),
        (2, "line"),
        (3, "source"),
        (3, "id"),
        (3, "video"),
    ]
    assert (report.num_lines, report.num_videos) == (4, 3)


def test_the_number_of_workers_changes_nothing(root: Path, reader: GuardedReader) -> None:
    rows = [sft("a", id=f"a{i}", video_duration=5.0 + i) for i in range(3)]
    rows += [sft("b", id=f"b{i}", video=f"gone{i}.mp4") for i in range(3)]
    assert check(root, reader, *rows) == check(root, reader, *rows, num_workers=4)


def test_a_clip_too_short_for_the_projects_prompt(root: Path, reader: GuardedReader) -> None:
    write_clip(root / "flash.mp4", 1)
    row = unanswered("a", video="flash.mp4", video_duration=0.04)
    fault = only_fault(check(root, reader, row))
    assert fault.field == "prompt" and "0.04 s cannot be segmented" in fault.found
    own = TINY.model_copy(update={"prompt": "row"})
    assert check(root, reader, row, settings=own).faults == ()
