"""Which checkpoints of a run are whole, and which one the run goes on from.

transformers writes straight into checkpoint-N, so a kill leaves a folder of that name with half of
its files, and some that are missing would be passed over in silence (without optimizer.pt a run
goes on with a fresh optimizer). Here a checkpoint counts only with `contents.json` in it. It is
written last, after every process is through, and lists each file with its size:

    {"num_processes": 2, "files": {"model.safetensors": 7513324, "optimizer.pt": 15020511, ...}}

Example: checkpoint, passed_over = find_checkpoint(folder.checkpoints, num_processes=2)
"""

import json
import os
from pathlib import Path
from typing import Any

from affect.run_folder import checkpoint_steps, write_json

CONTENTS_FILE = "contents.json"


def seal_checkpoint(checkpoint: Path, num_processes: int) -> None:
    """Declare the checkpoint whole; call it when nobody writes there any more."""
    files = {
        path.relative_to(checkpoint).as_posix(): path.stat().st_size
        for path in sorted(checkpoint.rglob("*"))
        if path.is_file() and path.name != CONTENTS_FILE
    }
    # The list must not reach the disk before what it promises.
    for name in files:
        _flush_to_disk(checkpoint / name)
    write_json(checkpoint / CONTENTS_FILE, {"num_processes": num_processes, "files": files})


def _flush_to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def find_checkpoint(checkpoints: Path, num_processes: int) -> tuple[Path | None, list[str]]:
    """The newest whole checkpoint of a run.

    Args:
        checkpoints: the run's folder of checkpoints; it need not exist.
        num_processes: of this start.

    Returns:
        the checkpoint's folder, or None where there is no whole one; and one line for each newer
        folder that was passed over, saying what is wrong with it.

    Raises:
        ValueError: the checkpoint was written by another number of processes, whose optimizer
            shards, random states and share of each batch would not fit.
    """
    passed_over: list[str] = []
    for step in reversed(checkpoint_steps(checkpoints)):
        folder = checkpoints / f"checkpoint-{step}"
        contents = _read_contents(folder)
        fault = _fault(folder, contents)
        if fault is not None:
            passed_over.append(f"{folder} is not whole and is passed over: {fault}")
            continue
        written_by = contents["num_processes"] if contents else 0
        if written_by != num_processes:
            raise ValueError(
                f"{folder} was written by {written_by} processes, and this start has "
                f"{num_processes}: steps would be made of other rows; start {written_by} "
                "processes, or choose another run_dir"
            )
        return folder, passed_over
    return None, passed_over


def _read_contents(folder: Path) -> dict[str, Any] | None:
    """What contents.json says; None where it is absent or not of the form that we write."""
    try:
        contents = json.loads((folder / CONTENTS_FILE).read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(contents, dict) or not isinstance(contents.get("num_processes"), int):
        return None
    return contents if isinstance(contents.get("files"), dict) else None


def _fault(folder: Path, contents: dict[str, Any] | None) -> str | None:
    if contents is None:
        return f"it has no readable {CONTENTS_FILE}, so it was cut short while it was written"
    for name, size in contents["files"].items():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        if path.stat().st_size != size:
            return f"{name} has {path.stat().st_size} bytes of {size}"
    return None
