"""Who may import whom, and names that would shadow each other.

The rules are those of CONTRIBUTING.md, section "Layout": `affect` is the leaf, only `affect.model`
knows torch, entry points are imported by nobody.
"""

import importlib.util
import re
import sys
import tomllib
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.sources import (
    OUR_PACKAGES,
    imported_modules,
    is_within,
    module_name,
    project_files,
    python_files,
)

MAY_IMPORT = {
    "affect": {"affect"},
    "data_prep": {"affect", "data_prep"},
    "rewards": {"affect", "rewards"},
    "train": {"affect", "train", "rewards", "evaluation.metrics", "publish"},
    "evaluation": {"affect", "evaluation"},
    "evaluation.suites": {"affect", "evaluation", "reasoners"},
    "reasoners": {"affect", "reasoners"},
    "publish": {"affect", "publish"},
    "speed": set(OUR_PACKAGES),
    "cli": set(OUR_PACKAGES),
}
TORCH_LIKE = {
    "torch", "torchvision", "transformers", "trl", "accelerate", "peft", "deepspeed", "vllm",
    "datasets", "safetensors", "tokenizers", "qwen_vl_utils",
}  # fmt: skip
ENTRY_POINTS = {"train.sft", "train.grpo"}
# Dependencies are found under these names in an installed environment.
STDLIB = set(sys.stdlib_module_names)

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FILES = python_files(*OUR_PACKAGES)


def ours(path: Path) -> set[str]:
    return {name for name in imported_modules(path) if name.split(".")[0] in OUR_PACKAGES}


def rule_of(module: str) -> set[str]:
    rules = [package for package in MAY_IMPORT if is_within(module, package)]
    return MAY_IMPORT[max(rules, key=len)]


@pytest.mark.parametrize("path", FILES, ids=str)
def test_import_directions(path: Path) -> None:
    allowed = rule_of(module_name(path))
    wrong = {
        name for name in ours(path) if not any(is_within(name, package) for package in allowed)
    }
    assert not wrong, f"{path} imports {sorted(wrong)}; allowed are {sorted(allowed)}"


@pytest.mark.parametrize("path", python_files("affect", "rewards"), ids=str)
def test_torch_stays_in_affect_model(path: Path) -> None:
    if is_within(module_name(path), "affect.model"):
        return
    imported = imported_modules(path)
    assert not TORCH_LIKE & {name.split(".")[0] for name in imported}
    assert not [name for name in imported if is_within(name, "affect.model")]


def test_entry_points_are_imported_by_nobody() -> None:
    for path in python_files(*OUR_PACKAGES):
        for name in ours(path):
            assert not any(is_within(name, entry) for entry in ENTRY_POINTS), f"{path}: {name}"


def test_the_walk_sees_every_kind_of_import(tmp_path: Path) -> None:
    source = (
        "import a.b\nfrom c import d\nfrom . import e\nfrom ..f import g\n"
        "def h():\n    import i\n    import_module('j.k')\n    importlib.import_module('l')\n"
        "if TYPE_CHECKING:\n    from m import n as o\n"
    )
    path = ROOT / "affect" / "video"
    relative = Path(*path.relative_to(ROOT).parts, "never_on_disk.py")
    (tmp_path / relative).parent.mkdir(parents=True)
    (tmp_path / relative).write_text(source)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.sources.ROOT", tmp_path)
        found = imported_modules(relative)
    assert found == {"a.b", "c.d", "affect.video.e", "affect.f.g", "i", "j.k", "l", "m.n"}


def test_no_file_in_train_shadows_anything() -> None:
    """`accelerate launch train/grpo.py` puts train/ first on the path, before everything else."""
    dependencies = set(metadata.packages_distributions())
    taken = {"dependency": dependencies - set(OUR_PACKAGES), "standard module": STDLIB}
    taken["top-level folder"] = {path.parts[0] for path in project_files() if len(path.parts) > 1}
    for path in python_files("train"):
        for kind, names in taken.items():
            assert path.stem not in names, f"{path} is called like a {kind}"


def test_every_package_is_ours() -> None:
    for package in PROJECT["tool"]["setuptools"]["packages"]:
        spec = importlib.util.find_spec(package)
        assert spec and spec.origin
        assert Path(spec.origin).resolve() == (ROOT / Path(*package.split("."), "__init__.py"))


def test_every_package_is_listed() -> None:
    on_disk = {module_name(path) for path in FILES if path.name == "__init__.py"}
    assert sorted(PROJECT["tool"]["setuptools"]["packages"]) == sorted(on_disk)
    folders = {path.parent for path in FILES}
    assert folders == {path.parent for path in FILES if path.name == "__init__.py"}


def test_prompts_and_other_data_files_are_packaged() -> None:
    """A file that is no Python inside a package reaches an installed copy only if it is named."""
    patterns = PROJECT["tool"]["setuptools"]["package-data"]
    for path in project_files():
        if path.parts[0] in OUR_PACKAGES and path.suffix != ".py":
            globs = patterns.get(".".join(path.parent.parts), [])
            assert any(path.match(glob) for glob in globs), f"{path} is in no package-data"


def requirement_name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~\[;]", text, maxsplit=1)[0]).lower()


def test_every_import_is_a_declared_dependency() -> None:
    declared = {requirement_name(text) for text in PROJECT["project"]["dependencies"]}
    for extra in PROJECT["project"]["optional-dependencies"].values():
        declared |= {requirement_name(text) for text in extra}
    # safetensors and tokenizers are transformers' own formats and come with it; vLLM has an
    # environment of its own (requirements-vllm.txt); flash-attn is built by its user for his GPU,
    # and asked for by name only.
    declared |= {"safetensors", "tokenizers", "vllm", "flash-attn"}
    distributions = metadata.packages_distributions()
    for path in python_files(*OUR_PACKAGES, "tests"):
        for module in {name.split(".")[0] for name in imported_modules(path)}:
            if module in STDLIB or module in OUR_PACKAGES or module in {"", "tests"}:
                continue
            names = {requirement_name(name) for name in distributions.get(module, [module])}
            assert names & declared, f"{path} imports {module}, which pyproject.toml does not list"


def test_the_environment_is_the_pinned_one() -> None:
    """What the other tests say holds for these versions; an older environment says `make test`."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    installed = {requirement_name(dist.name): dist.version for dist in metadata.distributions()}
    wrong = {
        name: (installed[requirement_name(name)], version)
        for name, version in pins.items()
        if installed.get(requirement_name(name), version) != version
    }
    assert not wrong, f"(installed, pinned): {wrong}"


def test_pins_cover_what_is_declared() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pin) == 2 and pin[1] for pin in pins)
    names = {requirement_name(name) for name, _ in pins}
    assert len(names) == len(pins), "a package is pinned twice"
    own = requirement_name(PROJECT["project"]["name"])
    groups = [PROJECT["project"]["dependencies"]]
    groups += PROJECT["project"]["optional-dependencies"].values()
    for text in (text for group in groups for text in group):
        assert requirement_name(text) in names | {own}, f"{text} has no pin in constraints.txt"


def test_no_folder_of_tests_is_passed_over() -> None:
    """pytest's own list of folders that it does not enter has `build`; ours must hide no test."""
    options = PROJECT["tool"]["pytest"]["ini_options"]
    names = {part for path in python_files("tests") for part in path.parts[:-1]}
    hidden = {
        name for name in names for pattern in options["norecursedirs"] if fnmatch(name, pattern)
    }
    assert "build" in names and not hidden
