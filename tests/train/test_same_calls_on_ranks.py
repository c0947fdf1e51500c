"""Processes that are dealt unequal rows call the model equally often, in each step."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.train.launching import TWO_PROCESSES, launch

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

RAGGED_RUN = Path(__file__).with_name("ragged_run.py")


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ragged")
    result = launch(TWO_PROCESSES, RAGGED_RUN, [], OUT=str(folder))
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-5000:]
    return folder


def of_both(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads((folder / f"{name}-{rank}.json").read_text()) for rank in (0, 1)]


def test_grpo(ended: Path) -> None:
    first, second = of_both(ended, "grpo")
    assert first["steps"] == second["steps"] and len(first["steps"]) == 6
    last = first["steps"][-1]
    assert last["backward"] == 6 and last["evaluations"] == 2 and last["tower"] >= 6
    # The rows did treat the processes unequally: in some step one has nothing that counts, and in
    # some step one has no spread, and the other has both.
    rows = list(zip(first["rows"], second["rows"], strict=True))
    assert any("a" in pair for pair in rows) and any("b" in pair for pair in rows)
    for one in (first, second):
        for row, is_dropped, advantage in zip(
            one["rows"], one["dropped"], one["advantages"], strict=True
        ):
            assert is_dropped == (row == "a")
            assert (advantage == pytest.approx(0.0, abs=1e-6)) == (row in ("a", "b"))


def test_a_cold_start(ended: Path) -> None:
    first, second = of_both(ended, "sft")
    assert first["steps"] == second["steps"] and len(first["steps"]) == 4
    last = first["steps"][-1]
    assert last["backward"] == 4 and last["evaluations"] == 1
