"""What an earlier export left and this one did not write: removed if it is ours, else left alone.

    remove_leftovers(out, written={"train.sft.jsonl", ...})      # paths below `out`

Ours is what is called as only an export calls it. A user's `notes.txt` in the folder stays.
"""

import re
from collections.abc import Set
from pathlib import Path

from data_prep.dataset.plots import PLOTS
from data_prep.dataset.split import SPLITS

_SPLIT = f"(?:{'|'.join(SPLITS)})"
_FILES = "|".join(
    (
        rf"{_SPLIT}\.(?:sft|grpo)\.jsonl",
        r"statistics\.json",
        r"split\.json",
        r"report\.html",
        r"done\.json",
        rf"plots/(?:{'|'.join(PLOTS)})\.(?:svg|png)",
        r"dataset/README\.md",
        rf"dataset/{_SPLIT}/metadata\.parquet",
        rf"dataset/{_SPLIT}/videos/[0-9a-f]{{2}}/[0-9a-f]{{32}}\.[a-z0-9]+",
    )
)
_OURS = re.compile(_FILES)
# Of a run that was killed while it wrote: `.NAME.0a1b2c3d.tmp` beside NAME.
_UNFINISHED = re.compile(r"(?P<folder>(?:.*/)?)\.(?P<name>[^/]+)\.[0-9a-f]{8}\.tmp")


def is_ours(path: str) -> bool:
    """Whether an export may have written this path (POSIX, below its folder)."""
    unfinished = _UNFINISHED.fullmatch(path)
    if unfinished:
        path = unfinished["folder"] + unfinished["name"]
    return _OURS.fullmatch(path) is not None


def remove_leftovers(out: Path, written: Set[str]) -> list[str]:
    """Remove our files that are not in `written`, and folders that this empties; their paths.

    Links to folders are not followed.
    """
    removed = []
    for folder in (out, out / "plots", out / "dataset"):
        if folder.is_symlink() or not folder.is_dir():
            continue
        files = folder.iterdir() if folder == out else folder.rglob("*")
        for file in sorted(files):
            path = file.relative_to(out).as_posix()
            if path in written or not is_ours(path) or not (file.is_file() or file.is_symlink()):
                continue
            file.unlink()
            removed.append(path)
            _remove_empty(file.parent, out)
    return removed


def _remove_empty(folder: Path, out: Path) -> None:
    while folder != out and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
