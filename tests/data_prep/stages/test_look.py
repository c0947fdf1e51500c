"""Files that decode are looked at; all others fail with their true reason."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from affect.video import GuardedReader
from data_prep.build.config import PictureSection
from data_prep.clip import Clip
from data_prep.records import Looked, StageFailure, Video
from data_prep.stages.look import look
from tests.affect.video.hostile_reads import die_of, raise_named
from tests.data_prep.picture.drawn import pan, write_frames

SHA256 = "ab" * 32


@pytest.fixture
def reader() -> Iterator[GuardedReader]:
    with GuardedReader(60.0) as guarded:
        yield guarded


def looked_at(path: Path, reader: GuardedReader) -> Looked:
    clip = Clip(path, SHA256, "", path.parent / "pack.zip")
    video = Video(id=path.name, sha256=SHA256)
    record = asyncio.run(look.function(video, clip, PictureSection(), reader))
    assert isinstance(record, Looked)
    return record


def failure_of(path: Path, reader: GuardedReader) -> StageFailure:
    with pytest.raises(StageFailure) as failed:
        looked_at(path, reader)
    return failed.value


def test_a_clip(tmp_path: Path, reader: GuardedReader) -> None:
    path = write_frames(tmp_path / "clip.mp4", pan(1, 30) + pan(2, 30))
    looked = looked_at(path, reader)
    assert looked.num_frames == 60 and [cut.time_seconds for cut in looked.cuts] == [1.2]
    clip = Clip(path, SHA256, looked.mime_type, tmp_path / "pack.zip")
    assert len(clip.whole(100).frames.frames) == len(looked.frame_times_seconds)


def test_a_relative_pack(
    tmp_path: Path, reader: GuardedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_frames(tmp_path / "clip.mp4", pan(1, 10))
    reader.probe(tmp_path / "clip.mp4")  # the worker starts in another folder
    monkeypatch.chdir(tmp_path)
    looked_at(Path("clip.mp4"), reader)
    assert (tmp_path / "pack.zip").exists()


@pytest.mark.parametrize("content", [b"", b"not a video", b"\0" * 1000])
def test_no_video(tmp_path: Path, reader: GuardedReader, content: bytes) -> None:
    path = tmp_path / "clip.mp4"
    path.write_bytes(content)
    failure = failure_of(path, reader)
    assert failure.kind == "undecodable"
    assert "cannot be opened" in failure.detail or "not a video" in failure.detail
    assert failure_of(tmp_path / "nowhere.mp4", reader).kind == "undecodable"


def test_a_file_that_takes_too_long(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "clip.mp4", pan(1, 30))
    with GuardedReader(0.001) as hasty:
        failure = failure_of(path, hasty)
    assert failure.kind == "undecodable"
    assert "took longer than 0.001 s" in failure.detail


def test_a_file_that_crashes_its_decoder(
    tmp_path: Path, reader: GuardedReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_frames(tmp_path / "clip.mp4", pan(1, 5))
    with pytest.raises(ValueError, match="crashed"):
        reader.call(die_of, path, int(signal.SIGSEGV))
    failure = failure_of(path, reader)
    assert failure.kind == "undecodable" and "crashed" in failure.detail


@pytest.mark.parametrize(
    ("error", "kind"), [("MemoryError", "decoder_ended"), ("KeyError", "look_failed")]
)
def test_what_is_not_the_files_fault(
    tmp_path: Path,
    reader: GuardedReader,
    monkeypatch: pytest.MonkeyPatch,
    error: str,
    kind: str,
) -> None:
    path = write_frames(tmp_path / "clip.mp4", pan(1, 5))
    call = reader.call
    monkeypatch.setattr(reader, "call", lambda function, path, *_: call(raise_named, path, error))
    assert failure_of(path, reader).kind == kind


def test_the_hash_hangs_on_content_and_settings() -> None:
    assert look.name == "look" and look.record is Looked
    assert look.sections == (PictureSection,) and look.needs == ()
