"""What no file of the project may hold, and what every shell script must pass."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.sources import OUR_PACKAGES, project_files, python_files

THIS = Path(__file__).resolve().relative_to(ROOT)
TEXT_FILES = [path for path in project_files() if path.stat().st_size < 1_000_000 and path != THIS]

# Loading any of these runs code that the file brings along.
UNSAFE_LOADING = re.compile(
    r"""\b(?:pickle|dill|cloudpickle|joblib|shelve)\.(?:load|loads|open|Unpickler)\b
    | \bimport\s+(?:pickle|dill|cloudpickle|joblib|shelve|marshal)\b
    | \btorch\.load\b
    | \ballow_pickle\s*=\s*True
    | \bweights_only\s*=\s*False
    | \btrust_remote_code\b["']?\s*[=:]\s*[Tt]rue
    | \byaml\.(?:load|unsafe_load|full_load|load_all)\(
    | (?<![.\w])(?:eval|exec)\(""",
    re.VERBOSE,
)
# Home folders and the like of the machine on which a line was written.
ABSOLUTE_PATH = re.compile(
    r"(?<![\w.~$/:}])/(?:home|root|Users|mnt|media|work|workspace|data|scratch)/"
)


def lines_with(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    found = []
    for path in paths:
        text = (ROOT / path).read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if pattern.search(line):
                found.append(f"{path}:{number}: {line.strip()}")
    return found


def test_nothing_is_loaded_that_can_run_code() -> None:
    """Tests may: they pickle what a data loader's processes would."""
    configs = [path for path in TEXT_FILES if path.suffix == ".yaml"]
    assert lines_with(UNSAFE_LOADING, [*python_files(*OUR_PACKAGES), *configs]) == []


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "x = torch.load(path)",
        "np.load(f, allow_pickle=True)",
        "AutoModel.from_pretrained(p, trust_remote_code=True)",
        "trust_remote_code: true",
        '{"trust_remote_code": True}',
        "yaml.load(text)",
        "eval(text)",
    ],
)
def test_the_pattern_finds_unsafe_loading(line: str) -> None:
    assert UNSAFE_LOADING.search(line)


@pytest.mark.parametrize(
    "line", ["model.eval()", "trust_remote_code=False", "yaml.safe_load(x)", "evaluate(x)"]
)
def test_the_pattern_leaves_the_rest_alone(line: str) -> None:
    assert not UNSAFE_LOADING.search(line)


def test_no_path_of_one_machine() -> None:
    paths = [path for path in TEXT_FILES if path.name != ".gitignore"]
    assert lines_with(ABSOLUTE_PATH, paths) == []


def test_no_large_file() -> None:
    large = {path: size for path in project_files() if (size := path.stat().st_size) > 1_000_000}
    assert large == {}


SCRIPTS = [path for path in project_files() if path.suffix == ".sh" or path.parts[0] == ".ci"]


def test_scripts_are_found() -> None:
    assert Path("launch/demo.sh") in SCRIPTS and Path(".ci/run") in SCRIPTS


@pytest.mark.parametrize("path", SCRIPTS, ids=str)
def test_shell_scripts(path: Path) -> None:
    """shellcheck has nothing to say; a failing command or an unset variable ends the script."""
    text = (ROOT / path).read_text(encoding="utf-8")
    assert text.startswith("#!/usr/bin/env bash\n# ")
    assert "\nset -euo pipefail\n" in text
    assert (ROOT / path).stat().st_mode & 0o111, f"{path} is not executable"
    shellcheck = Path(sys.executable).with_name("shellcheck")
    run = subprocess.run(
        [shellcheck, str(ROOT / path)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
