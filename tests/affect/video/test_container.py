"""A container's type is read from the file, whatever its name says."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affect.video import VideoError
from affect.video.container import _doc_type, container_mime_type
from tests.affect.video.clips import write_clip
from tests.paths import SHARED, needs_shared

VIDEOS = SHARED / "videos"


@pytest.mark.parametrize(
    ("container", "codec", "expected"),
    [
        ("mp4", "libx264", "video/mp4"),
        ("mov", "libx264", "video/quicktime"),
        ("3gp", "libx264", "video/3gpp"),
        ("3g2", "libx264", "video/3gpp2"),
        ("matroska", "libx264", "video/x-matroska"),
        ("webm", "libvpx-vp9", "video/webm"),
        ("avi", "mpeg4", "video/x-msvideo"),
        ("flv", "libx264", "video/x-flv"),
        ("mpegts", "libx264", "video/mp2t"),
        ("mpeg", "mpeg2video", "video/mpeg"),
        ("nut", "libx264", "video/x-nut"),
        ("asf", "mpeg4", "video/x-ms-asf"),
    ],
)
def test_types(tmp_path: Path, container: str, codec: str, expected: str) -> None:
    path = write_clip(tmp_path / "misnamed.gif", 5, codec=codec, container_format=container)
    assert container_mime_type(path) == expected


@needs_shared
@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("corrupt/mp4_without_suffix", "video/mp4"),
        ("derived/bbb_mjpeg.mov", "video/quicktime"),
        ("real/decord_unordered.mov", "video/quicktime"),
        ("real/exo_video_desks.3gp", "video/3gpp"),
        ("real/exo_roadtrip_vp9_10bit.webm", "video/x-matroska"),  # its header says so
        ("real/moviepy_bbb_0_30.webm", "video/webm"),
        ("real/te[s]t_ video ' _ .flv", "video/x-flv"),
    ],
)
def test_real_files(file: str, expected: str) -> None:
    assert container_mime_type(VIDEOS / file) == expected


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=64))
def test_whatever_an_ebml_header_holds(header: bytes) -> None:
    """A header is cut off, or lies about its lengths: the document type is then another one."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"\x1a\x45\xdf\xa3" + header + b"\x42\x82" + header)
        file.flush()
        assert isinstance(_doc_type(file.name), bytes)


def test_no_video(tmp_path: Path) -> None:
    path = tmp_path / "note.mp4"
    path.write_text("not a video")
    with pytest.raises(VideoError):
        container_mime_type(path)
