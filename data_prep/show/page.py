"""One video's story as one HTML file: no script, nothing fetched, all that models wrote escaped.

    write_text_atomic(path, render_page(story))

Frames stand in the file itself. It reads on a phone, in light and in dark.
"""

import base64
from html import escape

from affect.emotion_colors import emotion_color
from affect.printable import printable
from data_prep.show.axis import draw_axis
from data_prep.show.story import VideoStory
from data_prep.show.table import Table
from data_prep.show.tables import headline, tables_of

_STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1c1c1e; --dim: #63636a; --line: #d5d5da;
  --bar: #b9c3d0; --cut: #c4122f; --fade: #7a3fc4; }
@media (prefers-color-scheme: dark) { :root { --back: #161618; --text: #ececee; --dim: #a2a2aa;
  --line: #3a3a40; --bar: #5c6878; --cut: #ff6b81; --fade: #c9a2ff; } }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--back);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; margin: 0; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
.state { margin: .2rem 0 1rem; color: var(--dim); }
.wide { overflow-x: auto; } .strip { display: flex; gap: 4px; }
figure { margin: 0; flex: none; } figcaption { font-size: .75rem; color: var(--dim); }
figure img { height: 96px; width: auto; display: block; }
svg { min-width: 640px; width: 100%; display: block; margin-top: .6rem; }
svg text { font: 13px system-ui, sans-serif; fill: var(--text); }
svg .inside { fill: #141416; } svg .time { text-anchor: middle; fill: var(--dim); }
svg .tick { stroke: var(--dim); } svg .cut { stroke: var(--cut); stroke-width: 2; }
svg .fade { stroke: var(--fade); stroke-width: 2; stroke-dasharray: 5 3; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; overflow-wrap: normal; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0;
  border-top: 1px solid var(--line); } td { min-width: 3.5rem; white-space: pre-wrap; }
th { color: var(--dim); font-weight: 500; } td.long { min-width: 15rem; overflow-wrap: anywhere; }
.note { margin: .2rem 0; white-space: pre-wrap; }
.emotion { padding: 0 .4rem; border-radius: .3rem; color: #141416; }
"""

_LONG_TEXT_CHARACTERS = 40


def render_page(story: VideoStory) -> str:
    """The whole file's text."""
    name = _text(story.id)
    body = [
        f"<h1>{name}</h1>",
        f'<p class="state">{_text(headline(story))}</p>',
        _strip(story),
        f'<div class="wide">{draw_axis(story)}</div>',
        *(_table(table) for table in tables_of(story)),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">"
        f"<title>{name}</title><style>{_STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _text(text: str) -> str:
    return escape(printable(text), quote=True)


def _strip(story: VideoStory) -> str:
    if story.frames is None:
        return f'<p class="note">No frames: {_text(story.why_no_frames)}.</p>'
    figures = [
        f'<figure><img alt="The frame at {frame.time_seconds:.2f} s" '
        f'src="data:image/jpeg;base64,{base64.b64encode(frame.jpeg).decode("ascii")}">'
        f"<figcaption>{frame.time_seconds:.2f} s</figcaption></figure>"
        for frame in story.frames.frames
    ]
    return f'<div class="wide"><div class="strip">{"".join(figures)}</div></div>'


def _table(table: Table) -> str:
    parts = [f"<section><h2>{_text(table.title)}</h2>"]
    parts += [f'<p class="note">{_text(note)}</p>' for note in table.notes]
    if table.rows:
        head = "".join(f"<th>{_text(column)}</th>" for column in table.columns)
        rows = "".join(f"<tr>{_cells(table.columns, row)}</tr>" for row in table.rows)
        parts.append(
            f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>"
        )
    return "".join([*parts, "</section>"])


def _cells(columns: tuple[str, ...], row: tuple[str, ...]) -> str:
    return "".join(_cell(column, text) for column, text in zip(columns, row, strict=True))


def _cell(column: str, text: str) -> str:
    if column == "emotion":
        fill = emotion_color(text)
        return f'<td><span class="emotion" style="background: {fill}">{_text(text)}</span></td>'
    kind = ' class="long"' if len(text) > _LONG_TEXT_CHARACTERS else ""
    return f"<td{kind}>{_text(text)}</td>"
