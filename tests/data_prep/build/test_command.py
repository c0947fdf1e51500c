"""`dar build` and its verbs: quick, lazy, each with a `main`."""

import ast
import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

from data_prep.build.__main__ import VERBS, main
from data_prep.build.export import main as export
from tests.data_prep.picture.drawn import pan, write_frames
from tests.paths import ROOT


def test_help_has_one_line_per_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr().out
    for name, verb in VERBS.items():
        assert f"  {name:<9} {verb.meaning}\n" in printed


def test_no_verb_and_an_unknown_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["biuld"]) == 2
    assert 'dar build: unknown verb "biuld"' in capsys.readouterr().err


def test_a_verb_gets_its_own_arguments_and_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def target(argv: list[str]) -> int:
        seen.append(argv)
        return 7

    module = types.ModuleType(VERBS["sheets"].module)
    module.main = target  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, VERBS["sheets"].module, module)
    assert main(["sheets", "--out", "x"]) == 7
    assert main(["ratings", "y"]) == 7
    assert seen == [["write", "--out", "x"], ["read", "y"]]


@pytest.mark.parametrize("name", VERBS)
def test_each_target_offers_main(name: str) -> None:
    path = ROOT.joinpath(*VERBS[name].module.split(".")).with_suffix(".py")
    mains = [n for n in ast.parse(path.read_text()).body if getattr(n, "name", "") == "main"]
    assert len(mains) == 1


def test_help_loads_no_stage() -> None:
    code = (
        "import sys; from data_prep.build.__main__ import main; main(['--help']); "
        "sys.exit('data_prep.stages' in sys.modules or 'cv2' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert run.returncode == 0


def run_without(
    packages: list[str], arguments: list[str], folder: Path
) -> subprocess.CompletedProcess[str]:
    """`dar build` in this folder, as if the packages were not installed."""
    code = (
        f"import sys; sys.path[:0] = [{str(ROOT)!r}]; "
        f"sys.modules.update(dict.fromkeys({packages!r})); "
        f"from data_prep.build.__main__ import main; sys.exit(main({arguments!r}))"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("PIL", [], "data"),
        ("matplotlib", [], "data"),
        ("ray", ["--engine.name", "ray"], "ray"),
        ("transformers", ["--annotator", "models", "--ground.weights", "{weights}"], "eval"),
    ],
)
def test_a_missing_extra_is_named(
    tmp_path: Path, missing: str, arguments: list[str], extra: str
) -> None:
    videos = tmp_path / "videos"
    videos.mkdir()
    (videos / "broken.mp4").write_bytes(b"no clip")
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "model.safetensors").touch()
    given = ["run", "--config", "build.yaml", *arguments]
    given = [argument.format(weights=weights) for argument in given]
    roles = ("propose", "verify", "describe", "tag", "reason")
    config = {
        "out": str(tmp_path / "build"),
        "annotator": "offline",
        "videos": {"root": str(videos)},
        "roles": {**dict.fromkeys(roles, "author"), "judges": ["first", "second"]},
        "models": {name: {"model": name} for name in ("author", "first", "second")},
    }
    (tmp_path / "build.yaml").write_text(json.dumps(config))
    run = run_without([missing], given, tmp_path)
    told = f"dar build: {missing} is not installed: pip install -e '.[{extra}]'\n"
    assert (run.returncode, run.stderr[-len(told) :]) == (2, told)


def test_drafts_need_no_model_library(tmp_path: Path) -> None:
    """The whole verb with nothing but the extra `data`, clients included."""
    (tmp_path / "videos").mkdir()
    write_frames(tmp_path / "videos" / "clip.mp4", pan(1, 30))
    others = ["torch", "transformers", "trl", "ray", "openai", "google.genai", "aiohttp", "scipy"]
    offline = str(ROOT / "configs" / "build" / "offline.yaml")
    arguments = ["run", "--config", offline, "--videos.root", "videos", "--out", "build"]
    run = run_without(others, arguments, tmp_path)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "build" / "export" / "done.json").is_file()


def test_export_of_what_is_no_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export([str(tmp_path)]) == 2
    assert "config.yaml" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
