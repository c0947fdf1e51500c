"""README.md of the `datasets` folder: which files form which split, counts, where labels come from.

    ---
    configs:
    - config_name: default
      data_files:
      - {split: train, path: train/**}
    ---
    # Emotional timelines of silent videos ...

Example: `render_card({"train": 90, "dev": 5, "test": 10}, document, {"verified": 105}, 2)`. Splits
without videos are not named: `datasets` would look for their files. The licence is left to who
publishes the videos.
"""

from collections.abc import Mapping
from typing import Any

import yaml

_PROVENANCE = {
    "verified": "written by models and passed by two judge models on five dimensions",
    "draft": "DRAFTS made from the picture alone, verified by nobody: report no scores on them",
    "rendered": "the truth of drawn clips, known from the program that drew them",
}


def render_card(
    num_videos: Mapping[str, int],
    document: Mapping[str, Any],
    provenances: Mapping[str, int],
    num_copies: int,
) -> str:
    """The whole text. num_videos: of each split. document: the statistics. provenances: rows of
    each. num_copies: videos that repeat another one."""
    files = [
        {"split": split, "path": f"{split}/**"} for split, count in num_videos.items() if count
    ]
    header = {"configs": [{"config_name": "default", "data_files": files}], "tags": ["video"]}
    lines = [
        "---",
        yaml.safe_dump(header, sort_keys=False).rstrip(),
        "---",
        "",
        "# Emotional timelines of silent videos",
        "",
        "When a viewer's emotion changes in a short silent video, which of 27 emotions it is, and "
        "why.",
        "",
        f"{document['num_videos']:,} videos, {document['num_segments']:,} segments.",
        "",
        "| split | videos |",
        "| --- | ---: |",
        *(f"| {split} | {count:,} |" for split, count in num_videos.items()),
        "",
        f"Videos that repeat another one (same bytes, or pictures alike frame by frame): "
        f"{num_copies:,}. They are kept, and all copies of a video are in one split.",
        "",
        "## Where the labels come from",
        "",
        *(f"- {count:,} rows: {_PROVENANCE[name]}" for name, count in sorted(provenances.items())),
        "",
        "The column `provenance` says it for each row. An emotion is what an annotator, mostly a "
        "model, expects of a viewer; it is no measurement of anybody's feeling.",
        "",
        "## Columns",
        "",
        "`video` (the file), `id`, `video_path` (under the videos' own root), `video_duration` "
        "(seconds), `source`, `messages` and `solution` (prompt and answer as trained on), "
        "`segments` (the same answer, parsed), `sha256` (of the file), `provenance`, `genre`, "
        "`scene` (empty where nobody tagged the video).",
        "",
        "```python",
        "from datasets import Video, load_dataset",
        "",
        'rows = load_dataset("path/of/this/folder")["train"]',
        'rows = rows.cast_column("video", Video(decode=False))  # paths; decoding needs torchcodec',
        "```",
        "",
        "## Licence",
        "",
        "Not stated. The videos are under the terms of their owners; whoever publishes this folder "
        "fills this in.",
    ]
    return "\n".join(lines) + "\n"
