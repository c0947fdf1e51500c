"""The report as one HTML file: sections, examples, styles and script in it, nothing from elsewhere.

    html = render_page("SFT and GRPO on test", sections, examples, embedded, notes=[...])

The content security policy names the one script by its hash and allows no network: a clip is a
file beside the page or bytes inside it. Texts of models and files reach the page as JSON, and from
there as text nodes only.
"""

import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from affect.page_policy import page_policy
from affect.printable import printable
from evaluation.report.clip_video import EmbeddedVideo
from evaluation.report.sections import PageSection

STYLES = ("page.css", "examples.css", "sections.css")
SCRIPTS = (
    "data.js", "elements.js", "clock.js", "filters.js", "strip.js", "list.js", "lanes.js",
    "segment_cards.js", "clip_view.js", "address.js", "keys.js", "start.js",
)  # fmt: skip
"""In this order they make one script: later files use what earlier ones define."""


def render_page(
    title: str,
    sections: Sequence[PageSection],
    examples: Mapping[str, Any],
    embedded: Mapping[int, EmbeddedVideo],
    notes: Sequence[str] = (),
) -> str:
    """The whole file's text. notes: what is left out and where things are, each a sentence."""
    script = _script()
    links = [(section.id, section.title) for section in sections]
    links.append(("examples", f"Examples ({len(examples['clips']):,})"))
    navigation = "".join(f'<a href="#{_text(id)}">{_text(name)}</a>' for id, name in links)
    body = [
        f'<nav class="top" aria-label="Sections">{navigation}</nav>',
        f'<main><div class="summary"><header><h1>{_text(title)}</h1>',
        *(f'<p class="note">{_text(note)}</p>' for note in notes),
        "</header>",
        *(
            f'<section class="part" id="{_text(section.id)}"><h2>{_text(section.title)}</h2>'
            f"{section.html}</section>"
            for section in sections
        ),
        "</div>",
        '<section id="examples" aria-label="Examples"><noscript><p class="note">The browser of '
        "examples needs JavaScript; it loads nothing.</p></noscript></section></main>",
        f'<script type="application/json" id="data">{_json(examples)}</script>',
        *(
            f'<script type="text/plain" id="video-{place}">{one.base64_text}</script>'
            for place, one in sorted(embedded.items())
        ),
        f"<script>{script}</script>",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{page_policy(script)}">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{_text(title)}</title>\n<style>\n{_styles()}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _styles() -> str:
    return "\n".join(_asset(name) for name in STYLES)


def _script() -> str:
    """All of it in one scope of its own, so that no name meets the window's."""
    text = "\n".join(_asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{text}}})();\n'


def _asset(name: str) -> str:
    text = files("evaluation.report").joinpath(name).read_text(encoding="utf-8")
    assert "</" not in text and "<!--" not in text, name
    return text


def _json(value: Any) -> str:
    """JSON that no HTML parser sees an end tag or a comment in."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _text(text: str) -> str:
    return escape(printable(text), quote=True)
