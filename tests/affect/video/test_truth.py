"""Every file of the shared folder comes to the verdict that TRUTH.tsv states.

derived/vfr_30_then_3.mp4    99 frames    0.000    6.000 s    320x180    decodes whole
"""

import csv
from itertools import pairwise

import pytest

from affect.video import FrameBudget, VideoError, probe_video, sample_video
from tests.paths import SHARED, needs_shared

TRUTH = SHARED / "videos" / "TRUTH.tsv"
TINY = FrameBudget(min_frames=2, max_frames=5, min_pixels=3136, max_pixels=6272)

REASONS = {
    "does not decode": ("does not decode", "cannot be opened"),
    "no video stream": ("no video stream",),
    "not a video": ("not a video",),
    "truncated: shorter than it promises": ("truncated",),
}


def _rows() -> list[dict[str, str]]:
    if not TRUTH.is_file():
        return []
    with TRUTH.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


WHOLE = [row for row in _rows() if row["verdict"] == "decodes whole"]
REFUSED = [row for row in _rows() if row["verdict"] != "decodes whole"]


@needs_shared
def test_the_list_is_the_one_these_tests_were_written_for() -> None:
    assert (len(WHOLE), len(REFUSED)) == (50, 24)


@needs_shared
@pytest.mark.parametrize("row", WHOLE, ids=lambda row: row["file"])
def test_a_whole_file_has_its_frames_duration_and_size(row: dict[str, str]) -> None:
    info = probe_video(TRUTH.parent / row["file"])
    assert info.num_frames == int(row["frames"])
    assert info.first_stamp_seconds == pytest.approx(float(row["first_stamp_s"]), abs=0.001)
    assert info.duration_seconds == pytest.approx(float(row["picture_duration_s"]), abs=0.001)
    stored = (int(row["width_stored"]), int(row["height_stored"]))
    assert (info.stored_width, info.stored_height) == stored
    turned = info.rotation_degrees in (90, 270)
    assert (info.width, info.height) == (stored[::-1] if turned else stored)
    stamps = info.stamps_seconds
    assert len(stamps) == info.num_frames
    assert stamps[0] == 0.0
    assert all(before < after for before, after in pairwise(stamps))


@needs_shared
@pytest.mark.parametrize("row", WHOLE, ids=lambda row: row["file"])
def test_a_whole_file_is_sampled_within_the_budget(row: dict[str, str]) -> None:
    clip = sample_video(TRUTH.parent / row["file"], TINY)
    frames, seconds = int(row["frames"]), float(row["picture_duration_s"])
    count = TINY.num_frames(clip.duration_seconds, frames)
    assert clip.num_sampled_frames == len(clip.times_seconds) == count
    assert clip.frames.shape[0] == TINY.num_grids(count) * 2
    assert clip.frames.shape[1] % 28 == clip.frames.shape[2] % 28 == 0
    assert clip.duration_seconds == pytest.approx(seconds, abs=0.001)
    assert clip.times_seconds[0] == 0.0
    assert clip.times_seconds[-1] < clip.duration_seconds
    # The budget's forecast, from what TRUTH.tsv says, is what came out.
    width, height = int(row["width_stored"]), int(row["height_stored"])
    if clip.frames.shape[1] > clip.frames.shape[2]:
        width, height = min(width, height), max(width, height)
    patches = (
        clip.frames.shape[0] // 2 * (clip.frames.shape[1] // 14) * (clip.frames.shape[2] // 14)
    )
    assert TINY.num_video_tokens(clip.duration_seconds, frames, height, width) == patches // 4


@needs_shared
@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["file"])
def test_another_file_is_refused_by_name_and_reason(row: dict[str, str]) -> None:
    path = TRUTH.parent / row["file"]
    with pytest.raises(VideoError) as probed:
        probe_video(path)
    assert probed.value.path == path
    assert probed.value.reason.startswith(REASONS[row["verdict"]])
    assert str(probed.value) == f"{path}: {probed.value.reason}"
    with pytest.raises(VideoError) as sampled:
        sample_video(path, TINY)
    assert str(sampled.value) == str(probed.value)


@needs_shared
@pytest.mark.parametrize(
    ("file", "both"),
    [
        ("corrupt/trunc50.avi", ("49 frames", "promises 132")),
        ("corrupt/trunc50.mkv", ("1.760 s", "promises 5.280 s")),
        ("corrupt/trunc50.webm", ("1.880 s", "promises 5.280 s")),
        ("corrupt/trunc50_faststart.mp4", ("42 frames", "promises 132 frames")),
        ("corrupt/zeroed_30k_middle.mp4", ("43 frames", "promises 132 frames")),
        ("corrupt/trunc60_fragmented.mp4", ("54 frames", "56675 bytes", "promises a file of")),
        ("real/decord_corrupted.mp4", ("28 frames", "promises 50 frames")),
    ],
)
def test_both_numbers_are_named(file: str, both: tuple[str, ...]) -> None:
    with pytest.raises(VideoError) as refused:
        probe_video(TRUTH.parent / file)
    for number in both:
        assert number in refused.value.reason


@needs_shared
def test_patched_frames_are_counted_and_kept() -> None:
    assert probe_video(TRUTH.parent / "corrupt/bitflip_mdat_20.mp4").num_corrupt_frames == 16
    assert probe_video(TRUTH.parent / "derived/bbb_h264.mp4").num_corrupt_frames == 0
