"""A clip's time axis as SVG: cuts, boundaries before and after snapping, final segments.

    draw_axis(story)     # '<svg viewBox="0 0 1000 150" ...>...</svg>', "" before the decode

One lane per stage that drew boundaries, one colour per emotion. All text is escaped.
"""

import math
from collections.abc import Sequence
from html import escape

from affect.emotion_colors import emotion_color
from affect.printable import printable
from data_prep.records import Decided, Looked, Proposed, Snapped, Verified
from data_prep.show.story import VideoStory

WIDTH = 1000
_LEFT = 90
_LANE_HEIGHT, _LANE_STEP, _TOP = 26, 34, 8
_MAX_TICKS = 12
_CHARACTER_WIDTH = 7.5

# (start, end, text, title, fill)
Bar = tuple[float, float, str, str, str]


def draw_axis(story: VideoStory) -> str:
    looked = story.get(Looked)
    if looked is None:
        return ""
    duration = looked.duration_seconds
    lanes = _lanes(story)
    height = _TOP + _LANE_STEP * len(lanes) + 24
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="Boundaries and segments over {duration:.2f} seconds">'
    ]
    for number, (name, bars) in enumerate(lanes):
        y = _TOP + _LANE_STEP * number
        parts.append(f'<text class="lane" x="0" y="{y + 17}">{escape(name)}</text>')
        parts += [_bar(bar, y, duration) for bar in bars]
    bottom = _TOP + _LANE_STEP * len(lanes) - 4
    for cut in looked.cuts:
        x = _x(cut.time_seconds, duration)
        parts.append(
            f'<line class="{cut.kind}" x1="{x:.1f}" x2="{x:.1f}" y1="2" y2="{bottom}">'
            f"<title>{cut.kind} at {cut.time_seconds:.2f} s</title></line>"
        )
    parts += _ticks(duration, bottom)
    return "".join([*parts, "</svg>"])


def _lanes(story: VideoStory) -> list[tuple[str, list[Bar]]]:
    lanes: list[tuple[str, list[Bar]]] = []
    named = (("proposed", Proposed), ("snapped", Snapped), ("integrity", Verified))
    for name, kind in named:
        record = story.get(kind)
        if isinstance(record, Proposed | Snapped | Verified):
            lanes.append((name, [
                (span.start_seconds, span.end_seconds, "", span.event, "var(--bar)")
                for span in record.spans
            ]))  # fmt: skip
    decided = story.get(Decided)
    if decided is not None and decided.segments:
        lanes.append(("final", [
            (one.start_seconds, one.end_seconds, name, name, emotion_color(name))
            for one in decided.segments
            for name in (one.emotion,)
        ]))  # fmt: skip
    return lanes


def _bar(bar: Bar, y: int, duration: float) -> str:
    start, end, text, title, fill = bar
    left, right = _x(start, duration), _x(end, duration)
    label = ""
    if text and right - left > _CHARACTER_WIDTH * len(text):
        label = (
            f'<text class="inside" x="{left + 5:.1f}" y="{y + 17}">{escape(printable(text))}</text>'
        )
    hover = f"{start:.2f} to {end:.2f} s {title}".strip()
    return (
        f'<rect x="{left:.1f}" y="{y}" width="{max(right - left - 1.5, 0.5):.1f}" '
        f'height="{_LANE_HEIGHT}" fill="{fill}">'
        f"<title>{escape(printable(hover))}</title></rect>{label}"
    )


def _ticks(duration: float, y: int) -> Sequence[str]:
    step = _tick_step(duration)
    lines = []
    for number in range(math.floor(duration / step + 1e-9) + 1):
        x = _x(number * step, duration)
        lines.append(
            f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{y}" y2="{y + 6}"></line>'
            f'<text class="time" x="{x:.1f}" y="{y + 20}">{number * step:g} s</text>'
        )
    return lines


def _tick_step(duration: float) -> float:
    """The smallest of 0.1, 0.2, 0.5, 1, 2, 5 ... s that gives few enough ticks."""
    power = 10.0 ** math.floor(math.log10(max(duration / _MAX_TICKS, 0.01)))
    return next(
        step
        for factor in (1, 2, 5, 10)
        if duration / (step := factor * power) <= _MAX_TICKS or factor == 10
    )


def _x(seconds: float, duration: float) -> float:
    return _LEFT + (WIDTH - _LEFT - 30) * seconds / duration
