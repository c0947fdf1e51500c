"""A tower cache of two processes whose weights are sharded, as users start them."""

import json
from pathlib import Path

import pytest

from affect.run_folder import RunFolder
from tests.train.drawn_rows import CLIPS
from tests.train.launching import (
    GLOO,
    Places,
    completions,
    grpo_settings,
    make_places,
    metrics,
    sharded,
    train,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # DeepSpeed may compile for a minute


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("places"))


def test_zero_3_with_a_cache_of_which_one_process_lacks_a_clip(
    places: Places, tmp_path: Path
) -> None:
    """Neither waits for the other, and the run is that of a full cache and of none."""
    pytest.importorskip("deepspeed")
    cache = tmp_path / "cache"

    def run(name: str, *arguments: str) -> RunFolder:
        return train(
            "grpo",
            tmp_path / name,
            sharded(3, tmp_path),
            *(*places.drawn(model=places.started), *grpo_settings(4, 2, 24), *GLOO),
            *("--data.decode_timeout_seconds", "0", *arguments),
            DS_ACCELERATOR="cpu",
        )

    cold = run("cold", "--data.tower_cache", str(cache))
    entries = sorted(cache.iterdir())
    assert len(entries) == len(CLIPS)
    entries[0].unlink()
    partial = run("partial", "--data.tower_cache", str(cache))
    assert sorted(cache.iterdir()) == entries
    for step in (1, 2):
        texts = [[row["text"] for row in completions(one, step)] for one in (cold, partial)]
        assert texts[0] == texts[1] and len(texts[0]) == 8
    losses = [[line["loss"] for line in metrics(one)] for one in (cold, partial)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    assert json.loads(partial.budget.read_text()) == json.loads(cold.budget.read_text())
