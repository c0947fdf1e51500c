"""What is not a video is refused by name and reason, and nothing else on the machine is touched.

open_video("list.mp4") where the file is a play list -> VideoError
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from affect.video import VideoError, probe_video
from tests.affect.video.clips import write_clip
from tests.paths import ROOT


def _reason(path: Path) -> str:
    with pytest.raises(VideoError) as refused:
        probe_video(path)
    assert refused.value.path == path
    return refused.value.reason


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    assert _reason(tmp_path / "absent.mp4") == "cannot be read: No such file or directory"
    assert _reason(tmp_path) == "cannot be read: not a regular file"
    assert _reason(tmp_path / "pipe.mp4") == "cannot be read: not a regular file"
    assert _reason(tmp_path / ("long" * 100)) == "cannot be read: File name too long"
    assert _reason(Path("nul\0l.mp4")) == "cannot be read: embedded null byte"


def test_what_is_no_video(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("not a film\n" * 50)
    assert _reason(tmp_path / "text.mp4").startswith("cannot be opened: ")
    (tmp_path / "none.mp4").touch()
    assert _reason(tmp_path / "none.mp4").endswith("(0 bytes)")


@pytest.mark.parametrize("codec", ["png", "mjpeg", "bmp"])
def test_a_renamed_picture(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "picture.mp4"
    frame = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")
    context = av.CodecContext.create(codec, "w")
    context.width, context.height = 64, 48
    context.pix_fmt = {"png": "rgb24", "mjpeg": "yuvj420p", "bmp": "bgr24"}[codec]
    context.time_base = 1
    packets = [*context.encode(frame), *context.encode()]
    path.write_bytes(b"".join(bytes(packet) for packet in packets))
    assert _reason(path).startswith("not a video: ")


def test_a_play_list_is_not_followed(tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "clip.mp4", 5)
    lists = {
        # Without an end mark: a live list, which FFmpeg by itself waits on for minutes.
        "local.m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\n{clip}\n",
        "concat.mp4": f"ffconcat version 1.0\nfile '{clip}'\n",
        "network.m3u8": "#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nhttp://192.0.2.1/a.ts\n",
    }
    for name, text in lists.items():
        (tmp_path / name).write_text(text)
        reason = _reason(tmp_path / name)
        assert reason == "not a video: a still picture, text, a play list, or another container"


def test_a_stream_without_time_stamps(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "raw.h264", 5, container_format="h264")
    assert _reason(path) == "frame 0 carries no time stamp; remux it into mp4 or mkv"


def test_a_cover_picture_is_no_video(tmp_path: Path) -> None:
    path = tmp_path / "song.mp3"
    with av.open(str(path), "w") as container:
        sound = container.add_stream("libmp3lame", rate=44_100)
        cover = container.add_stream("mjpeg")
        cover.width, cover.height, cover.pix_fmt = 64, 48, "yuvj420p"
        silence = av.AudioFrame.from_ndarray(
            np.zeros((2, 44_100), np.float32), format="fltp", layout="stereo"
        )
        silence.sample_rate = 44_100
        packets = [*sound.encode(silence), *sound.encode()]
        picture = av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")
        container.mux([*cover.encode(picture), *cover.encode(), *packets])
    with av.open(str(path)) as container:
        assert len(container.streams.video) == 1
    assert _reason(path) == "no video stream: it holds audio, video"


@pytest.mark.parametrize("name", ["concat:a|b.mp4", "a:b.mp4", "%03d.mp4", "-i.mp4", "é ñ 兔.mp4"])
def test_any_file_name_is_only_a_name(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(write_clip(tmp_path / "clip.mkv", 5), tmp_path / name)
    assert probe_video(tmp_path / name).num_frames == 5
    monkeypatch.chdir(tmp_path)
    assert probe_video(name).num_frames == 5


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe.mp4")
    shutil.copy(write_clip(tmp_path / "clip.mp4", 5), name)
    assert probe_video(name).num_frames == 5


@pytest.mark.parametrize(
    ("name", "codec", "pixel_format"),
    [
        ("a.gif", "gif", "rgb8"),
        ("a.ts", "libx264", "yuv420p"),
        ("a.webm", "libvpx-vp9", "yuv420p"),
        ("a.mkv", "libx264rgb", "rgb24"),
        ("a.mkv", "libx264", "yuv420p10le"),
        ("a.avi", "mpeg4", "yuv420p"),
        ("a.flv", "flv", "yuv420p"),
        ("a.mov", "prores_ks", "yuva444p10le"),
    ],
)
def test_containers_and_pixel_formats(
    tmp_path: Path, name: str, codec: str, pixel_format: str
) -> None:
    path = write_clip(tmp_path / name, 10, codec=codec, pixel_format=pixel_format)
    info = probe_video(path)
    assert info.num_frames == 10
    assert info.duration_seconds == pytest.approx(0.4, abs=0.002)


def test_reading_video_needs_no_torch() -> None:
    script = "import sys, affect.video; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0
