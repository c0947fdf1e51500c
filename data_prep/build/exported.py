"""Whether an export is what would be written again, so that a finished build starts in no time.

    made_from = export_digest(folder, config)
    if not is_exported(folder, made_from):
        ...                                     # write it
        note_exported(folder, made_from)

The digest covers the finished videos, their records by input hash, and the settings of the export.
It does not look at the files again: `dar build export` always writes them anew.
"""

import hashlib
import json

from affect.atomic import write_text_atomic
from affect.frozen import canonical_json
from data_prep.build.config import BuildConfig
from data_prep.build.finished import finished_hashes
from data_prep.build.folder import BuildFolder

EXPORT_VERSION = 1
"""Raised whenever equal records would be exported otherwise."""


def export_digest(folder: BuildFolder, config: BuildConfig) -> str:
    """SHA-256, in hex, of all that an export of this build depends on. Raises JournalError."""
    settings = {
        "version": EXPORT_VERSION,
        "export": config.export.model_dump(mode="json"),
        "seed": config.seed,
        "source": config.videos.source,
    }
    total = hashlib.sha256(canonical_json(settings).encode())
    for video in finished_hashes(folder):
        total.update(canonical_json(video).encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def is_exported(folder: BuildFolder, made_from: str) -> bool:
    """Whether the last whole export was made from that, and is there."""
    if not (folder.export / "done.json").is_file() or not folder.exported.is_file():
        return False
    noted = json.loads(folder.exported.read_text(encoding="utf-8"))
    return bool(noted == {"made_from": made_from})


def note_exported(folder: BuildFolder, made_from: str) -> None:
    """To be called after the export is whole."""
    write_text_atomic(folder.exported, json.dumps({"made_from": made_from}) + "\n")
