"""One pass and a pass each find the same, and the passes are counted where they happen."""

import json
from pathlib import Path

import pytest

from affect.video import probe_video
from speed import picture_pass
from speed.drawn_clip import draw_clip
from speed.picture_pass import compare_picture_passes, counted_decodes, find_in_one_pass
from tests.data_prep.picture.drawn import faded, pan, write_frames


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_frames(tmp_path / "clip.mp4", faded(pan(1, 30) + pan(2, 20), 0, 5, 10, 15))


def test_both_ways(clip: Path) -> None:
    result = compare_picture_passes(clip, num_rounds=1)
    assert result["results_equal"] is True
    assert (result["decode_passes"], result["decode_passes_each"]) == (1, 4)
    assert result["cpu_seconds_one_pass"] > 0 and result["cpu_seconds_a_pass_each"] > 0
    assert result["picture_cpu_ratio"] > 0
    assert len(find_in_one_pass(clip).cuts) == 2


def test_passes_are_counted(clip: Path) -> None:
    with counted_decodes() as count:
        probe_video(clip)
        probe_video(clip)
    probe_video(clip)
    assert count.num_passes == 2


def test_a_difference_is_seen(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = write_frames(clip.with_name("other.mp4"), pan(3, 50))
    monkeypatch.setattr(picture_pass, "find_in_a_pass_each", lambda path: find_in_one_pass(other))
    assert compare_picture_passes(clip, num_rounds=1)["results_equal"] is False


def test_command(clip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert picture_pass.main(["--clip", str(clip), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["clip"] == str(clip) and result["decode_passes"] == 1


@pytest.mark.slow
def test_the_drawn_clip(tmp_path: Path) -> None:
    path = draw_clip(tmp_path / "drawn.mp4")
    info = probe_video(path)
    assert (info.width, info.height, info.num_frames) == (1280, 720, 75)
    found = find_in_one_pass(path)
    assert [cut.time_seconds for cut in found.cuts] == [1.6]
    assert found.motion.still_share == 0.0
    assert draw_clip(tmp_path / "again.mp4").read_bytes() == path.read_bytes()
