"""A build on a Ray cluster that loses a node exports what a build on one machine exports."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from affect.llm.model_section import ModelSection
from data_prep.build.finished import outcomes
from data_prep.build.folder import BuildFolder
from tests.data_prep.build.scripted_build import KEY, ScriptedPair, run_build
from tests.data_prep.build.test_with_faults import files_under, write_clips

NUM_CLIPS = 8
OBJECT_STORE_BYTES = 100 * 1024 * 1024


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head and a second node, of one core each, on this machine."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv(KEY, "secret")  # nodes hand their environment to the workers on them
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": OBJECT_STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.second = cluster.add_node(**node)
    yield cluster
    if ray.is_initialized():
        ray.shutdown()
    cluster.shutdown()


class NodeKiller(threading.Thread):
    """Ends the second node, without a word to anybody, once so many requests were answered."""

    def __init__(self, cluster: Any, servers: ScriptedPair, num_answered: int) -> None:
        super().__init__(daemon=True)
        self.cluster, self.servers, self.num_answered = cluster, servers, num_answered
        self.has_killed = False

    def run(self) -> None:
        deadline = time.monotonic() + 120.0
        while len(self.servers.answered()) < self.num_answered and time.monotonic() < deadline:
            time.sleep(0.05)
        self.cluster.remove_node(self.cluster.second, allow_graceful=False)
        self.has_killed = True


@pytest.mark.slow
def test_a_node_that_dies_takes_nothing_with_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cluster: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    videos = tmp_path / "videos"
    write_clips(videos, NUM_CLIPS)
    with ScriptedPair(tmp_path / "alone") as servers:
        code, alone = run_build(tmp_path / "alone_build", videos, servers, monkeypatch)
        asked = [line for line in servers.answered() if line.operation == "reply"]
    assert code == 0

    on_ray = {"name": "ray", "ray_address": cluster.address, "ray_workers": 2, "videos_at_once": 6}
    with ScriptedPair(tmp_path / "ray", latency_seconds=0.1) as servers:
        killer = NodeKiller(cluster, servers, num_answered=len(asked) // 3)
        killer.start()
        code, config = run_build(
            tmp_path / "ray_build", videos, servers, monkeypatch, engine=on_ray
        )
        answered = [line for line in servers.answered() if line.operation == "reply"]
        killer.join(timeout=30.0)
    assert killer.has_killed and code == 0
    assert "a worker is gone; its videos go to others" in capsys.readouterr().err

    folder = BuildFolder(config.out)
    assert all(outcome and outcome.state == "done" for _, outcome in outcomes(folder))
    assert files_under(folder.export) == files_under(BuildFolder(alone.out).export)
    times = Counter(line.digest for line in answered)
    assert set(times) == {line.digest for line in asked}
    # Only what the dead node was waiting for was asked again: two questions a video at most.
    assert sum(times.values()) - len(times) <= 2 * on_ray["videos_at_once"]
    assert max(times.values()) <= 2


def test_limits_are_divided_by_the_workers() -> None:
    from data_prep.build.ray_worker import divided

    section = ModelSection(model="m", max_concurrent=9, requests_per_minute=100.0)
    share = divided({"m": section}, 4)["m"]
    assert (share.max_concurrent, share.requests_per_minute) == (2, 25.0)
    assert share.tokens_per_minute is None
    with pytest.raises(ValueError, match=r"models\.m\.max_concurrent is 9, fewer than the 10"):
        divided({"m": section}, 10)
