"""A folder that `datasets.load_dataset` reads offline: each split's videos beside their rows.

    dataset/README.md                       the card; its header names the splits' files
    dataset/train/metadata.parquet          one row per video; `file_name` names its file
    dataset/train/videos/9f/9f86d081....mp4

    load_dataset("dataset")["train"][0]
    -> {"video": ..., "id": "clips/0001.mp4", "video_path": "clips/0001.mp4", "messages": [...],
        "solution": "{...}", "segments": [{"start_time": 0.0, ...}], "provenance": "verified", ...}

Files are named by SHA-256 of their paths: unique, plain, and the same in every export. They are
hard links to the videos where the file system allows it, else copies; never symbolic links. Their
suffixes are those by which `datasets` knows a video, so a WebM file is called .mkv, which it is.
Parquet and not JSON Lines, because types must be equal in all splits, a column without any value
included.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from affect.file_hash import sha256_of_file
from affect.records import resolve_video
from data_prep.dataset.streamed import temporary_name, whole_file

_ROWS_PER_GROUP = 500

_COLUMNS = (
    "file_name", "id", "video_path", "video_duration", "source", "messages", "solution", "segments",
    "sha256", "provenance", "genre", "scene",
)  # fmt: skip

_SUFFIXES = (".mp4", ".mkv", ".mov", ".avi", ".mpeg")
_SUFFIX_OF_MIME_TYPE = {
    "video/mp4": ".mp4",
    "video/3gpp": ".mp4",
    "video/quicktime": ".mov",
    "video/x-msvideo": ".avi",
    "video/mpeg": ".mpeg",
}
_ANY_CONTAINER = ".mkv"
"""What has no suffix of its own in `datasets`; decoders go by the content."""


def file_name(video: str, mime_type: str) -> str:
    """Where a video lies under its split's folder. video: its path below the root."""
    name = hashlib.sha256(video.encode()).hexdigest()[:32]
    suffix = PurePosixPath(video).suffix.lower()
    if suffix not in _SUFFIXES:
        suffix = _SUFFIX_OF_MIME_TYPE.get(mime_type, _ANY_CONTAINER)
    return f"videos/{name[:2]}/{name}{suffix}"


def write_metadata(path: Path, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Write a split's rows, in their order, the whole file or nothing.

    rows: (`file_name`, the row as a GRPO object).
    """
    import pyarrow
    import pyarrow.parquet

    schema = _schema(pyarrow)
    with (
        whole_file(path) as file,
        pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for batch in _batches(_entry(*row) for row in rows):
            writer.write_table(pyarrow.Table.from_pylist(batch, schema))


def _schema(pyarrow: Any) -> Any:
    text, seconds = pyarrow.string(), pyarrow.float64()
    message = pyarrow.struct([("role", text), ("content", text)])
    segment = pyarrow.struct(
        [("start_time", seconds), ("end_time", seconds), ("emotion", text), ("reason", text)]
    )
    other = {
        "video_duration": seconds,
        "messages": pyarrow.list_(message),
        "segments": pyarrow.list_(segment),
    }
    return pyarrow.schema([(name, other.get(name, text)) for name in _COLUMNS])


def _entry(name: str, grpo: Mapping[str, Any]) -> dict[str, Any]:
    entry = {key: value for key, value in grpo.items() if key != "videos"}
    [entry["video_path"]] = grpo["videos"]
    assert set(entry) <= set(_COLUMNS), sorted(set(entry) - set(_COLUMNS))
    entry["segments"] = json.loads(grpo["solution"])["segments"]
    return {"file_name": name, **entry}


def _batches(entries: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    while batch := list(islice(entries, _ROWS_PER_GROUP)):
        yield batch


def place_video(root: Path, video: str, sha256: str, target: Path) -> None:
    """Put the video under `target` as a hard link, or as a copy where links can't be made.

    Raises ValueError where the video leaves `root`, is no file, or a copy of it does not have the
    bytes that the build looked at.
    """
    source = resolve_video(root, video)
    if not source.is_file():
        raise ValueError(f"{video}: there is no file {source}; run the build again")
    if target.exists() and not target.is_symlink() and os.path.samefile(source, target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(target)
    try:
        try:
            os.link(source, temporary)
        except OSError:  # another file system, or one without links
            if target.is_file() and not target.is_symlink() and sha256_of_file(target) == sha256:
                return
            shutil.copyfile(source, temporary)
            if sha256_of_file(temporary) != sha256:
                raise ValueError(
                    f"{video}: the file changed after the build looked at it; run the build again"
                ) from None
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
