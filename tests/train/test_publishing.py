"""`push_to_hub` in a trainer's configuration: one push of the export at the end, or a refusal."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trl import GRPOConfig, SFTConfig

from affect.config import load_config
from affect.run_folder import RunFolder
from publish.record import read_record
from tests.paths import ROOT
from tests.publish import hub_server
from tests.publish.hub_server import TOKEN, HubServer
from tests.train.launching import (
    GLOO,
    ONE_PROCESS,
    Places,
    entry,
    launch,
    make_places,
    sharded,
    start_arguments,
)
from train.grpo_config import GrpoRun
from train.publishing import publish_finished, wants_push, without_push
from train.run_start import open_run, trl_arguments
from train.sft_config import SftRun

REPO = "me/dar-tiny"
PUSH = {"push_to_hub": True, "hub_model_id": REPO}


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    yield TOKEN


def sft_run(folder: Path, **trainer: Any) -> SftRun:
    given = {f"trainer.{name}": value for name, value in trainer.items()}
    return load_config(SftRun, ROOT / "configs/sft/demo.yaml", {"run_dir": str(folder), **given})


@pytest.mark.parametrize("trainer", [{}, {"push_to_hub": False}, {"hub_model_id": REPO}], ids=str)
def test_no_push(trainer: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    assert not wants_push(trainer)


@pytest.mark.parametrize(
    ("trainer", "message"),
    [
        ({"push_to_hub": True}, "needs trainer.hub_model_id"),
        ({"push_to_hub": True, "hub_model_id": 3}, "needs trainer.hub_model_id"),
        ({"push_to_hub": True, "hub_model_id": "dar"}, "owner/name"),
        ({**PUSH, "hub_strategy": "every_save"}, "trainer.hub_strategy is not read"),
        ({**PUSH, "hub_always_push": True}, "trainer.hub_always_push is not read"),
        ({**PUSH, "hub_revision": "x"}, "trainer.hub_revision is not read"),
    ],
)
def test_a_push_that_could_not_be(trainer: dict[str, Any], message: str, token: str) -> None:
    with pytest.raises(ValueError, match=message):
        wants_push(trainer)


def test_a_token_is_needed_before_hours_of_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(ValueError, match="environment variable HF_TOKEN"):
        trl_arguments(SFTConfig, sft_run(tmp_path, **PUSH), RunFolder(tmp_path))
    monkeypatch.setenv("RANK", "1")  # it is the first process that pushes
    assert wants_push(PUSH)


def test_a_token_in_the_configuration_is_refused_and_not_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from train.sft import main

    with pytest.raises(
        ValueError, match="hub_token is set by the run itself; use the env"
    ) as caught:
        sft_run(tmp_path, hub_token="hf_InTheConfig")
    assert "hf_InTheConfig" not in str(caught.value)
    config = str(ROOT / "configs/sft/demo.yaml")
    arguments = ["--config", config, "--run_dir", str(tmp_path / "run")]
    with pytest.raises(SystemExit):
        main([*arguments, "--trainer.hub_token", "hf_InTheConfig"])
    printed = capsys.readouterr()
    assert "hf_InTheConfig" not in printed.out + printed.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["sft", "grpo"])
def test_the_trainer_itself_uploads_nothing(tmp_path: Path, kind: str, token: str) -> None:
    run_class, arguments = {"sft": (SftRun, SFTConfig), "grpo": (GrpoRun, GRPOConfig)}[kind]
    given = {f"trainer.{name}": value for name, value in PUSH.items()}
    config = ROOT / "configs" / kind / "demo.yaml"
    run = load_config(run_class, config, {"run_dir": str(tmp_path), **given})
    assert trl_arguments(arguments, run, RunFolder(tmp_path)).push_to_hub is False
    assert without_push(run.trainer).keys() == run.trainer.keys() - {"push_to_hub"}


def test_a_finished_run_may_be_pushed_elsewhere(
    tmp_path: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a run computed does not hang on where it goes."""
    for name in ("WANDB_DIR", "TENSORBOARD_LOGGING_DIR", "TRACKIO_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    folder = open_run(sft_run(tmp_path / "run"), [])
    assert folder is not None
    folder.write_done({"steps": 3})
    assert open_run(sft_run(tmp_path / "run", **PUSH, hub_private_repo=True), []) is None


def test_only_the_first_process_pushes(
    tmp_path: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    monkeypatch.setattr("subprocess.run", lambda *command, **how: started.append((command, how)))
    monkeypatch.setenv("RANK", "1")
    assert publish_finished(sft_run(tmp_path, **PUSH)) == 0
    assert publish_finished(sft_run(tmp_path)) == 0
    assert started == []


# --- the whole way ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    return make_places(tmp_path_factory.mktemp("publishing"))


def pushing(places: Places, folder: Path, **trainer: Any) -> list[str]:
    settings = {**PUSH, "max_steps": 2, "save_steps": 1, "warmup_steps": 0, **trainer}
    words = [f"--trainer.{name}={json.dumps(value)}" for name, value in settings.items()]
    return start_arguments("sft", folder, *places.drawn(model=places.base), *words)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_push_that_fails_is_done_by_the_same_command(places: Places, tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    arguments = pushing(places, run.path, hub_private_repo=True)
    with HubServer() as hub:
        with hub.failing(hub_server.COMMIT):
            result = launch(ONE_PROCESS, entry("sft"), arguments, **hub.environment())
        assert result.returncode != 0
        assert run.is_done, result.stderr[-5000:]
        assert read_record(run.export).num_tensors > 0
        assert f"dar publish model {run.path} --push-to {REPO} --private" in result.stderr
        assert hub.repos[REPO].files == {}
        # Checkpoints were saved at each step, and none of them was sent anywhere.
        assert hub.calls.count(hub_server.COMMIT) == hub.calls.count(hub_server.CREATE) == 1

        again = launch(ONE_PROCESS, entry("sft"), arguments, **hub.environment())
        assert again.returncode == 0, again.stderr[-3000:]
        assert hub.repos[REPO].private
        assert set(hub.repos[REPO].files) == set(os.listdir(run.export))
        num_calls = len(hub.calls)
        once_more = launch(ONE_PROCESS, entry("sft"), arguments, **hub.environment())
        assert once_more.returncode == 0 and len(hub.calls) == num_calls
    for start in (result, again, once_more):
        assert TOKEN not in start.stdout + start.stderr
    texts = b"".join(path.read_bytes() for path in run.path.rglob("*") if path.is_file())
    assert TOKEN.encode() not in texts


@pytest.mark.slow
@pytest.mark.timeout(900)  # DeepSpeed may compile for a minute
@pytest.mark.parametrize("stage", [2, 3])
def test_one_of_several_processes_pushes_and_the_others_wait(
    places: Places, tmp_path: Path, stage: int
) -> None:
    pytest.importorskip("deepspeed")
    run = RunFolder(tmp_path / "run")
    arguments = [*pushing(places, run.path, per_device_train_batch_size=2), *GLOO]
    with HubServer() as hub:
        launcher, variables = sharded(stage, tmp_path), {"DS_ACCELERATOR": "cpu"}
        if stage == 2:
            with hub.failing(hub_server.CREATE):
                result = launch(launcher, entry("sft"), arguments, **variables, **hub.environment())
            assert result.returncode != 0 and "to push it again" in result.stderr
            assert hub.calls.count(hub_server.CREATE) == 1
        else:
            result = launch(launcher, entry("sft"), arguments, **variables, **hub.environment())
            assert result.returncode == 0, result.stderr[-5000:]
            assert hub.calls.count(hub_server.CREATE) == hub.calls.count(hub_server.COMMIT) == 1
            assert set(hub.repos[REPO].files) == set(os.listdir(run.export))
    record = read_record(run.export)
    assert record.base_names_compared and record.check.load_back_difference == 0
