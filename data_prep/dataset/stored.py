"""The one pass over a build's videos: rows go to the disk, the facts that decide to memory.

with Spool(folder) as spool:
    stored = store_videos(videos, root, spool, gathered)     # by id
    spool.read(stored[0].sft)                                # b'{"id": "clips/0001.mp4", ...}\\n'
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from affect.records import resolve_video
from affect.row_formats import grpo_object, sft_object
from data_prep.dataset.facts import VideoFacts, facts_of
from data_prep.dataset.finished import FinishedVideo
from data_prep.dataset.hf_folder import file_name
from data_prep.dataset.rows import row_of
from data_prep.dataset.statistics import Gathered
from data_prep.dataset.streamed import Place, Spool
from data_prep.export import check_row


@dataclass(frozen=True, slots=True)
class StoredVideo:
    """sft, grpo: where its lines lie in the spool. file_name: of its file in the `datasets` folder,
    under the split's."""

    facts: VideoFacts
    sft: Place
    grpo: Place
    file_name: str


def store_videos(
    videos: Iterable[FinishedVideo], video_root: Path, spool: Spool, gathered: Gathered
) -> list[StoredVideo]:
    """Sorted by id, in whatever order they come. Each row is counted in `gathered`.

    Raises ValueError naming a video whose file is gone.
    """
    stored: dict[str, StoredVideo] = {}
    for finished in videos:
        row = row_of(finished)
        check_row(video_root, "export", row)
        assert resolve_video(video_root, row.video).samefile(finished.path), finished.path
        assert row.id not in stored, f"{row.id!r} came twice"
        gathered.add(row)
        stored[row.id] = StoredVideo(
            facts=facts_of(finished, row),
            sft=spool.add(_line(sft_object(row))),
            grpo=spool.add(_line(grpo_object(row))),
            file_name=file_name(row.video, finished.looked.mime_type),
        )
    return [stored[name] for name in sorted(stored)]


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"
