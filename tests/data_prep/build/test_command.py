"""`dar build` and its verbs: quick, lazy, each with a `main`."""

import ast
import subprocess
import sys
import types
from pathlib import Path

import pytest

from data_prep.build.__main__ import VERBS, main
from data_prep.build.export import main as export
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


def test_export_of_what_is_no_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert export([str(tmp_path)]) == 2
    assert "config.yaml" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
