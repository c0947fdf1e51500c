"""An export is written when something changed, and left alone when nothing did."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data_prep.build import run
from data_prep.dataset import plots
from data_prep.rendered.encoding import write_clip


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    for number in range(2):
        frames = np.zeros((12, 32, 32, 3), np.uint8)
        for time in range(12):
            frames[time, 2 * time : 2 * time + 8, 4 + number : 20] = (200, 40 + 90 * number, 60)
        write_clip(folder / f"{number}.mp4", frames, 10)
    return folder


def build(tmp_path: Path, videos: Path, capsys: Any, **export: Any) -> str:
    config = {
        "out": str(tmp_path / "build"),
        "annotator": "offline",
        "videos": {"root": str(videos)},
        "engine": {"decode_timeout_seconds": 0},
        "export": {"with_videos": False, **export},
    }
    path = tmp_path / "build.yaml"
    path.write_text(json.dumps(config))
    assert run.main(["--config", str(path)]) == 0
    printed: str = capsys.readouterr().out
    return printed


def test_only_what_changed_is_exported_again(
    tmp_path: Path,
    videos: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All plots take seconds, and other tests draw them.
    monkeypatch.setattr(plots, "PLOTS", {"reason_words": plots.PLOTS["reason_words"]})
    done = tmp_path / "build" / "export" / "done.json"
    unchanged = f"export: {done.parent}: nothing has changed\n"
    assert unchanged not in build(tmp_path, videos, capsys)
    written = done.stat().st_mtime_ns
    assert unchanged in build(tmp_path, videos, capsys)
    assert done.stat().st_mtime_ns == written
    # Other shares, another way to keep it, a whole file that is missing, another video.
    assert unchanged not in build(tmp_path, videos, capsys, test_share=0.5)
    assert unchanged in build(tmp_path, videos, capsys, test_share=0.5)
    done.unlink()
    assert unchanged not in build(tmp_path, videos, capsys, test_share=0.5)
    (videos / "1.mp4").unlink()
    assert unchanged not in build(tmp_path, videos, capsys, test_share=0.5)
