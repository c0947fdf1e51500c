"""Which frames are taken, with what times, and that their pixels are the right ones.

a clip of frames grey 0, 8, 16, ...: 31 frames at 25 fps, 3 wanted -> frames 0, 15, 30
"""

import pickle
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from affect.video import FrameBudget, VideoError, probe_video, sample_video
from tests.affect.video.clips import remux, shown_frames, write_clip
from tests.paths import SHARED, needs_shared

VIDEOS = SHARED / "videos"
TINY = FrameBudget(min_pixels=3136, max_pixels=3136)


def _budget(**settings: float) -> FrameBudget:
    return FrameBudget(**{"min_pixels": 3136, "max_pixels": 3136, **settings})


@pytest.mark.parametrize(
    ("num_frames", "settings", "shown", "second_per_grid"),
    [
        (1, {}, [0, 0], 0.08),
        (2, {}, [0, 0], 0.16),  # .08 s: a second frame would make 25 fps
        (3, {}, [0, 0], 0.24),
        (31, {}, [0, 10, 20, 30], 2 / (4 / 1.24)),
        (31, {"max_frames": 4}, [0, 10, 20, 30], 0.62),
        (31, {"min_frames": 3, "max_frames": 3}, [0, 15, 30, 30], 2 / (3 / 1.24)),
        (31, {"min_frames": 1, "max_frames": 1}, [0, 0], 2.48),
    ],
)
def test_short_clips(
    tmp_path: Path,
    num_frames: int,
    settings: dict[str, float],
    shown: list[int],
    second_per_grid: float,
) -> None:
    path = write_clip(tmp_path / "clip.mp4", num_frames)
    clip = sample_video(path, _budget(**settings))
    assert shown_frames(clip.frames) == shown
    assert clip.frames.dtype == np.uint8
    assert clip.duration_seconds == num_frames / 25
    assert clip.second_per_grid_seconds == pytest.approx(second_per_grid, rel=1e-12)
    assert clip.effective_fps == clip.num_sampled_frames / clip.duration_seconds
    count = clip.num_sampled_frames
    assert list(clip.times_seconds) == [frame / 25 for frame in shown[:count]]


@pytest.mark.parametrize(("num_frames", "stamps"), [(2, [0, 30]), (3, [0, 15, 30])])
def test_all_frames_of_a_slow_clip_are_taken(
    tmp_path: Path, num_frames: int, stamps: list[int]
) -> None:
    path = write_clip(tmp_path / "slow.mkv", num_frames, stamps=stamps)
    clip = sample_video(path, TINY)
    assert shown_frames(clip.frames) == ([0, 1] if num_frames == 2 else [0, 1, 2, 2])
    assert clip.num_sampled_frames == num_frames
    assert clip.frames.shape[0] % 2 == 0


@pytest.mark.parametrize("size", [(64, 48), (66, 50), (161, 121), (17, 33), (1, 1)])
def test_odd_sizes(tmp_path: Path, size: tuple[int, int]) -> None:
    path = write_clip(tmp_path / "odd.mkv", 12, size=size, codec="ffv1", pixel_format="yuv444p")
    info = probe_video(path)
    assert (info.width, info.height) == size
    clip = sample_video(path, TINY)
    assert clip.frames.shape[1:] == (*TINY.frame_size(size[1], size[0]), 3)
    assert shown_frames(clip.frames)[0] == 0


def test_variable_rate_takes_the_frame_nearest_in_time(tmp_path: Path) -> None:
    stamps = [0, 1, 2, 3, 4, 5, 50, 75]  # a burst, then pauses: .04 s, 1.8 s, 1 s
    clip = sample_video(
        write_clip(tmp_path / "vfr.mkv", 8, stamps=stamps), _budget(min_frames=4, max_frames=4)
    )
    assert clip.duration_seconds == 4.0
    assert shown_frames(clip.frames) == [0, 5, 6, 7]  # instants 0, 1, 2, 3 s
    assert clip.times_seconds == (0.0, 0.2, 2.0, 3.0)


@pytest.mark.parametrize("container", ["mp4", "mkv", "ts", "flv", "avi"])
def test_frames_that_the_decoder_reorders_keep_their_times(tmp_path: Path, container: str) -> None:
    """avi stores no times of showing, and the ones FFmpeg makes up are out of order."""
    path = write_clip(tmp_path / f"b.{container}", 25, codec_options={"bf": "4", "b_strategy": "0"})
    info = probe_video(path)
    assert info.stamps_seconds == pytest.approx([frame / 25 for frame in range(25)], abs=1e-9)
    clip = sample_video(path, _budget(min_frames=4, max_frames=4))
    assert shown_frames(clip.frames) == [0, 8, 16, 24]


def test_frames_an_edit_list_hides_are_not_shown(tmp_path: Path) -> None:
    whole = write_clip(tmp_path / "whole.mp4", 31, codec_options={"bf": "0"})
    ticks = probe_video(whole).timing.stamps_ticks
    trimmed = remux(whole, tmp_path / "trimmed.mp4", shift_ticks=-ticks[11])
    info = probe_video(trimmed)
    assert (info.num_frames, info.duration) == (20, Fraction(20, 25))
    assert shown_frames(sample_video(trimmed, _budget(min_frames=1, max_frames=1)).frames)[0] == 11


@pytest.mark.parametrize("matrix", ["bt709", "smpte170m", None])
def test_colours_come_back(tmp_path: Path, matrix: str | None) -> None:
    """A file's stated matrix is used; one that states none is BT.601, as for other readers."""
    names = {"bt709": av.video.reformatter.Colorspace.ITU709}
    coded = names.get(matrix or "", av.video.reformatter.Colorspace.ITU601)
    colour = (200, 40, 90)
    path = tmp_path / "colour.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 56, 56, "yuv420p"
        stream.options = {"qp": "1"} | ({"colorspace": matrix} if matrix else {})
        picture = np.full((56, 56, 3), colour, np.uint8)
        rgb = av.VideoFrame.from_ndarray(picture, format="rgb24")
        for i in range(25):
            frame = rgb.reformat(format="yuv420p", dst_colorspace=coded)
            frame.colorspace = 2 if matrix is None else int({"bt709": 1, "smpte170m": 6}[matrix])
            frame.pts = i
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    mean = sample_video(path, TINY).frames.mean(axis=(0, 1, 2))
    assert np.abs(mean - colour).max() < 3


@needs_shared
def test_rotation_turns_the_picture_counterclockwise() -> None:
    upright = sample_video(VIDEOS / "derived/bbb_h264.mp4", FrameBudget())
    turned = sample_video(VIDEOS / "derived/rotated_90.mp4", FrameBudget())
    assert upright.frames.shape == (10, 168, 308, 3)
    assert turned.frames.shape == (10, 308, 168, 3)
    assert np.array_equal(np.rot90(upright.frames, 1, axes=(1, 2)), turned.frames)
    assert probe_video(VIDEOS / "derived/rotated_90.mp4").rotation_degrees == 90


@needs_shared
@pytest.mark.parametrize(
    "file",
    [
        "derived/rotated_90.mp4",
        "real/decord_rot90.mov",
        "real/decord_rot180.mov",
        "real/decord_rot270.mov",
        "real/streamio_sideways.mov",
    ],
)
def test_rotation_is_that_of_opencv(file: str) -> None:
    cv2 = pytest.importorskip("cv2")
    capture = cv2.VideoCapture(str(VIDEOS / file))
    ok, bgr = capture.read()
    assert ok
    ours = sample_video(VIDEOS / file, FrameBudget(min_frames=1, max_frames=1)).frames[0]
    size = (ours.shape[1], ours.shape[0])
    theirs = cv2.resize(bgr[:, :, ::-1], size, interpolation=cv2.INTER_AREA).astype(float)
    difference = np.abs(ours - theirs).mean()
    assert difference < 6
    assert difference < np.abs(np.rot90(ours, 2) - theirs).mean() / 3


@needs_shared
def test_the_variable_rate_film() -> None:
    clip = sample_video(VIDEOS / "derived/vfr_30_then_3.mp4", TINY)
    assert clip.num_sampled_frames == 12
    assert clip.second_per_grid_seconds == 1.0
    thirds = [0, 15 / 30, 31 / 30, 46 / 30, 62 / 30, 77 / 30, 3, 3 + 2 / 3, 4, 4 + 2 / 3, 5, 17 / 3]
    assert clip.times_seconds == pytest.approx(thirds, abs=1e-9)


@needs_shared
def test_a_first_stamp_of_two_seconds_is_taken_off() -> None:
    late = sample_video(VIDEOS / "derived/starts_at_2s.mkv", TINY)
    assert (late.times_seconds[0], late.duration_seconds) == (0.0, 5.28)
    on_time = sample_video(VIDEOS / "derived/bbb_h264.mp4", TINY)
    assert late.times_seconds == on_time.times_seconds
    assert np.abs(late.frames.astype(int) - on_time.frames).mean() < 3


@needs_shared
def test_hidden_frames_are_not_counted() -> None:
    """This VP9 file has 80 packets and shows 72 frames, so that a second pass is taken."""
    path = VIDEOS / "real/exo_roadtrip_vp9_10bit.webm"
    timing = probe_video(path).timing
    clip = sample_video(path, TINY)
    expected = [timing.seconds(frame) for frame in timing.nearest_frames(6)]
    assert list(clip.times_seconds) == expected


@needs_shared
def test_a_name_with_spaces_and_other_scripts() -> None:
    odd = sample_video(VIDEOS / "derived/兔子 №1 (copy).mp4", TINY)
    plain = sample_video(str(VIDEOS / "derived/bbb_h264.mp4"), TINY)
    assert np.array_equal(odd.frames, plain.frames)


def test_sampling_again_gives_the_same(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "clip.mp4", 31)
    first, second = sample_video(path, TINY), sample_video(path, TINY)
    assert np.array_equal(first.frames, second.frames)
    assert first.times_seconds == second.times_seconds


def test_results_and_refusals_survive_pickling(tmp_path: Path) -> None:
    clip = sample_video(write_clip(tmp_path / "clip.mp4", 31), TINY)
    again = pickle.loads(pickle.dumps(clip))
    assert np.array_equal(again.frames, clip.frames)
    assert again.times_seconds == clip.times_seconds
    error = pickle.loads(pickle.dumps(VideoError("a.mp4", "no video stream: it holds audio")))
    assert str(error) == "a.mp4: no video stream: it holds audio"
    assert (error.path, error.reason) == (Path("a.mp4"), "no video stream: it holds audio")


def test_an_extreme_shape_is_refused_by_name(tmp_path: Path) -> None:
    path = write_clip(
        tmp_path / "ribbon.mkv", 3, size=(402, 2), codec="ffv1", pixel_format="yuv444p"
    )
    with pytest.raises(VideoError, match=r"ribbon\.mkv: aspect ratio 201\.0"):
        sample_video(path, TINY)
