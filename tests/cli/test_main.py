"""The `dar` command: fast, lazy, and clear about what it does not know."""

import ast
import subprocess
import sys
import types

import pytest

from cli.main import VERBS, main
from tests.paths import ROOT


def test_help_has_one_line_per_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for name, verb in VERBS.items():
        lines = [line for line in printed.out.splitlines() if line.startswith(f"  {name} ")]
        assert lines == [f"  {name:<8} {verb.meaning}"]
        assert len(lines[0]) <= 100


def test_no_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: dar VERB" in capsys.readouterr().err


def test_unknown_verb(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predit"]) == 2
    assert capsys.readouterr().err == (
        'dar: unknown verb "predit", did you mean "predict"?; see dar --help\n'
    )
    assert main(["xyzzy"]) == 2
    assert capsys.readouterr().err == 'dar: unknown verb "xyzzy"; see dar --help\n'


def test_ctrl_c_while_a_verb_is_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(_module: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("affect.verbs.import_module", stop)
    assert main(["score"]) == 130
    assert capsys.readouterr().err == "dar score: interrupted\n"


def test_a_verb_gets_the_rest_and_its_code_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []

    def target(argv: list[str] | None = None) -> int:
        assert argv is not None
        seen.append(argv)
        return 7

    module = types.ModuleType("evaluation.score")
    module.main = target  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "evaluation.score", module)
    assert main(["score", "--help", "x"]) == 7
    assert seen == [["--help", "x"]]


@pytest.mark.parametrize("name", VERBS)
def test_each_target_offers_main(name: str) -> None:
    """Read, not imported: some of them load torch."""
    tree = ast.parse(ROOT.joinpath(*VERBS[name].module.split(".")).with_suffix(".py").read_text())
    mains = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "main"]
    assert [len(main.args.args) for main in mains] == [1]
    assert len(mains[0].args.defaults) == 1


def test_help_imports_nothing_but_the_verbs() -> None:
    code = (
        "import sys; from cli.main import main; main(['--help']);"
        "loaded = {name.partition('.')[0] for name in sys.modules"
        " if name not in {'affect', 'affect.verbs'}};"
        "ours = {'affect', 'data_prep', 'train', 'evaluation', 'rewards'};"
        "heavy = {'torch', 'transformers', 'numpy', 'av', 'pydantic'};"
        "sys.exit(len((ours | heavy) & loaded))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert run.returncode == 0
