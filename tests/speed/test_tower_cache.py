"""Both ways give the same features, and what is printed belongs to them."""

import json

import pytest

from speed import tower_cache


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(tower_cache, "NUM_CLIPS", 1)
    assert tower_cache.main(["--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) == {"rendered", "large", "bytes_of_3b"}
    large = report["large"]
    assert large["patches"] == 12 * 16 * 16
    # 256 float32 a patch, and a header.
    assert 0 <= large["bytes"] - 3072 * 256 * 4 < 1000
    for cost in (report["rendered"], large):
        assert cost["ratio"] > 1 and cost["tower_s"] > 0 and cost["read_s"] > 0


def test_sizes_of_the_released_model() -> None:
    assert tower_cache.bytes_of_3b()["24 frames of 224x224"] == 12 * 16 * 16 * 1280 * 2
