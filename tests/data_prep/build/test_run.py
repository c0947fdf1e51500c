"""`dar build run` as a user meets it: exit codes, what it refuses, what it prints, Ctrl-C."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from affect.llm.scripted.process import ScriptedServer
from data_prep.build import run
from data_prep.build.lock import held
from tests.data_prep.build.test_killed import ANSWERS, DEADLINE_SECONDS, NUM_DIGITS, Run
from tests.data_prep.picture.drawn import pan, write_frames

ROLES = ("propose", "verify", "describe", "tag", "reason")


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    folder.mkdir()
    for number in range(2):
        pictures = [np.ascontiguousarray(picture[:176:4, ::4]) for picture in pan(number, 30)]
        write_frames(folder / f"{number}.mp4", pictures)
    return folder


def configuration(tmp_path: Path, videos: Path, **settings: Any) -> Path:
    path = tmp_path / "build.yaml"
    given = {
        "out": str(tmp_path / "build"),
        "annotator": "offline",
        "videos": {"root": str(videos)},
        "engine": {"decode_timeout_seconds": 0},
        "export": {"with_videos": False},
        **settings,
    }
    path.write_text(json.dumps(given))
    return path


def test_drafts_of_a_folder(
    tmp_path: Path, videos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (videos / "broken.mp4").write_bytes(b"no clip")
    config = configuration(tmp_path, videos)
    assert run.main(["--config", str(config)]) == run.FAILURES
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "3 videos, 3 came out (0 known before)"
    assert "  failed         1  look: undecodable" in printed
    rows = (tmp_path / "build" / "export").glob("*.sft.jsonl")
    assert sum(path.read_text().count("\n") for path in rows) == 2
    # The resolved configuration in the folder does as well.
    (videos / "broken.mp4").unlink()
    resolved = tmp_path / "build" / "config.yaml"
    assert run.main(["--config", str(resolved)]) == 0
    assert capsys.readouterr().out.startswith("2 videos, 2 came out (2 known before)")
    environment = json.loads((tmp_path / "build" / "environment.json").read_text())
    assert environment["command"] == ["dar", "build", "run", "--config", str(resolved)]
    # A build is one folder's and one annotator's.
    (tmp_path / "others").mkdir()
    for change in (["--videos.root", str(tmp_path / "others")], ["--annotator", "rendered"]):
        assert run.main(["--config", str(config), *change]) == run.USER_MISTAKE
        said = capsys.readouterr().err
        assert f"{change[0].removeprefix('--')}: " in said and "give another --out" in said


def test_a_second_process_is_refused(
    tmp_path: Path, videos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = configuration(tmp_path, videos)
    with held(tmp_path / "build" / "lock"):
        assert run.main(["--config", str(config)]) == run.USER_MISTAKE
    assert f"process {os.getpid()} builds here" in capsys.readouterr().err
    assert not (tmp_path / "build" / "journal.sqlite").exists()


def test_help_shows_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run.main(["--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert "--decide.threshold (float)" in printed and "paper.yaml" in printed


def models(server: ScriptedServer, **model: Any) -> dict[str, Any]:
    each = {"base_url": server.base_url, "max_concurrent": 1, **model}
    return {
        "annotator": "models",
        "roles": {**dict.fromkeys(ROLES, "author"), "judges": ["first", "second"]},
        "models": {name: {"model": name, **each} for name in ("author", "first", "second")},
    }


def test_a_spent_budget_is_said_and_more_goes_on(
    tmp_path: Path, videos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every token costs 1 here, so the first replies spend it."""
    prices = {"price_per_million_prompt_tokens": 1e6, "price_per_million_completion_tokens": 1e6}
    with ScriptedServer("openai", ANSWERS, tmp_path) as server:
        settings = {**models(server, **prices), "limits": {"max_cost": 2000.0}}
        config = ["--config", str(configuration(tmp_path, videos, **settings))]
        assert run.main(config) == run.BUDGET_SPENT
        printed = capsys.readouterr().out
        assert "of limits.max_cost (2000) is spent; go on with: dar build run" in printed
        assert printed.endswith("--limits.max_cost MORE\n")
        num_first = len(server.answered())
        assert 1 <= num_first < 20
        assert run.main(config) == run.BUDGET_SPENT
        assert len(server.answered()) == num_first
        assert run.main([*config, "--limits.max_cost", "null"]) == 0
        paid = sum(
            (one.prompt_tokens or 0) + (one.completion_tokens or 0) for one in server.answered()
        )
        assert f"cost {paid:.2f} in all runs" in capsys.readouterr().out
        digests = [one.digest for one in server.answered()]
        assert len(digests) == len(set(digests)) > num_first


def test_a_limit_that_cannot_be_kept_is_refused(
    tmp_path: Path, videos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = {"base_url": "http://127.0.0.1:9/v1"}
    settings = {
        "annotator": "models",
        "roles": {**dict.fromkeys(ROLES, "author"), "judges": ["first", "second"]},
        "models": {name: {"model": name, **model} for name in ("author", "first", "second")},
        "limits": {"max_cost": 1.0},
    }
    config = configuration(tmp_path, videos, **settings)
    assert run.main(["--config", str(config)]) == run.USER_MISTAKE
    assert "models.author: limits.max_cost is 1, but the price" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_every_answer(
    tmp_path: Path, videos: Path, number: signal.Signals
) -> None:
    with ScriptedServer("openai", ANSWERS, tmp_path, latency_seconds=0.2) as server:
        build = Run(tmp_path / "run", videos, server)
        process = build.start()
        deadline = time.monotonic() + DEADLINE_SECONDS
        while build.num_answered() < 5:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(number)
        assert process.wait(DEADLINE_SECONDS) == run.INTERRUPTED
        answered = [one.digest[:NUM_DIGITS] for one in server.answered()]
        assert build.kept() == set(answered)
        assert "go on with: dar build run" in (build.folder / "said.txt").read_text()
        assert build.start().wait(DEADLINE_SECONDS) == 0
        answered = [one.digest[:NUM_DIGITS] for one in server.answered()]
        assert len(answered) == len(set(answered))


@pytest.mark.slow
def test_the_second_interrupt_ends_at_once(tmp_path: Path, videos: Path) -> None:
    with ScriptedServer("openai", ANSWERS, tmp_path, latency_seconds=60.0) as server:
        build = Run(tmp_path / "run", videos, server)
        process = build.start()
        deadline = time.monotonic() + DEADLINE_SECONDS
        said = build.folder / "said.txt"
        while not any(build.out.glob("frames/*/*.zip")):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        while "stopping: nothing new begins" not in said.read_text():
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE_SECONDS) == -signal.SIGINT
