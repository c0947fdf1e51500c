"""`dar publish model`: what it prints, how it ends, and its push to a hub that is really there."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import huggingface_hub.constants
import pytest
from safetensors.torch import load_file

from affect.run_folder import RunFolder
from affect.weights_hash import sha256_of_weights
from cli.main import main as dar
from publish.__main__ import main
from publish.pushed import is_pushed
from tests.publish import hub_server
from tests.publish.hub_server import TOKEN, HubServer
from tests.publish.runs import make_run, save_base

REPO = "me/dar-tiny"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("runs")
    return make_run(folder / "sft", save_base(folder / "base"))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with HubServer() as server:
        # What huggingface_hub takes from the environment when it is imported.
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server


def written(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_exported_pushed_and_pushed_again(
    hub: HubServer, run: RunFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run.export
    command = ["publish", "model", str(run.path)]
    assert dar(command) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == [
        f"exporting {run.final} to {out}",
        f"done: {out}; loaded back, logits differ by at most 0",
    ]
    assert hub.calls == []

    push = [*command, "--push-to", REPO, "--private"]
    with hub.failing(hub_server.COMMIT):
        assert dar(push) == 1
    told = capsys.readouterr()
    assert told.out.splitlines() == [f"{out} is done already", f"pushing {out} to {REPO}"]
    assert f"The export is whole in {out}; to push it again:" in told.err
    [again] = [line for line in told.err.splitlines() if line.startswith("  dar ")]
    assert shlex.split(again) == ["dar", *push]
    assert "403" in told.err and TOKEN not in told.err + told.out
    assert not is_pushed(run, REPO) and hub.repos[REPO].files == {}

    assert dar(shlex.split(again)[1:]) == 0
    assert hub.repos[REPO].private and hub.repos[REPO].files == written(out)
    assert capsys.readouterr().out.splitlines()[-1].startswith(f"pushed: {hub.url}/{REPO} at ")
    assert is_pushed(run, REPO) and not is_pushed(run, "me/other")
    pushed = json.loads((run.path / "pushed.json").read_text())
    assert pushed["sha256"] == sha256_of_weights(out) and pushed["repo_id"] == REPO
    everything = b"".join(path.read_bytes() for path in run.path.rglob("*") if path.is_file())
    assert TOKEN.encode() not in everything


@pytest.mark.slow
def test_the_command_to_push_again_keeps_what_was_chosen(
    hub: HubServer, run: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "a place"
    chosen = [
        *("--out", str(out), "--dtype", "bfloat16", "--max-shard-size", "300KB"),
        *("--license", "mit", "--push-to", REPO),
    ]
    with hub.failing(hub_server.PREUPLOAD):
        assert main(["model", str(run.path), *chosen]) == 1
    [again] = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  dar ")]
    before = written(out)
    assert dar(shlex.split(again)[1:]) == 0
    assert f"{out} is done already" in capsys.readouterr().out
    assert hub.repos[REPO].files == before == written(out)
    assert before["README.md"].startswith(b"---\nlicense: mit\n")


def test_a_push_that_can_t_be_is_refused_before_the_work(
    run: RunFolder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    command = ["model", str(run.path), "--out", str(tmp_path / "out")]
    for given, message in (
        (["--push-to", REPO], "environment variable HF_TOKEN"),
        (["--push-to", "dar"], "a repository is named owner/name"),
        (["--private"], "--push-to"),
        (["--base", "no/where"], "--base no/where: is no folder here"),
    ):
        assert main([*command, *given]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [[], ["model"], ["data", "x"], ["model", "x", "--dtype", "int8"], ["model", "x", "--max", "1"],
     ["model", "x", "--max-shard-size", "5"], ["model", "x", "--max-shard-size", "0GB"]],
    ids=str,
)  # fmt: skip
def test_mistakes_in_the_call(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: dar publish" in capsys.readouterr().err


def test_no_such_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", str(tmp_path / "nowhere")]) == 2
    assert capsys.readouterr().err == (
        f"dar publish: {tmp_path / 'nowhere'}: there is no such folder; name the folder of a run "
        "of train/sft.py or train/grpo.py\n"
    )


@pytest.mark.slow
def test_a_base_that_is_not_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = make_run(tmp_path / "sft", "nobody-has-this/model-here")
    assert main(["model", str(run.path)]) == 0
    assert "tensor names were not compared" in capsys.readouterr().out
    assert "base_model: nobody-has-this/model-here\n" in (run.export / "README.md").read_text()


@pytest.mark.slow
def test_as_a_user_types_it(run: RunFolder, tmp_path: Path) -> None:
    """A process of its own in another folder, which holds a folder called publish."""
    (tmp_path / "publish").mkdir()
    (tmp_path / "publish" / "__init__.py").write_text("raise SystemExit('not ours')")
    out = tmp_path / "out"
    program = Path(sys.executable).with_name("dar")
    arguments = ["publish", "model", str(run.path), "--out", str(out), "--push-to", REPO]
    with HubServer() as hub:
        environment = {**os.environ, **hub.environment(), "CUDA_VISIBLE_DEVICES": ""}
        result = subprocess.run(
            [program, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr[-3000:]
        assert TOKEN not in result.stdout + result.stderr
        files = hub.repos[REPO].files
    assert files == written(out)
    downloaded = tmp_path / "downloaded"
    downloaded.mkdir()
    for name, content in files.items():
        (downloaded / name).write_bytes(content)
    assert (
        load_file(downloaded / "model.safetensors").keys()
        == load_file(out / "model.safetensors").keys()
    )
