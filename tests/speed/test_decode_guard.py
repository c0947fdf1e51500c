"""The figures are of the same frames both ways, one of each for small and large clips."""

import json
from pathlib import Path

import pytest

from speed import decode_guard


def few_small_clips(folder: Path, **shape: int) -> list[Path]:
    return decode_guard_draw(folder, num_frames=10, height=56, width=56, frame_rate=10)[:2]


decode_guard_draw = decode_guard.draw


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(decode_guard, "draw", few_small_clips)
    assert decode_guard.main(["--rounds", "1", "--json"]) == 0
    costs = json.loads(capsys.readouterr().out)
    assert set(costs) == {"small", "large"}
    for cost in costs.values():
        assert set(cost) == {"plain_per_s", "guarded_per_s", "added_ms"}
        assert cost["plain_per_s"] > 0 and cost["guarded_per_s"] > 0


def test_no_rounds() -> None:
    with pytest.raises(SystemExit) as stopped:
        decode_guard.main(["--rounds", "0"])
    assert stopped.value.code == 2
