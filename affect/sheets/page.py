"""A rater's sheet as one HTML file: the clips, their segments, and the questions about each.

    render_page(FORM, "expert_1", lines, {"clips/7.mp4": "../videos/clips/7.mp4"})

The page needs no network. It plays the clips beside it, one video at a time; it is filled in by
keys or mouse, keeps what was given in the browser, saves the same CSV that stands beside it, filled
in, and takes such a CSV again. Every text is escaped, and the page's policy lets no script run but
its own.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from affect.emotion_colors import INK, emotion_color
from affect.page_policy import page_policy
from affect.printable import printable
from affect.sheets.cell_text import FORMULA
from affect.sheets.form import COMMENT, Form
from affect.sheets.items import SheetItem
from affect.sheets.sheet_csv import SheetLine, cells, render_csv, time_text

MAX_LANES = 4
"""Segments that overlap are drawn below each other, in so many lanes."""

_KEYS = {
    "j k": "next and previous question", "p": "play the segment", "n b": "next and previous video",
    "o": "next open question", "x": "take a rating back", "c": "comment, Enter to leave it",
    "Ctrl s": "save",
}  # fmt: skip


def render_page(
    form: Form, expert: str, lines: Sequence[SheetLine], links: Mapping[str, str]
) -> str:
    """links: an item's video -> the URL, relative to the page, of its clip."""
    videos = [list(group) for _, group in groupby(lines, key=lambda line: line.item.row_id)]
    sections = "\n".join(
        _section(form, number, len(videos), group, links[group[0].item.video])
        for number, group in enumerate(videos, 1)
    )
    sheet = {
        "columns": form.columns,
        "questions": list(form.questions),
        "ratings": form.ratings,
        "rows": [cells(form, expert, line) for line in lines],
        "expert": expert,
        "file": f"{expert}.csv",
        "formula": FORMULA,
        "storage": f"{form.name}/"
        + hashlib.sha256(render_csv(form, expert, lines).encode()).hexdigest(),
    }
    script = _part("table.js") + _part("page.js")
    return _PAGE.format(
        title=_text(f"{form.title}: {expert}"),
        num_videos=len(videos),
        num_segments=len(lines),
        num_ratings=len(lines) * len(form.questions),
        task=_text(form.task),
        help=_help(form),
        options="".join(
            f'<option value="{index}">Video {index + 1} of {len(videos)}</option>'
            for index in range(len(videos))
        ),
        sections=sections,
        style=_part("page.css"),
        # Within a script a `<` alone could end the element; as its JSON escape it cannot.
        sheet=json.dumps(sheet).replace("<", "\\u003c"),
        script=script,
        policy=page_policy(script),
    )


def _part(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _text(text: str) -> str:
    return escape(printable(text))


def _help(form: Form) -> str:
    scale = "".join(
        f"<li><kbd>{rating}</kbd> {_text(word)}</li>" for rating, word in form.scale.items()
    )
    keys = "".join(
        "<li>" + " ".join(f"<kbd>{key}</kbd>" for key in pressed.split()) + f" {does}</li>"
        for pressed, does in _KEYS.items()
    )
    hints = "".join(
        f"<dt>{_text(form.questions[name])}</dt><dd>{_text(hint)}</dd>"
        for name, hint in (form.hints or {}).items()
    )
    more = f"<dl>{hints}</dl>" if hints else ""
    return f"<ul>{scale}</ul>{more}<ul>{keys}</ul>"


def _section(
    form: Form, number: int, num_videos: int, lines: Sequence[SheetLine], link: str
) -> str:
    answers = "\n".join(
        _answer(form, answer, list(group)) for answer, group in groupby(lines, key=_answer_of)
    )
    hidden = "" if number == 1 else " hidden"
    return (
        f'<section data-duration="{lines[0].duration_seconds:.3f}"{hidden}>\n'
        f"<h2>Video {number} of {num_videos}</h2>\n"
        '<div class="sides"><div class="stage">'
        f'<video controls muted playsinline preload="none" src="{escape(link)}"></video>'
        f'<p class="broken" role="alert"></p></div>\n<div>\n{answers}\n</div></div>\n</section>'
    )


def _answer_of(line: SheetLine) -> str:
    return line.answer


def _answer(form: Form, answer: str, lines: Sequence[SheetLine]) -> str:
    heading = f"<h3>Answer {_text(answer)}</h3>\n" if answer else ""
    articles = "\n".join(_article(form, line) for line in lines)
    return f'<div class="answer">\n{heading}{draw_timeline(lines)}\n{articles}\n</div>'


def draw_timeline(lines: Sequence[SheetLine]) -> str:
    """All segments of one answer as marks over the video's length; one that begins before another
    ended stands below it. Only what lies within the video is drawn."""
    duration_seconds = lines[0].duration_seconds
    ends: list[float] = []
    marks = []
    for line in lines:
        item = line.item
        start, end = _within(item, duration_seconds)
        lane = next((n for n, taken in enumerate(ends) if taken <= start + 1e-6), len(ends))
        lane = min(lane, MAX_LANES - 1)
        if lane == len(ends):
            ends.append(end)
        ends[lane] = max(ends[lane], end)
        left, width = 100 * start / duration_seconds, 100 * (end - start) / duration_seconds
        marks.append(
            f'<button type="button" class="mark" tabindex="-1" data-article="{escape(item.id)}" '
            f'data-start="{start:.3f}" data-end="{end:.3f}" title="{_text(_times(item))}" '
            f'style="left: {left:.2f}%; width: {width:.2f}%; top: {1.7 * lane:.1f}rem; '
            f'{_colors(item.emotion)}">{_text(item.emotion)}</button>'
        )
    return f'<div class="timeline" style="--lanes: {len(ends)}">{"".join(marks)}</div>'


def _within(item: SheetItem, duration_seconds: float) -> tuple[float, float]:
    start = min(max(item.start_seconds, 0.0), duration_seconds)
    return start, min(max(item.end_seconds, start), duration_seconds)


def _colors(emotion: str) -> str:
    return f"background: {emotion_color(emotion)}; color: {INK}"


def _times(item: SheetItem) -> str:
    return f"{time_text(item.start_seconds)} to {time_text(item.end_seconds)} s"


def _article(form: Form, line: SheetLine) -> str:
    item = line.item
    start, end = _within(item, line.duration_seconds)
    questions = "\n".join(_question(form, item, name) for name in form.questions)
    return (
        f'<article id="{escape(item.id)}" data-start="{start:.1f}" data-end="{end:.1f}">\n'
        f'<div class="head"><h4>Segment {item.segment + 1} of {item.num_segments}: '
        f'{_times(item)}</h4> <span class="emotion" style="{_colors(item.emotion)}">'
        f'{_text(item.emotion)}</span> <button type="button" class="play">Play it</button></div>\n'
        f"{_reason(item)}\n{questions}\n"
        f'<label class="comment">Comment <input type="text" name="{escape(item.id)}/{COMMENT}">'
        "</label>\n</article>"
    )


def _reason(item: SheetItem) -> str:
    if not item.reason.strip():
        return '<p class="reason none">no reason is given</p>'
    return f'<p class="reason" dir="auto">{_text(item.reason)}</p>'


def _question(form: Form, item: SheetItem, name: str) -> str:
    full_name = f"{escape(item.id)}/{name}"
    choices = "".join(
        f'<label title="{_text(word)}"><input type="radio" name="{full_name}" value="{rating}"> '
        f"{rating}</label>"
        for rating, word in form.scale.items()
    )
    text = _text(form.questions[name])
    return f'<fieldset data-name="{full_name}"><legend>{text}</legend>{choices}</fieldset>'


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div class="intro">
<h1>{title}</h1>
<details id="help" open>
<summary>{num_videos} silent videos with {num_segments} segments: what to do, and the keys</summary>
<p>{task} Leave open what you cannot answer. Saving writes a CSV file; send that one back.</p>
{help}
</details>
</div>
<header>
<nav>
<button type="button" id="previous">Previous</button>
<select id="videos" aria-label="Video">{options}</select>
<button type="button" id="next">Next video</button>
<button type="button" id="open">Next open question</button>
<span id="here"></span>
<span class="wide"><progress id="bar" max="1" value="0" aria-label="Given"></progress></span>
<span><span id="progress">0</span> of {num_ratings} given</span>
<button type="button" id="save">Save the ratings</button>
<label class="button">Load a saved CSV<input type="file" id="load" accept=".csv,text/csv"></label>
</nav>
<p id="status" role="status"></p>
</header>
<main>
{sections}
</main>
<script type="application/json" id="sheet">{sheet}</script>
<script>{script}</script>
</body>
</html>
"""
