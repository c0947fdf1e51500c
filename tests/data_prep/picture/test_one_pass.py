"""One look at a file: whole record and pack from one decode, the same however it is got."""

import json
import zipfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from affect.video import GuardedReader, VideoError, probe_video
from data_prep.build.config import PictureSection
from data_prep.clip import Clip
from data_prep.picture import one_pass
from data_prep.picture.fingerprint import fingerprint_distance
from data_prep.picture.one_pass import look_at
from data_prep.records import Cut, Looked
from speed.picture_pass import counted_decodes
from tests.data_prep.picture.drawn import flat, pan, scene, write_frames

SETTINGS = PictureSection()


def looked_at(path: Path, pack: Path, settings: PictureSection = SETTINGS) -> Looked:
    return Looked.from_json(look_at(path, settings.model_dump_json(), str(pack)))


def test_a_drawn_clip(tmp_path: Path) -> None:
    """2 s of one scene and 2 s of another, at 25 frames a second."""
    path = write_frames(tmp_path / "clip.mp4", pan(1, 50) + pan(2, 50))
    with counted_decodes() as count:
        looked = looked_at(path, tmp_path / "pack.zip")
    assert count.num_passes == looked.num_decode_passes == 1
    assert (looked.num_frames, looked.duration_seconds) == (100, 4.0)
    assert (looked.width, looked.height, looked.codec) == (320, 180, "h264")
    assert looked.mime_type == "video/mp4"
    assert looked.cuts == (Cut(time_seconds=2.0, kind="cut"),)
    assert looked.motion.still_share == 0.0
    assert looked.motion.mean_flow_pixels is not None and looked.motion.mean_flow_pixels > 1
    # Four a second: 3.96 s from first to last frame hold 15 steps, 16 frames.
    assert len(looked.frame_times_seconds) == 16
    assert looked.frame_times_seconds[0] == 0.0 and looked.frame_times_seconds[-1] == 3.96
    assert looked.rejection is None


def test_the_pack(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "clip.mp4", pan(1, 50))
    looked = looked_at(path, tmp_path / "pack.zip")
    clip = Clip(path, "0" * 64, looked.mime_type, tmp_path / "pack.zip")
    frames = clip.whole(max_frames=100).frames.frames
    assert tuple(frame.time_seconds for frame in frames) == looked.frame_times_seconds
    with zipfile.ZipFile(tmp_path / "pack.zip") as archive:
        assert json.loads(archive.read("times.json")) == list(looked.frame_times_seconds)


def test_equal_looks_are_equal_bytes(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "clip.mp4", pan(1, 30))
    texts = [look_at(path, SETTINGS.model_dump_json(), str(tmp_path / name)) for name in ("a", "b")]
    assert texts[0] == texts[1]
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_guarded_and_not_are_the_same(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "clip.mp4", pan(1, 30))
    plain = look_at(path, SETTINGS.model_dump_json(), str(tmp_path / "plain"))
    with GuardedReader(60.0) as reader:
        guarded = reader.call(look_at, path, SETTINGS.model_dump_json(), str(tmp_path / "guarded"))
    assert guarded == plain
    assert (tmp_path / "guarded").read_bytes() == (tmp_path / "plain").read_bytes()


@pytest.mark.parametrize("forecast", ["nothing", "too few"])
def test_a_wrong_forecast_costs_a_pass_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forecast: str
) -> None:
    path = write_frames(tmp_path / "clip.mp4", pan(1, 20) + pan(2, 20))
    right = looked_at(path, tmp_path / "right")
    short = write_frames(tmp_path / "short.mp4", pan(1, 20))
    wrong = None if forecast == "nothing" else probe_video(short).timing
    monkeypatch.setattr(one_pass, "packet_timing", lambda path: wrong)
    with counted_decodes() as count:
        looked = looked_at(path, tmp_path / "wrong")
    assert count.num_passes == looked.num_decode_passes == 2
    assert looked.model_copy(update={"num_decode_passes": 1}) == right
    assert (tmp_path / "wrong").read_bytes() == (tmp_path / "right").read_bytes()


def test_variable_rate(tmp_path: Path) -> None:
    """Ten frames of one scene in 1 s, then a picture each second: cuts at 1, 2 and 3 s."""
    pictures = [*pan(1, 10), scene(2), scene(3), scene(4)]
    stamps = [*range(0, 100, 10), 100, 200, 300]
    path = write_frames(tmp_path / "vfr.mkv", pictures, stamps=stamps, time_base=Fraction(1, 100))
    looked = looked_at(path, tmp_path / "pack")
    assert [cut.time_seconds for cut in looked.cuts] == [1.0, 2.0, 3.0]
    assert looked.duration_seconds == 4.0
    assert looked.motion.still_share == pytest.approx(3 / 4)


@pytest.mark.parametrize("rate", [10, 30])
def test_copies_at_another_rate_size_and_quality(tmp_path: Path, rate: int) -> None:
    """Both last 4 s. The copy shows every second or no frame less, at half the size."""
    pictures = pan(1, 60, step=2) + pan(2, 60, step=2)
    path = write_frames(tmp_path / "clip.mp4", pictures, time_base=Fraction(1, 30))
    fewer = pictures[:: 30 // rate]
    copy = write_frames(
        tmp_path / "copy.mp4", [picture[::2, ::2] for picture in fewer],
        time_base=Fraction(1, rate), crf="38",
    )  # fmt: skip
    other = write_frames(tmp_path / "other.mp4", pan(3, 60) + pan(4, 60))
    prints = [looked_at(one, tmp_path / "p").perceptual_hash for one in (path, copy, other)]
    assert fingerprint_distance(prints[0], prints[1]) <= 6
    assert fingerprint_distance(prints[0], prints[2]) > 15


def test_one_frame(tmp_path: Path) -> None:
    looked = looked_at(write_frames(tmp_path / "one.mp4", [scene(1)]), tmp_path / "pack")
    assert looked.motion.mean_hash_distance is None and looked.motion.mean_flow_pixels is None
    assert looked.motion.still_share == 1.0
    assert looked.frame_times_seconds == (0.0,) and looked.cuts == ()
    assert len({looked.perceptual_hash[n : n + 16] for n in range(0, 256, 16)}) == 1


def test_settings_are_used(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "clip.mp4", pan(1, 50) + pan(2, 50))
    settings = PictureSection(frames_fps=1.0, max_frames=3, frame_side=64, cut_threshold=250.0)
    looked = looked_at(path, tmp_path / "pack", settings)
    assert looked.frame_times_seconds == (0.0, 1.96, 3.96) and looked.cuts == ()


def test_frames_that_change_their_size(tmp_path: Path) -> None:
    """Two recordings of two sizes in one transport stream, as a receiver joins them."""
    joined = tmp_path / "joined.ts"
    parts = [
        write_frames(tmp_path / "a.ts", pan(1, 20), stamps=range(20)),
        write_frames(
            tmp_path / "b.ts", [one[::2, ::2] for one in pan(2, 20)], stamps=range(20, 40)
        ),
    ]
    joined.write_bytes(b"".join(part.read_bytes() for part in parts))
    looked = looked_at(joined, tmp_path / "pack")
    assert (looked.width, looked.height) == (320, 180) and looked.mime_type == "video/mp2t"
    assert [cut.time_seconds for cut in looked.cuts] == [0.8]


def test_damaged_bytes_are_read_or_refused(tmp_path: Path) -> None:
    chance = np.random.default_rng(0)
    outcomes = set()
    for suffix in ("mp4", "mkv", "ts"):
        source = write_frames(tmp_path / f"clip.{suffix}", pan(1, 10)).read_bytes()
        damaged = tmp_path / f"damaged.{suffix}"
        for num_places in (1, 1, 1, 3, 3, 10, 100):
            data = np.frombuffer(source, np.uint8).copy()
            places = chance.integers(0, len(data), num_places)
            data[places] = chance.integers(0, 256, num_places)
            damaged.write_bytes(data.tobytes())
            try:
                looked = looked_at(damaged, tmp_path / "pack")
            except VideoError:
                outcomes.add("refused")
            else:
                assert looked.num_frames >= len(looked.frame_times_seconds) >= 1
                outcomes.add("read")
    assert outcomes == {"read", "refused"}


def test_a_broken_file_leaves_no_pack(tmp_path: Path) -> None:
    path = write_frames(tmp_path / "clip.mkv", [np.roll(flat(60), n) for n in range(50)])
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(VideoError):
        looked_at(path, tmp_path / "pack")
    assert not (tmp_path / "pack").exists()
