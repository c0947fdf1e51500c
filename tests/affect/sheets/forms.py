"""A small form and lines on it, for the tests of this folder."""

from affect.sheets.form import Form
from affect.sheets.items import SheetItem
from affect.sheets.sheet_csv import SheetLine

FORM = Form(
    name="trial",
    title="Trial <sheet>",
    task="Watch & rate.",
    questions={"fits": "Does it fit?", "seen": "Is it to be seen?"},
    scale={0: "no", 1: "a bit", 2: "yes"},
    has_answers=True,
)


def make_line(
    number: int,
    *,
    video: str = "a",
    answer: str = "1 of 1",
    reason: str = "A shadow moves.",
    emotion: str = "Fear",
    span: tuple[float, float] | None = None,
    duration_seconds: float = 4.0,
) -> SheetLine:
    """Item `i{number}` of the video's clip, two seconds from 2 * (number % 2) on."""
    start, end = span or (2.0 * (number % 2), 2.0 * (number % 2) + 2.0)
    item = SheetItem(
        id=f"i{number}",
        row_id=video,
        video=f"clips/{video}.mp4",
        segment=number % 2,
        num_segments=2,
        start_seconds=start,
        end_seconds=end,
        emotion=emotion,
        reason=reason,
    )
    return SheetLine(item, duration_seconds, answer)
