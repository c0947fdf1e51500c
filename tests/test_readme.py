"""README and other pages against the disk: the file tree, paths and commands they name."""

import re
from pathlib import Path

import pytest

from tests.paths import ROOT
from tests.readme_tree import describe, render_tree, shown_paths, tree_in
from tests.sources import project_files

PAGES = [path for path in project_files() if path.suffix == ".md"]
PATH_IN_TEXT = re.compile(
    r"(?<![\w/.*-])((?:affect|cli|configs|data_prep|docs|evaluation|launch|publish|reasoners|rewards"
    r"|speed|tests|train)/[\w/.-]*\w|[A-Z]+\.md|LICENSE|Makefile)"
)
MODULE_IN_TEXT = re.compile(
    r"python -m ((?:affect|cli|data_prep|evaluation|publish|rewards|speed|tests)[\w.]*)"
)


def test_the_tree_equals_the_disk() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert tree_in(readme) == render_tree(), "run: python -m tests.readme_tree --write"


@pytest.mark.parametrize("path", shown_paths(), ids=str)
def test_every_line_of_the_tree_says_something(path: Path) -> None:
    assert len(describe(path)) > 4


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_paths_that_a_page_names_exist(page: Path) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = {match.rstrip(".") for match in PATH_IN_TEXT.findall(text)}
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_modules_that_a_page_starts_exist(page: Path) -> None:
    for module in MODULE_IN_TEXT.findall((ROOT / page).read_text(encoding="utf-8")):
        path = ROOT / Path(*module.split("."))
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module
