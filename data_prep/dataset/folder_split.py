"""Splits that are there already: train, dev or test as a folder in each video's path.

    split_by_folder(["videos/train/00000.mp4", "videos/test/00000.mp4"], groups)
    -> {"videos/test/00000.mp4": "test", "videos/train/00000.mp4": "train"}

For videos whose split somebody else has fixed: the rendered world, a published benchmark.
"""

from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from data_prep.dataset.copies import Group
from data_prep.dataset.split import SPLITS


def split_by_folder(ids: Iterable[str], groups: Sequence[Group]) -> dict[str, str]:
    """id -> split, in the order of ids.

    Raises ValueError for a path that names no split, or two, and for copies in several splits:
    what is fixed is not changed here, and what leaks is not exported.
    """
    split_of = {name: _split_of(name) for name in sorted(ids)}
    for group in groups:
        if len({split_of[name] for name in group}) > 1:
            raise ValueError(
                f"export.split: copies of one video lie in several splits: {', '.join(group)}; "
                "remove all but one, let export.split be stratified, or lower "
                "export.max_copy_distance if they are no copies"
            )
    return split_of


def _split_of(name: str) -> str:
    named = [part for part in PurePosixPath(name).parts[:-1] if part in SPLITS]
    if len(named) != 1:
        raise ValueError(
            f"export.split: {name!r} must lie in one folder called {', '.join(SPLITS)}, and lies "
            f"in {len(named)}; with export.split: stratified no folder is needed"
        )
    return named[0]
