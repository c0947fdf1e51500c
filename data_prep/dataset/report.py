"""report.html: one page, nothing loaded from elsewhere, that shows our data set beside the paper's.

Example: `page = render_report(report)`, `report` holding what the other files of an export hold.
"""

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_TITLES = {
    "durations": "Lengths of videos and segments (figure 3 a)",
    "segments_by_duration": "Segments by length of the video (figure 3 b)",
    "transitions": "Emotion transitions (figure 3 c)",
    "emotions": "Emotions (figure 3 d)",
    "reason_words": "Words of a reason (figure 3 e)",
    "terms": "Frequent affect-related terms (figure 3 f)",
    "genres_scenes": "Genres and scenes (appendix C)",
}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; } th { text-align: left; }
td, th { padding: .15rem .8rem .15rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 2rem 0; } figure svg { max-width: 100%; height: auto; }
.draft { border-left: 4px solid #c46210; padding-left: .8rem; }
"""


@dataclass(frozen=True, slots=True)
class Report:
    """comparison: of `beside_paper`. balance: of `balance`. provenances: rows of each.
    svgs: name -> SVG, as drawn."""

    comparison: Sequence[Mapping[str, Any]]
    balance: Mapping[str, Any]
    provenances: Mapping[str, int]
    num_copies: int
    num_copy_groups: int
    largest_copy_group: int
    svgs: Mapping[str, bytes]


def render_report(report: Report) -> str:
    """The whole page."""
    parts = [
        "<h1>The exported data set</h1>",
        _provenance(report.provenances),
        "<h2>Beside the paper</h2>",
        "<p>What the paper states in words, and the same of these rows. A dash is the mean or "
        "share of nothing.</p>",
        _comparison(report.comparison),
        *(
            f"<figure><figcaption><h2>{_text(_TITLES[name])}</h2></figcaption>{_inline(svg)}"
            "</figure>"
            for name, svg in report.svgs.items()
        ),
        "<h2>Splits</h2>",
        _splits(report),
    ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>The exported data set</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _text(value: object) -> str:
    return html.escape(str(value))


def _provenance(provenances: Mapping[str, int]) -> str:
    told = ", ".join(f"{count:,} {name}" for name, count in sorted(provenances.items()))
    note = f"<p>Rows: {_text(told or 'none')}.</p>"
    if provenances.get("draft"):
        note += (
            '<p class="draft">Drafts were made from the picture alone and verified by nobody. '
            "Figures about them describe the program that made them.</p>"
        )
    return note


def _comparison(entries: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        (
            _text(str(entry["name"]).replace("_", " ")),
            _number(entry["ours"], entry["unit"]),
            ("about " if entry["is_about"] else "") + _number(entry["paper"], entry["unit"]),
            _text(entry["unit"]),
            _text(entry["source"]),
        )
        for entry in entries
    ]
    return _table(("", "ours", "paper", "", "where it says so"), rows, numbers={1, 2})


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "\u2013"
    if unit.startswith("share"):
        return f"{value:.3f}"
    return f"{value:,.0f}" if unit in {"videos", "segments"} else f"{value:,.1f}"


def _splits(report: Report) -> str:
    sizes = report.balance["num_videos"]
    note = (
        f"{report.num_copies:,} videos repeat another one, in {report.num_copy_groups:,} groups "
        f"(the largest has {report.largest_copy_group:,} videos); each group is in one split."
    )
    head = ("stratum", "videos", *sizes, "largest deviation")
    rows = [
        (
            _text(name),
            f"{one['num']:,}",
            *(f"{one[split]:,}" for split in sizes),
            f"{one['largest_deviation']:.1f}",
        )
        for name, one in report.balance["strata"].items()
    ]
    rows.insert(0, ("all", f"{sum(sizes.values()):,}", *(f"{n:,}" for n in sizes.values()), ""))
    return f"<p>{_text(note)}</p>" + _table(head, rows, numbers=set(range(1, len(head))))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: set[int]) -> str:
    """rows: cells that are HTML already."""
    lines = ["<table>", "<tr>" + "".join(f"<th>{_text(cell)}</th>" for cell in head) + "</tr>"]
    for row in rows:
        cells = [
            f'<td class="number">{cell}</td>' if column in numbers else f"<td>{cell}</td>"
            for column, cell in enumerate(row)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table>"])


def _inline(svg: bytes) -> str:
    """The element without what stands before it in a file of its own."""
    found = re.search(r"<svg\b.*</svg>", svg.decode(), re.DOTALL)
    assert found is not None
    return found.group()
