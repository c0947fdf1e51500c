"""The command of the data builder's figures, on sizes that say nothing about speed."""

import json
from pathlib import Path

import pytest

from speed import data_prep
from speed.overlapped_requests import compare_requests
from tests.data_prep.picture.drawn import faded, pan, write_frames


@pytest.fixture
def clip(tmp_path: Path) -> Path:
    return write_frames(tmp_path / "clip.mp4", faded(pan(1, 30) + pan(2, 20), 0, 5, 10, 15))


@pytest.mark.slow
def test_command(
    clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def few_requests(folder: Path, num_alone: int, num_overlapped: int) -> dict[str, object]:
        assert (num_alone, num_overlapped) == (40, 320)
        return compare_requests(folder, num_alone=4, num_overlapped=32)

    monkeypatch.setattr(data_prep, "compare_requests", few_requests)
    arguments = ["--json", "--quick", "--clip", str(clip), "--num-videos", "4"]
    assert data_prep.main(arguments) == 0
    (line,) = capsys.readouterr().out.splitlines()
    found = json.loads(line)
    assert found["clip"] == str(clip) and found["results_equal"] is True
    assert found["decode_passes"] == 1 and found["picture_cpu_ratio"] > 0
    assert (found["num_connections"], found["latency_seconds"]) == (16, 0.1)
    assert found["overlap_ratio"] == pytest.approx(
        found["per_second_overlapped"] / found["per_second_alone"], rel=0.02
    )
    # One at a time, each waits for the 100 ms.
    assert 0 < found["per_second_alone"] <= 10.0
    assert found["num_videos"] == 4
    assert found["resume_seconds"] > 0 and found["first_run_seconds"] > 0


def test_a_difference_is_a_failure(
    clip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    unequal = {"results_equal": False, "decode_passes": 1, "picture_cpu_ratio": 3.0}
    monkeypatch.setattr(data_prep, "compare_picture_passes", lambda path, num_rounds: unequal)
    monkeypatch.setattr(data_prep, "compare_requests", lambda folder, *nums: {"overlap_ratio": 12})
    monkeypatch.setattr(data_prep, "measure_resume", lambda folder, num: {"resume_seconds": 1.5})
    assert data_prep.main(["--clip", str(clip), "--quick"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"clip: {clip}",
        "results_equal: False",
        "decode_passes: 1",
        "picture_cpu_ratio: 3.0",
        "overlap_ratio: 12",
        "resume_seconds: 1.5",
    ]
