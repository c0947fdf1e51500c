"""What users get wrong around `dar build`: told by name, and without marks on what is there."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from affect.config import load_config
from data_prep.build import export, run
from data_prep.build.config import BuildConfig
from tests.data_prep.build.test_candidates import labels
from tests.data_prep.picture.drawn import pan, write_frames


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "videos").mkdir()
    return tmp_path


def configuration(**settings: Any) -> str:
    """Relative paths, as people write them."""
    given = {
        "out": "build",
        "annotator": "offline",
        "videos": {"root": "videos"},
        "engine": {"decode_timeout_seconds": 0},
        "export": {"with_videos": False},
        **settings,
    }
    Path("build.yaml").write_text(json.dumps(given))
    return "build.yaml"


def with_models(**author: Any) -> str:
    roles = ("propose", "verify", "describe", "tag", "reason")
    models = {name: {"model": name} for name in ("author", "first", "second")}
    models["author"] |= author
    judges = {**dict.fromkeys(roles, "author"), "judges": ["first", "second"]}
    return configuration(annotator="models", roles=judges, models=models)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What a refused command says."""
    try:
        assert run.main(arguments) == run.USER_MISTAKE
    except SystemExit as end:
        assert end.code == run.USER_MISTAKE
    return capsys.readouterr().err


def test_a_mistyped_root_leaves_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "--config", configuration(), "--videos.root", "vidoes")
    assert said == f"dar build run: videos.root: {here}/vidoes is no folder; " + (
        "name the one with the videos\n"
    )
    assert not Path("build").exists()


def test_a_root_without_videos_is_refused_and_not_the_builds(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    Path("empty/.hidden.mp4").touch()
    config = configuration()
    said = told(capsys, "--config", config, "--videos.root", "empty")
    assert f"videos.root: {here}/empty has no file that videos.include names (**/*)" in said
    assert not Path("build/export").exists()
    write_frames(Path("videos/clip.mp4"), pan(1, 30))
    said = told(capsys, "--config", config, "--videos.include", "[clips/*]")
    assert "(clips/*)" in said
    # The right folder is still welcome.
    assert run.main(["--config", config]) == 0


def test_going_on_from_another_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_frames(Path("videos/clip.mp4"), pan(1, 30))
    assert run.main(["--config", configuration()]) == 0
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    assert run.main(["--config", "../build/config.yaml"]) == 0
    assert export.main(["../build"]) == 0
    assert (here / "build" / "export" / "done.json").is_file()
    assert not list((here / "elsewhere").iterdir())


def test_all_paths_are_made_absolute(here: Path) -> None:
    given = {"out": "b", "annotator": "offline", "videos.root": "v", "videos.labels": ["l.json"]}
    config = load_config(BuildConfig, None, {**given, "ground.weights": "dino"})
    whole = config.with_absolute_paths()
    assert whole.out == here / "b"
    assert whole.videos.root == here / "v" and whole.videos.labels == (here / "l.json",)
    assert whole.ground.weights == here / "dino"
    assert whole.with_absolute_paths() == whole
    none = load_config(BuildConfig, None, given).with_absolute_paths()
    assert none.ground.weights is None


@pytest.mark.parametrize("out", ["taken", "taken/below"])
def test_an_out_that_is_no_folder(here: Path, out: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("taken").write_text("mine")
    said = told(capsys, "--config", configuration(), "--out", out)
    assert f"out: {here}/{out} cannot be written into (" in said and "another --out" in said


def test_an_out_that_may_not_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """root may write anywhere, so the system's answer is given here."""
    Path("build").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "(no permission to write)" in told(capsys, "--config", configuration())


def test_a_model_section_knows_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "--config", with_models(medai="files"))
    assert 'unknown key "models.author.medai"; did you mean "models.author.media"?' in said
    config = with_models()
    said = told(capsys, "--config", config, "--models.first.bas_url", "http://127.0.0.1:1")
    assert '--models.first.bas_url: unknown key "models.first.bas_url"; did you mean ' in said


def test_an_address_is_a_url(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "--config", with_models(base_url="gpu7:8000/v1"))
    assert "models.author.base_url: must begin with http:// or https://" in said


def test_a_fault_of_several_sections_is_not_laid_on_an_option(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = told(capsys, "--config", with_models(), "--out", "x", "--roles.judges", "[first, first]")
    assert said.startswith("dar build run: build.yaml: roles.judges: both are the same model")


def test_one_name_where_a_list_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "--config", configuration(), "--videos.labels", "labels.json")
    assert "--videos.labels: Input should be a list, as in [first, second]" in said


def test_help_shows_how_a_model_is_reached(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--help"])
    shown = capsys.readouterr().out
    assert "models.NAME: One model, under a name that roles call it by." in shown
    assert "--models.NAME.requests_per_minute (float | None)" in shown
    assert "--models.NAME.model (str)\n      The name the server knows. [required]" in shown


def test_export_of_a_folder_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert export.main(["nowhere"]) == run.USER_MISTAKE
    assert capsys.readouterr().err == (
        "dar build export: nowhere: no build lies there (no config.yaml)\n"
    )


def test_labels_of_other_videos_are_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_frames(Path("videos/clip.mp4"), pan(1, 30))
    labels(here / "labels.json", other=["Fear", "Joy", "Horror"])
    config = configuration(videos={"root": "videos", "labels": ["labels.json"]})
    said = told(capsys, "--config", config)
    assert "videos.labels: no file under videos.root is labelled there, 'clip.mp4' for one" in said
    labels(here / "labels.json", clip=["Fear", "Joy", "Horror"])
    assert run.main(["--config", config]) == 0


@pytest.mark.parametrize("engine", ["asyncio", "ray"])
def test_a_missing_key_is_a_mistake_whoever_runs_the_stages(
    engine: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_frames(Path("videos/0.mp4"), pan(0, 30))
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    config = with_models(api_key_env="NO_SUCH_KEY", base_url="http://127.0.0.1:9/v1")
    said = told(capsys, "--config", config, "--engine.name", engine)
    assert "NO_SUCH_KEY" in said and "Traceback" not in said
