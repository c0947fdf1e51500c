"""Writes the rows of one split: the SFT file and the GRPO file of the same clips.

    <root>/train.sft.jsonl    {"id", "video", "video_duration", "source", "conversations"}
    <root>/train.grpo.jsonl   {"id", "messages", "videos", "video_duration", "source", "solution"}

Every row is checked before either file is touched: the clip is there, the answer is there, and the
prompt is the project's own for that duration. Paths in the rows are relative to <root>.

Example:
    >>> export_split(Path("data/rendered"), "train", sample_rows(360, seed=0, split="train"))
"""

from collections.abc import Sequence
from pathlib import Path

from affect.prompts import segment_prompt_text
from affect.records import Row, prompt_from_text, resolve_video, write_grpo_rows, write_sft_rows

SPLIT_FILES = ("{split}.sft.jsonl", "{split}.grpo.jsonl")


def export_split(root: Path, split: str, rows: Sequence[Row]) -> None:
    """Writes both files of a split, each whole or not at all.

    Raises ValueError naming the row whose clip is missing or leaves `root`, that has no timeline,
    or whose prompt is another.
    """
    for row in rows:
        check_row(root, split, row)
    for pattern, write in zip(SPLIT_FILES, (write_sft_rows, write_grpo_rows), strict=True):
        write(root / pattern.format(split=split), rows)


def check_row(root: Path, split: str, row: Row) -> None:
    """Raises ValueError naming the split and the row, for what `export_split` refuses."""
    where = f"{split} row {row.id!r}"
    if row.timeline is None:
        raise ValueError(f"{where}: no timeline; a row to train on needs its answer")
    if row.prompt != prompt_from_text(segment_prompt_text(row.duration_seconds)):
        raise ValueError(f"{where}: the prompt is not the project's for {row.duration_seconds} s")
    try:
        path = resolve_video(root, row.video)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    if not path.is_file():
        raise ValueError(f"{where}: video: there is no file {path}; draw or fetch the clip first")
