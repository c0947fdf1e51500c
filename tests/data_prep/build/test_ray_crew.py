"""What the crew does when workers die, and when the run stops: with scripted actors, no cluster.

A cluster with real workers is in `test_ray_engine`.
"""

import asyncio
import contextlib
import json
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.exceptions import ActorDiedError, RayTaskError

from affect.llm.chat import BudgetSpentError
from affect.llm.scripted.process import ScriptedServer
from data_prep.build import ray_engine
from data_prep.build.config import BuildConfig
from data_prep.build.journal import Journal
from data_prep.build.outcome import Outcome
from data_prep.build.ray_cluster import joined
from data_prep.build.ray_engine import MAX_WORKERS_PER_VIDEO, RayCrew
from data_prep.build.ray_worker import Told
from data_prep.build.run_video import BuildBrokenError, BuildVideo, RunStoppedError
from data_prep.records import Candidates, Video
from tests.data_prep.build.test_killed import ANSWERS, DEADLINE_SECONDS, NUM_DIGITS, Run, videos

__all__ = ["videos"]

DONE = Told(Outcome("done", "decide", 11))
ITEM = BuildVideo(Video(id="a.mp4", sha256="0" * 64), Path("a.mp4"), Candidates(emotions=()))


class ScriptedMethod:
    def __init__(self, name: str, told: list[str], act: Callable[..., Awaitable[Any]]) -> None:
        self._name, self._told, self._act = name, told, act

    def remote(self, *arguments: Any) -> Awaitable[Any]:
        self._told.append(self._name)
        return asyncio.ensure_future(self._act(*arguments))


class ScriptedActor:
    """Every method does nothing, unless it is given."""

    def __init__(self, **acts: Callable[..., Awaitable[Any]]) -> None:
        self.told: list[str] = []
        for name in ("begin", "run", "stop", "close"):
            setattr(self, name, ScriptedMethod(name, self.told, acts.get(name, _nothing)))


async def _nothing(*arguments: Any) -> None:
    return None


def answers(told: Told | BaseException) -> Callable[..., Awaitable[Any]]:
    async def act(*arguments: Any) -> Any:
        if isinstance(told, BaseException):
            raise told
        return told

    return act


@pytest.fixture
def hired(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ScriptedActor]]:
    """The actors that were asked for; `hired_as` says which."""
    actors: list[ScriptedActor] = []
    monkeypatch.setattr(ray_engine, "joined", lambda address: contextlib.nullcontext())
    monkeypatch.setattr(ray_engine, "start_ledger", lambda *arguments: ScriptedActor())
    monkeypatch.setattr(ray, "kill", lambda actor: None)
    yield actors


def hire(
    monkeypatch: pytest.MonkeyPatch, actors: list[ScriptedActor], make: Callable[[], ScriptedActor]
) -> None:
    def start_worker(*arguments: Any) -> ScriptedActor:
        actors.append(make())
        return actors[-1]

    monkeypatch.setattr(ray_engine, "start_worker", start_worker)


def crew_of(tmp_path: Path, said: list[str] | None = None) -> Any:
    config = BuildConfig.model_validate(
        {
            "out": str(tmp_path / "build"),
            "annotator": "offline",
            "videos": {"root": str(tmp_path)},
            "engine": {"name": "ray", "ray_workers": 2},
        }
    )

    @contextlib.asynccontextmanager
    async def crew() -> Any:
        with Journal(tmp_path / "build" / "journal.sqlite") as journal:
            say = (said if said is not None else []).append
            async with RayCrew(config, journal, "base", say) as crew:
                yield crew

    return crew()


def test_what_kills_every_worker_is_not_handed_on_for_ever(
    tmp_path: Path, hired: list[ScriptedActor], monkeypatch: pytest.MonkeyPatch
) -> None:
    hire(monkeypatch, hired, lambda: ScriptedActor(run=answers(ActorDiedError())))
    said: list[str] = []

    async def build() -> Outcome:
        async with crew_of(tmp_path, said) as crew:
            outcome: Outcome = await crew.run_video(ITEM)
            return outcome

    outcome = asyncio.run(build())
    assert (outcome.state, outcome.stage, outcome.kind) == ("failed", "look", "worker_died")
    assert len(said) == MAX_WORKERS_PER_VIDEO and len(hired) == 2 + MAX_WORKERS_PER_VIDEO


def test_another_worker_takes_the_video_of_a_dead_one(
    tmp_path: Path, hired: list[ScriptedActor], monkeypatch: pytest.MonkeyPatch
) -> None:
    acts = iter([answers(ActorDiedError())] + [answers(DONE)] * 2)
    hire(monkeypatch, hired, lambda: ScriptedActor(run=next(acts)))

    async def build() -> Outcome:
        async with crew_of(tmp_path) as crew:
            outcome: Outcome = await crew.run_video(ITEM)
            return outcome

    assert asyncio.run(build()) == DONE.outcome
    assert [actor.told.count("run") for actor in hired] == [1, 1, 0]


def test_workers_that_die_while_they_begin_end_the_run(
    tmp_path: Path, hired: list[ScriptedActor], monkeypatch: pytest.MonkeyPatch
) -> None:
    hire(monkeypatch, hired, lambda: ScriptedActor(begin=answers(ActorDiedError())))

    async def build() -> None:
        async with crew_of(tmp_path) as crew:
            await crew.run_video(ITEM)

    with pytest.raises(BuildBrokenError, match=r"could not begin: [78] died before they had begun"):
        asyncio.run(build())


def test_a_lost_ledger_is_no_lost_worker(
    tmp_path: Path, hired: list[ScriptedActor], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = RayTaskError("run", "traceback", ActorDiedError()).as_instanceof_cause()
    assert isinstance(error, ActorDiedError)  # as a caller meets it
    hire(monkeypatch, hired, lambda: ScriptedActor(run=answers(error)))

    async def build() -> None:
        async with crew_of(tmp_path) as crew:
            await crew.run_video(ITEM)

    with pytest.raises(BuildBrokenError, match="keeps journal and replies is gone"):
        asyncio.run(build())
    assert len(hired) == 2


def test_a_missing_key_is_said_in_one_line(
    tmp_path: Path, hired: list[ScriptedActor], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = RayTaskError("begin", "a\nlong\ntraceback", ValueError("models.a: set KEY"))
    act = answers(error.as_instanceof_cause())
    hire(monkeypatch, hired, lambda: ScriptedActor(begin=act))

    async def build() -> None:
        async with crew_of(tmp_path) as crew:
            await crew.run_video(ITEM)

    with pytest.raises(BuildBrokenError) as told:
        asyncio.run(build())
    assert str(told.value) == "a worker could not begin: models.a: set KEY"


def test_after_a_stop_a_late_worker_gets_nothing(
    tmp_path: Path, hired: list[ScriptedActor], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def build() -> None:
        begun = asyncio.Event()

        async def begin() -> None:
            await begun.wait()

        hire(monkeypatch, hired, lambda: ScriptedActor(begin=begin, run=answers(DONE)))
        async with crew_of(tmp_path) as crew:
            waiting = asyncio.create_task(crew.run_video(ITEM))
            await asyncio.sleep(0)
            crew.stop()
            begun.set()
            with pytest.raises(RunStoppedError):
                await waiting

    asyncio.run(build())
    assert all("run" not in actor.told for actor in hired)


def test_a_spent_budget_is_told_to_all_workers(
    tmp_path: Path, hired: list[ScriptedActor], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments: list[bool] = []

    async def stop(gives_up_decodes: bool) -> None:
        arguments.append(gives_up_decodes)

    spent = answers(Told(stop="spent", reason="2.00 of 2"))
    hire(monkeypatch, hired, lambda: ScriptedActor(run=spent, stop=stop))

    async def build() -> None:
        async with crew_of(tmp_path) as crew:
            with pytest.raises(BudgetSpentError, match=r"2\.00 of 2"):
                await crew.run_video(ITEM)
            with pytest.raises(RunStoppedError):
                await crew.run_video(ITEM)

    asyncio.run(build())
    assert arguments and not any(arguments)  # decodes end by themselves


@pytest.mark.parametrize(
    "address", ["nonsense", "ray://127.0.0.1:10001", "host:", ":6379", "127.0.0.1:99999"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"engine\.ray_address"), joined(address):
        pass


def test_an_address_of_nobody_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]  # nobody's, once it is closed
    with pytest.raises(ValueError, match="start the cluster"), joined(f"127.0.0.1:{port}"):
        pass


@pytest.mark.slow
def test_an_interrupt_keeps_every_answer(tmp_path: Path, videos: Path) -> None:
    """By SIGTERM, which Ray would take over; what it does to workers is the same for Ctrl-C."""
    with ScriptedServer("openai", ANSWERS, tmp_path, latency_seconds=0.2) as server:
        build = Run(tmp_path / "run", videos, server)
        config = json.loads(build.config.read_text())
        config["engine"] |= {"name": "ray", "ray_workers": 2}
        build.config.write_text(json.dumps(config))
        process = build.start()
        deadline = time.monotonic() + DEADLINE_SECONDS
        said = build.folder / "said.txt"
        while build.num_answered() < 5:
            assert process.poll() is None and time.monotonic() < deadline, said.read_text()
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_SECONDS) == 130, said.read_text()
        assert build.kept() == {one.digest[:NUM_DIGITS] for one in server.answered()}
        assert "go on with: dar build run" in said.read_text()
