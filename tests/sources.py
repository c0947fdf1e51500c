"""The project's own files, as git sees them, and what each Python file imports.

Example: `for path in python_files("train"): imported_modules(path)`.
"""

import ast
import subprocess
from functools import cache
from pathlib import Path

from tests.paths import ROOT

OUR_PACKAGES = (
    "affect", "data_prep", "rewards", "train", "evaluation", "reasoners", "publish", "speed", "cli",
)  # fmt: skip


@cache
def project_files() -> tuple[Path, ...]:
    """Every file that is or would be committed, relative to the checkout, sorted."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = (Path(name) for name in run.stdout.split("\0") if name)
    return tuple(sorted(path for path in paths if (ROOT / path).is_file()))


def python_files(*folders: str) -> list[Path]:
    """The Python files under the given top-level folders, relative to the checkout."""
    return [path for path in project_files() if path.suffix == ".py" and path.parts[0] in folders]


def module_name(path: Path) -> str:
    """`affect/video/__init__.py` -> `affect.video`."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """Modules that a file imports anywhere, nested imports and `import_module("x")` included.

    `from a.b import c` counts as `a.b.c`, whether c is a module or a name; relative ones are
    resolved.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = path.parent.parts[: len(path.parent.parts) - node.level + 1]
                base = ".".join([*package, *([base] if base else [])])
            names.update(f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in {"import_module", "__import__", "find_spec", "importorskip"}:
                names.add(str(node.args[0].value))
    return frozenset(names)


def is_within(module: str, package: str) -> bool:
    """Whether a dotted name is the package or lies in it."""
    return module == package or module.startswith(package + ".")
