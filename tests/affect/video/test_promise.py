"""Files cut short are refused with both numbers; files that only look short are not.

60 of 132 frames of an mp4 whose index stands in front decode without any error
"""

import struct
from fractions import Fraction
from pathlib import Path

import av
import pytest

from affect.video import VideoError, probe_video
from affect.video.boxes import promised_avi_bytes, promised_matroska_bytes, promised_mp4_bytes
from affect.video.promise import Promise, broken_promise
from tests.affect.video.clips import remux, write_clip

NO_B_FRAMES = {"bf": "0"}


def _cut(source: Path, target: Path, num_bytes: int) -> Path:
    target.write_bytes(source.read_bytes()[:num_bytes])
    return target


def _reason(path: Path) -> str:
    with pytest.raises(VideoError) as refused:
        probe_video(path)
    return refused.value.reason


def _packet_places(path: Path) -> list[int]:
    with av.open(str(path)) as container:
        return [packet.pos or 0 for packet in container.demux(video=0) if packet.size]


def test_an_mp4_cut_between_two_frames(tmp_path: Path) -> None:
    plain = write_clip(tmp_path / "plain.mp4", 31, codec_options=NO_B_FRAMES)
    front = remux(plain, tmp_path / "front.mp4", movflags="faststart")
    cut = _cut(front, tmp_path / "cut.mp4", _packet_places(front)[12])
    assert probe_video(front).num_frames == 31
    assert _reason(cut) == "truncated: 12 frames decode, its header promises 31"


def test_a_fragmented_mp4_cut_between_two_frames(tmp_path: Path) -> None:
    plain = write_clip(tmp_path / "plain.mp4", 31, codec_options=NO_B_FRAMES)
    whole = remux(plain, tmp_path / "fragments.mp4", movflags="empty_moov+frag_keyframe")
    assert probe_video(whole).num_frames == 31
    size = _packet_places(whole)[12]
    reason = _reason(_cut(whole, tmp_path / "cut.mp4", size))
    assert reason.startswith(f"truncated: the file has {size} bytes, its header promises ")
    assert reason.endswith("(12 frames decode)")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.97])
def test_a_matroska_file_cut_anywhere(tmp_path: Path, share: float) -> None:
    whole = write_clip(tmp_path / "whole.mkv", 125, codec="mpeg4")
    size = whole.stat().st_size
    assert promised_matroska_bytes(whole) == size
    cut = _cut(whole, tmp_path / "cut.mkv", int(size * share))
    assert _reason(cut).startswith(("truncated: ", "does not decode: "))


def test_an_avi_cut_in_half_names_the_frames_of_its_header(tmp_path: Path) -> None:
    whole = write_clip(tmp_path / "whole.avi", 60, codec="mjpeg", pixel_format="yuvj420p")
    cut = _cut(whole, tmp_path / "cut.avi", _packet_places(whole)[24] - 8)
    assert promised_avi_bytes(cut) == pytest.approx(whole.stat().st_size, abs=2)
    assert _reason(cut) == "truncated: 24 frames decode, its header promises 60"


def test_empty_chunks_of_a_variable_rate_avi_are_no_frames(tmp_path: Path) -> None:
    stamps = [0, 1, 2, 6, 7, 15, 20, 21]
    path = write_clip(tmp_path / "gaps.avi", 8, stamps=stamps, codec="mpeg4")
    with av.open(str(path)) as container:
        assert container.streams.video[0].frames == 22  # what its header counts
    info = probe_video(path)
    assert info.stamps_seconds == tuple(stamp / 25 for stamp in stamps)
    assert info.duration == Fraction(22, 25)


def test_an_edit_list_may_end_early(tmp_path: Path) -> None:
    plain = write_clip(tmp_path / "plain.mp4", 31, codec_options=NO_B_FRAMES)
    edited = remux(plain, tmp_path / "edited.mp4", shift_ticks=-512 * 6)
    data = bytearray(edited.read_bytes())
    place = data.find(b"elst") + 12
    assert struct.unpack_from(">I", data, place) == (1000,)  # 31 - 6 frames, in milliseconds
    struct.pack_into(">I", data, place, 400)
    edited.write_bytes(data)
    assert probe_video(edited).num_frames == 10


def test_sound_may_outlast_the_picture(tmp_path: Path) -> None:
    """A matroska header states the longest stream's end, which here is the subtitles'."""
    path = tmp_path / "long.mkv"
    picture = write_clip(tmp_path / "picture.mkv", 25)
    with av.open(str(picture)) as old, av.open(str(path), "w") as new:
        video = new.add_stream_from_template(old.streams.video[0])
        sound = new.add_stream("flac", rate=8000)
        for packet in old.demux(video=0):
            if packet.size:
                packet.stream = video
                new.mux(packet)
        for i in range(20):
            frame = av.AudioFrame(format="s16", layout="mono", samples=2000)
            for plane in frame.planes:
                plane.update(bytes(plane.buffer_size))
            frame.sample_rate, frame.pts, frame.time_base = 8000, 2000 * i, Fraction(1, 8000)
            new.mux(sound.encode(frame))
        new.mux(sound.encode())
    with av.open(str(path)) as container:
        assert container.duration is not None
        assert container.duration / av.time_base == pytest.approx(5.0, abs=0.3)
    assert probe_video(path).duration == 1


def test_a_live_recording_promises_nothing(tmp_path: Path) -> None:
    whole = write_clip(tmp_path / "live.mkv", 25, codec="mpeg4", container_options={"live": "1"})
    assert promised_matroska_bytes(whole) is None
    assert probe_video(whole).num_frames == 25


def test_padding_behind_an_mp4_promises_nothing(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "padded.mp4", 10)
    promised = promised_mp4_bytes(path)
    assert promised == path.stat().st_size
    with path.open("ab") as file:
        file.write(b"\xff" * 100)
    assert promised_mp4_bytes(path) == promised
    assert probe_video(path).num_frames == 10


@pytest.mark.parametrize(
    "data", [b"", b"R", b"RIFF\xff\xff\xff\xff", b"\x1a\x45\xdf\xa3", b"\0" * 40]
)
def test_boxes_of_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "data"
    path.write_bytes(data)
    assert promised_mp4_bytes(path) is None
    assert promised_matroska_bytes(path) is None
    assert promised_avi_bytes(path) is None


@pytest.mark.parametrize(
    ("promise", "reason"),
    [
        (Promise(), None),
        (Promise(num_frames=20), None),
        (Promise(num_frames=21), "truncated: 20 frames decode, its header promises 21"),
        (Promise(num_frames=19), None),
        (Promise(end_seconds=2.5), None),
        (
            Promise(end_seconds=2.6),
            "truncated: its streams end at 2.000 s, its header promises 2.600 s",
        ),
        (Promise(num_bytes=1000), None),
        (
            Promise(num_bytes=1001),
            "truncated: the file has 1000 bytes, its header promises 1001 (20 frames decode)",
        ),
    ],
)
def test_broken_promises(promise: Promise, reason: str | None) -> None:
    found = broken_promise(
        promise, num_frames=20, end_seconds=2.0, longest_gap_seconds=0.1, size=1000
    )
    assert found == reason


def test_a_still_end_of_a_recording_is_no_cut() -> None:
    assert (
        broken_promise(
            Promise(end_seconds=5.0),
            num_frames=20,
            end_seconds=2.0,
            longest_gap_seconds=1.5,
            size=1000,
        )
        is None
    )
