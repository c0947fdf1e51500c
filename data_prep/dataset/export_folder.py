"""The folder that an export writes into: each file whole, all of them remembered, `done.json` last.

    folder = ExportFolder(Path("builds/vce/export"))       # not done any more
    folder.write_json("statistics.json", {...})
    folder.finish({"num_videos": {...}})                    # removes leftovers, then says done

done.json holds SHA-256 of every file but the videos, whose own is in their rows.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from affect.atomic import write_bytes_atomic
from affect.file_hash import sha256_of_file
from data_prep.dataset.leftovers import remove_leftovers
from data_prep.dataset.split import SPLITS
from data_prep.dataset.streamed import whole_file

_INNER = (
    "plots",
    "dataset",
    *(f"dataset/{split}" for split in SPLITS),
    *(f"dataset/{split}/videos" for split in SPLITS),
)


class ExportFolder:
    """Opening it takes `done.json` away: whoever finds that file finds a whole export."""

    def __init__(self, path: Path) -> None:
        """Raises ValueError where a folder inside is a link: an export writes, and removes, in its
        own folder only."""
        self.path = path
        self._files: set[str] = set()
        self._videos: set[str] = set()
        for inner in _INNER:
            if (path / inner).is_symlink():
                raise ValueError(
                    f"{path / inner} is a link, and an export stays in its own folder: remove the "
                    "link, or export elsewhere"
                )
        path.mkdir(parents=True, exist_ok=True)
        (path / "done.json").unlink(missing_ok=True)

    def write_bytes(self, name: str, data: bytes) -> None:
        """name: POSIX path below the folder, as in all methods here."""
        write_bytes_atomic(self.path / name, data)
        self._files.add(name)

    def write_json(self, name: str, value: Any) -> None:
        text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
        self.write_bytes(name, f"{text}\n".encode())

    def write_lines(self, name: str, lines: Iterable[bytes]) -> None:
        """Lines with their newlines, one at a time."""
        with whole_file(self.path / name) as file:
            file.writelines(lines)
        self._files.add(name)

    def add_file(self, name: str) -> Path:
        """The path of a file that the caller writes whole."""
        self._files.add(name)
        return self.path / name

    def add_video(self, name: str) -> Path:
        """The path of a video that the caller puts there."""
        self._videos.add(name)
        return self.path / name

    def finish(self, counts: Mapping[str, Any]) -> tuple[str, ...]:
        """Remove what earlier exports left, write done.json. Returns the other files, no videos."""
        remove_leftovers(self.path, self._files | self._videos)
        files = tuple(sorted(self._files))
        hashes = {name: sha256_of_file(self.path / name) for name in files}
        self.write_json("done.json", {**counts, "files": hashes})
        return files
