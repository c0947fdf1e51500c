"""Rows of the rendered world, with or without the clips themselves.

`sample_rows` draws nothing: it is for whatever needs many true timelines and no picture, such as
an audit of rewards. The rows are those that the command writes for the same seed and split.

Example:
    >>> sample_rows(2, seed=0, split="dev")[1].id
    'dev/00001'
"""

from affect.prompts import segment_prompt_text
from affect.records import Row, prompt_from_text
from data_prep.rendered.plan import ClipPlan, plan_clip

SOURCE = "rendered"


def row_of(plan: ClipPlan) -> Row:
    """The row of one clip; its video path is relative to the world's folder."""
    return Row(
        id=plan.id,
        video=plan.video,
        duration_seconds=plan.duration_seconds,
        source=SOURCE,
        prompt=prompt_from_text(segment_prompt_text(plan.duration_seconds)),
        timeline=plan.timeline(),
    )


def sample_rows(num: int, seed: int, split: str = "train") -> list[Row]:
    """The first `num` rows of a split. Raises ValueError for an unknown split."""
    return [row_of(plan_clip(seed, split, index)) for index in range(num)]
