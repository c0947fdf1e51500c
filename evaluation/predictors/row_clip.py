"""A row's clip and prompt, as a local checkpoint is asked: one way for transformers and vLLM.

Example:
    clip = sample_row(row, video_root, budget, reader)
    messages = row_messages(row, "segment", clip.duration_seconds)
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from affect.model.inputs import check_duration, segment_messages
from affect.records import Row, resolve_video
from affect.trained_budget import ROW_PROMPT
from affect.video import FrameBudget, GuardedReader, SampledVideo


def sample_row(
    row: Row, video_root: Path, budget: FrameBudget, reader: GuardedReader
) -> SampledVideo:
    """The clip's frames under the budget.

    Raises ValueError or OSError for a clip that can't be used: it leaves the root, is missing or
    broken, or lasts another time than the row says.
    """
    video = reader.sample(resolve_video(video_root, row.video), budget)
    check_duration(video, row.duration_seconds, row.video)
    return video


def row_messages(row: Row, prompt: str, duration_seconds: float) -> Sequence[Mapping[str, Any]]:
    """The chat messages: the project's prompt for the decoded duration, or the row's own."""
    return row.prompt if prompt == ROW_PROMPT else segment_messages(duration_seconds)
