"""A run decodes within a time, notes what took longer, and goes on with another limit."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from affect.config import load_config
from affect.run_folder import RunFolder
from affect.video import FrameBudget
from tests.affect.video.clips import write_clip
from tests.affect.video.hostile_reads import process_id
from tests.paths import ROOT
from tests.tiny import shared_processor
from train.clips import ClipStore, guarded_reader
from train.run_start import open_run
from train.sections import DataSection
from train.sft_config import SftRun

BUDGET = FrameBudget(max_frames=4, min_pixels=3136, max_pixels=3136)
ROW = {"id": "long", "video": "long.mp4", "video_duration": 16.0, "prompt": []}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clip that no machine decodes in five milliseconds."""
    folder = tmp_path_factory.mktemp("videos")
    write_clip(folder / "long.mp4", 400, size=(320, 240))
    return folder


def store(root: Path, run: Path, **settings: Any) -> ClipStore:
    data = DataSection(rows=root / "rows.jsonl", video_root=root, **settings)
    return ClipStore(shared_processor(), data, BUDGET, guarded_reader(data, RunFolder(run)))


def test_what_takes_too_long_stops_the_run_by_name_and_next_time_at_once(
    root: Path, tmp_path: Path
) -> None:
    clips = store(root, tmp_path, decode_timeout_seconds=0.005)
    with pytest.raises(ValueError) as first:
        clips.video(ROW)
    assert str(first.value) == (
        f"row long: {root / 'long.mp4'}: decoding took longer than 0.005 s and was ended; "
        f"quarantined in {tmp_path / 'quarantine.jsonl'}"
    )
    assert json.loads((tmp_path / "quarantine.jsonl").read_text())["path"] == str(root / "long.mp4")
    again = store(root, tmp_path, decode_timeout_seconds=0.005)
    with pytest.raises(ValueError, match=r"^row long: .*in quarantine since an earlier decode"):
        again.video(ROW)


def test_more_time_reads_it(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="longer than"):
        store(root, tmp_path, decode_timeout_seconds=0.005).video(ROW)
    clips = store(root, tmp_path)
    assert clips.data.decode_timeout_seconds == 120.0
    assert clips.video(ROW).duration_seconds == 16.0
    assert (clips.num_decodes, clips.video(ROW).num_sampled_frames) == (1, 4)
    assert clips.num_decodes == 1


@pytest.mark.parametrize("limit", [0, None])
def test_without_a_limit_the_training_process_decodes(
    root: Path, tmp_path: Path, limit: float | None
) -> None:
    clips = store(root, tmp_path, decode_timeout_seconds=limit)
    assert clips.video(ROW).duration_seconds == 16.0
    assert clips.reader.call(process_id, root / "long.mp4") == os.getpid()


@pytest.mark.parametrize("limit", [-1, "soon"])
def test_a_limit_that_is_none(root: Path, limit: Any) -> None:
    with pytest.raises(ValueError, match="decode_timeout_seconds"):
        DataSection(rows=root / "rows.jsonl", video_root=root, decode_timeout_seconds=limit)


def test_a_run_goes_on_with_another_limit(tmp_path: Path) -> None:
    """Otherwise nobody could follow the advice to allow more time."""

    def configured(**changes: Any) -> SftRun:
        values = {f"data.{name}": value for name, value in changes.items()}
        return load_config(
            SftRun, ROOT / "configs/sft/demo.yaml", {"run_dir": str(tmp_path / "run"), **values}
        )

    folder = open_run(configured(), ["train/sft.py"])
    assert folder is not None
    folder.metrics.write_text('{"step": 1}\n')
    changed = configured(decode_timeout_seconds=600.0, clip_cache_megabytes=10)
    assert open_run(changed, ["train/sft.py"]) is not None
    assert load_config(SftRun, folder.config) == changed
    with pytest.raises(ValueError, match=r"other settings \(data\.max_rows\)"):
        open_run(configured(max_rows=3), ["train/sft.py"])
