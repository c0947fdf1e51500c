"""An expert's sheet as one HTML file: the clips, their segments, and four questions about each.

    render_page("expert_1", items, {"clips/7.mp4": "../videos/clips/7.mp4"})

The page needs no network. It plays the clips beside it, keeps what was answered in the browser, and
saves the same CSV that stands beside it, filled in. Every text from rows is escaped.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

from data_prep.dataset.sheet_csv import COLUMNS, as_text, cells, render_csv
from data_prep.dataset.sheet_items import QUESTIONS, SCALE, SheetItem


def render_page(expert: str, items: Sequence[SheetItem], links: Mapping[str, str]) -> str:
    """links: a row's video -> the URL, relative to the page, of its clip."""
    videos = [list(group) for _, group in groupby(items, key=lambda item: item.row_id)]
    sections = "\n".join(
        _section(number, len(videos), group, links[group[0].video])
        for number, group in enumerate(videos, 1)
    )
    scale = ", ".join(f"{rating} {word}" for rating, word in SCALE.items())
    sheet = {
        "columns": COLUMNS,
        "questions": list(QUESTIONS),
        "rows": [cells(expert, item) for item in items],
        "file": f"{expert}.csv",
        "storage": "validation/" + hashlib.sha256(render_csv(expert, items).encode()).hexdigest(),
    }
    return _PAGE.format(
        expert=escape(as_text(expert)),
        num_videos=len(videos),
        num_segments=len(items),
        num_ratings=len(items) * len(QUESTIONS),
        scale=escape(scale),
        sections=sections,
        style=_STYLE,
        # Within a script a `<` alone could end the element; as its JSON escape it cannot.
        sheet=json.dumps(sheet).replace("<", "\\u003c"),
        script=_SCRIPT,
    )


def _section(number: int, num_videos: int, items: Sequence[SheetItem], link: str) -> str:
    articles = "\n".join(map(_article, items))
    return (
        f"<section>\n<h2>Video {number} of {num_videos}</h2>\n"
        f'<video controls muted preload="metadata" src="{escape(link)}"></video>\n'
        f"{articles}\n</section>"
    )


def _article(item: SheetItem) -> str:
    questions = "\n".join(_question(item, name, text) for name, text in QUESTIONS.items())
    return (
        f'<article data-start="{item.start_seconds:.1f}" data-end="{item.end_seconds:.1f}">\n'
        f"<h3>Segment {item.segment + 1} of {item.num_segments}: {item.start_seconds:.1f} to "
        f'{item.end_seconds:.1f} s <button type="button" class="play">Play it</button></h3>\n'
        f"<p><b>{escape(item.emotion)}</b></p>\n<p>{escape(item.reason)}</p>\n{questions}\n"
        f'<label>Comment <input type="text" name="{escape(item.id)}/comment"></label>\n</article>'
    )


def _question(item: SheetItem, name: str, text: str) -> str:
    choices = " ".join(
        f'<label><input type="radio" name="{escape(item.id)}/{name}" value="{rating}"> '
        f"{rating}</label>"
        for rating in SCALE
    )
    return f"<fieldset><legend>{escape(text)}</legend>{choices}</fieldset>"


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Validation: {expert}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>Validation sheet of {expert}</h1>
<p>{num_videos} silent videos with {num_segments} segments. Watch each video whole first, then
answer four questions about each of its segments: {scale}. Leave open what you cannot answer. What
counts is the feeling of whoever watches, not that of somebody in the video.</p>
<p><button type="button" id="save">Save the ratings</button>
<span id="progress">0</span> of {num_ratings} given. Saving writes a CSV file; send that one
back.</p>
</header>
{sections}
<script type="application/json" id="sheet">{sheet}</script>
<script>{script}</script>
</body>
</html>
"""

_STYLE = """
body { font: 16px/1.4 sans-serif; max-width: 50rem; margin: 1rem auto; padding: 0 1rem; }
header { position: sticky; top: 0; background: white; border-bottom: 1px solid #999; }
header h1 { font-size: 1.2rem; }
video { width: 100%; max-height: 24rem; background: black; }
article { border-left: 4px solid #999; margin: 1rem 0; padding-left: 1rem; }
fieldset { border: 0; padding: 0; margin: 0.5rem 0; }
fieldset label { margin-right: 1rem; }
input[type=text] { width: 80%; }
"""

_SCRIPT = r"""
"use strict";
const sheet = JSON.parse(document.getElementById("sheet").textContent);

function csvCell(text) {
  return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

function asText(cell) {
  return /^[=+\-@\t\r\n]/.test(cell) ? "'" + cell : cell;
}

function csvText(answers) {
  const columns = sheet.columns;
  const lines = sheet.rows.map(function (row) {
    const filled = row.slice();
    const item = row[columns.indexOf("item")];
    for (const name of sheet.questions.concat(["comment"])) {
      filled[columns.indexOf(name)] = asText(answers[item + "/" + name] || "");
    }
    return filled;
  });
  return [columns].concat(lines).map(function (cells) {
    return cells.map(csvCell).join(",") + "\r\n";
  }).join("");
}

function readAnswers() {
  const answers = {};
  for (const input of document.querySelectorAll("input")) {
    if (input.type === "text" ? input.value : input.checked) answers[input.name] = input.value;
  }
  return answers;
}

function showProgress(answers) {
  const given = Object.keys(answers).filter(function (name) { return !name.endsWith("/comment"); });
  document.getElementById("progress").textContent = given.length;
}

function restore() {
  const answers = JSON.parse(localStorage.getItem(sheet.storage) || "{}");
  for (const input of document.querySelectorAll("input")) {
    if (!(input.name in answers)) continue;
    if (input.type === "text") input.value = answers[input.name];
    else input.checked = input.value === answers[input.name];
  }
  showProgress(readAnswers());
}

document.addEventListener("input", function () {
  const answers = readAnswers();
  localStorage.setItem(sheet.storage, JSON.stringify(answers));
  showProgress(answers);
});

document.addEventListener("click", function (event) {
  if (!event.target.classList.contains("play")) return;
  const article = event.target.closest("article");
  const video = event.target.closest("section").querySelector("video");
  const end = Number(article.dataset.end);
  video.currentTime = Number(article.dataset.start);
  video.ontimeupdate = function () {
    if (video.currentTime < end) return;
    video.ontimeupdate = null;
    video.pause();
  };
  video.play();
});

document.getElementById("save").addEventListener("click", function () {
  const link = document.createElement("a");
  const text = "\ufeff" + csvText(readAnswers());
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = sheet.file;
  link.click();
});

restore();
"""
